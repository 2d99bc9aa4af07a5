// SPDX-License-Identifier: Apache-2.0
/// \file
/// The lines between us and sandbox/python/source_check.py. Its answers are read as hostile: a text that broke the
/// parser may speak through it.
#pragma once

#include "messages/evaluation.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace regatta {

/// One line. The helper's largest honest answer has 4096 names of 256 characters of 4 bytes.
inline constexpr std::size_t helper_line_bytes = 4 * MiB + 64 * KiB;

struct helper_answer {
  std::uint64_t number = 0;  ///< 0: the greeting.
  source_facts facts;
};

std::string encode_question(std::uint64_t number, std::string_view text);

/// Empty if the line is not what the helper says.
std::optional<helper_answer> decode_answer(std::string_view line);

}  // namespace regatta
