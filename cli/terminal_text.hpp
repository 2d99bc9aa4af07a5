// SPDX-License-Identifier: Apache-2.0
/// \file
/// Text of models and candidates made harmless before a terminal sees it, and measured in columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace regatta::cli {

/// UTF-8 with replacement; escape sequences, C0 (but line end and tab), C1, DEL and marks that turn the direction of
/// writing are dropped.
std::string clean_text(std::string_view text);

/// As above, on one line: line ends and tabs become single blanks.
std::string clean_line(std::string_view text);

/// Columns that a cleaned text takes: 2 for wide characters, 0 for combining ones.
std::size_t columns_of(std::string_view text);

/// At most this many columns; what is cut is marked by "…".
std::string cut_to(std::string_view text, std::size_t columns);
/// Exactly this many columns, filled with blanks.
std::string fit_to(std::string_view text, std::size_t columns);

/// "1 worker", "3 workers".
std::string plural(std::uint64_t count, const std::string& word);

}  // namespace regatta::cli
