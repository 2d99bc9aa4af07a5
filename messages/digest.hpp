// SPDX-License-Identifier: Apache-2.0
/// \file
/// When two candidates count as the same text.
#pragma once

#include "messages/ids.hpp"

#include <string>
#include <string_view>

namespace regatta {

/// KernelAgent's canonical form: LF line ends, no spaces or tabs at line ends, no blank lines at either end, one
/// final LF (an empty text stays empty). Comments and formatting count.
std::string canonical_source(std::string_view text);

/// SHA-256 of the canonical form.
source_digest digest_of_source(std::string_view text);

/// SHA-256 of the bytes as they are: 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace regatta
