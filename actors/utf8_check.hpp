// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether bytes are UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace regatta {

/// Offset of the first byte that begins no character; `npos` if all is well.
std::size_t first_bad_utf8(std::string_view text);

}  // namespace regatta
