// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every value and where it came from: what `regatta config` prints. Secrets only as "set, from …". Pure.
#pragma once

#include "cli/session.hpp"

#include <string>

namespace regatta::cli {

std::string config_report(const session& x);

}  // namespace regatta::cli
