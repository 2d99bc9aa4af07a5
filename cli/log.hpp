// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the program says about itself on stderr: warnings always, the rest with `-v`. What a race says is in its
/// events, and in the log files that the store makes from them. Texts must be cleaned (cli/terminal_text.hpp).
#pragma once

#include <string>

namespace regatta::cli {

/// Once, at the start.
void open_log(bool is_verbose);

void log_info(const std::string& text);
void log_warning(const std::string& text);

}  // namespace regatta::cli
