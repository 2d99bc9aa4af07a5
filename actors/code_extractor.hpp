// SPDX-License-Identifier: Apache-2.0
/// \file
/// CODE EXTRACTOR: finds the candidate in a reply. Pure text in, text out; two steps, since only the candidate's
/// interpreter can say what parses:
///
///   find_code(reply) -> texts to check -> (source checker) -> choose_code(found, facts) -> code or a named outcome
///
/// The winner is the LAST python-tagged block that parses and defines what the stage asks for; then the last untagged,
/// indented, hidden or otherwise tagged one. A block that does not do so by itself is read on to a later fence if that
/// helps: a ``` inside a docstring cut it. docs/extraction.md has every case.
#pragma once

#include "messages/evaluation.hpp"
#include "messages/outcome.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace regatta {

/// One text that might be the candidate: a block as CommonMark ends it, or extended to a later fence.
struct code_option {
  std::string text;
  std::uint32_t block = 0;        ///< Number of its block in the reply, from 1.
  std::uint32_t extended_by = 0;  ///< Fences passed over; 0: the block itself.
  bool is_python = false;         ///< Tagged python, py, python3 …
  bool is_unclosed = false;       ///< The reply ends inside it.
  std::string tag;                ///< First word of the info string, lower case; empty: none.
};

struct found_code {
  std::vector<code_option> options;  ///< At most 64, best block first, each block followed by its extensions.
  std::uint32_t blocks = 0;
  extraction problem = extraction::found;  ///< Set if nothing is worth checking: no_code, bad_bytes, too_large.
  std::string note;
};

/// `is_cut`: the reply ended at its output limit.
found_code find_code(std::string_view reply, bool is_cut);

struct chosen_code {
  extraction result = extraction::no_code;
  std::string code;  ///< Canonical form; empty unless `found`.
  std::string note;  ///< For people and for the repair prompt.
};

/// `facts` answers `found.options` one to one. `must_define`: see stage_spec.
chosen_code choose_code(const found_code& found, const std::vector<source_facts>& facts,
                        const std::vector<std::string>& must_define, bool is_cut);

}  // namespace regatta
