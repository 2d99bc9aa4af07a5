// SPDX-License-Identifier: Apache-2.0
/// \file
/// A judge's verdict (docs/judge.md) for people.
#pragma once

#include <string>
#include <string_view>

namespace regatta::cli {

/// Lines with the measured errors of each trial, the marks and the versions; empty if `record` is no verdict.
std::string verdict_text(std::string_view record);

}  // namespace regatta::cli
