// SPDX-License-Identifier: Apache-2.0
/// \file
/// Events without the bytes of kept files: up to 1 GiB each that neither the event socket nor the table `events`
/// should carry. The run directory and the table `artifacts` hold them.
#pragma once

#include "messages/event.hpp"

namespace regatta {

/// Whether `x` carries kept files at all.
bool has_kept_files(const event& x);

/// A copy in which every `kept[].content` is empty; names and problems stay.
event without_kept_files(const event& x);

}  // namespace regatta
