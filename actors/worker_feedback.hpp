// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a worker tells its model about a round that failed. Pure text in, text out.
#pragma once

#include "messages/dedup.hpp"
#include "messages/evaluation.hpp"
#include "messages/limits.hpp"
#include "messages/outcome.hpp"

#include <string>
#include <string_view>

namespace regatta {

/// The last `most` bytes, fewer where the cut would fall into a UTF-8 character.
std::string_view tail_of(std::string_view text, byte_count most);

/// `EXTRACT_FAIL: syntax_error: line 3: …` and what to do about it.
std::string extraction_feedback(extraction result, std::string_view note);

/// KernelAgent's form: `RUN_FAIL: <reason>`, then the tails of both streams.
std::string run_feedback(const evaluation& result);

/// One line for people: the reason and, where the program ended by itself with an error, the last line it wrote to
/// stderr (Python's own "AssertionError: …"), else to stdout; at most 160 bytes of it.
std::string failure_line(const evaluation& result);

/// For a candidate that somebody had first and that is judged. `is_own`: this worker sent the same text before.
std::string duplicate_feedback(const reservation& had_first, bool is_own);

}  // namespace regatta
