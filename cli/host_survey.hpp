// SPDX-License-Identifier: Apache-2.0
/// \file
/// Looks at this host. Takes some tenths of a second.
#pragma once

#include "cli/host_view.hpp"
#include "cli/session.hpp"

namespace regatta::cli {

host_view survey_host(const session& x);

}  // namespace regatta::cli
