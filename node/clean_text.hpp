// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a candidate wrote, as text that may go into messages, files and JSON.
#pragma once

#include <string>
#include <string_view>

namespace regatta {

/// Valid UTF-8: each byte sequence that is none, and each NUL, becomes U+FFFD. Control sequences stay; whoever writes
/// to a terminal removes them.
std::string clean_text(std::string_view bytes);

}  // namespace regatta
