// SPDX-License-Identifier: Apache-2.0
/// \file
/// Heads of the questions about time, and the report as JSON (docs/judge.md, "Timing"). Readers throw malformed, or
/// session_end for an answer `failed`.
#pragma once

#include "sandbox/judge/ending.hpp"
#include "sandbox/judge/side_words.hpp"
#include "sandbox/judge/timing_rules.hpp"
#include "sandbox/judge/tree_codec.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace regatta::judge {

/// Which model is called: a new one, warmed up; the last question's (it has the reference's weights); the one that is there.
enum class timed_model : std::uint8_t { fresh, last, kept };

struct load_question {
  std::uint64_t id = 0;
  std::uint64_t init_seed = 0;
  timed_model model = timed_model::fresh;
  unsigned calls = 2;                      ///< Of the largest batch.
  std::vector<std::uint64_t> input_seeds;  ///< Of the reference alone.
  const std::string* recipe = nullptr;     ///< Both draw: they are too large to be sent.
};

/// What a side says of a batch.
struct batch_answer {
  double own_ms = 0;
  std::uint64_t threads = 0, cache_bytes = 0;
  bool has_copies = false;
};

struct loaded_answer {
  std::vector<tree_node> inputs;     ///< Of the reference; their bytes are in the body, unless they are drawn.
  std::vector<std::string> digests;  ///< Of drawn ones.
  bool is_undrawn = false;           ///< The candidate could not draw them.
};

std::string write_load_question(const load_question& x);
/// With inputs that follow in the body; or seeds, if they are drawn.
std::string write_load_question(const load_question& x, const std::vector<tree_node>& inputs);
std::string write_go_question(std::uint64_t id, std::uint64_t nonce, unsigned calls);
std::string write_pick_question(std::uint64_t id, unsigned call);
std::string write_events_question(std::uint64_t id, unsigned trials);

/// The object, if it is `op`, answers `id`, and is not `failed`.
json open_answer(std::string_view head, side who, const char* op, std::uint64_t id);
loaded_answer read_loaded_answer(std::string_view head, side who, std::uint64_t id);
batch_answer read_batch_answer(std::string_view head, side who, std::uint64_t id);
tree_node read_picked_answer(std::string_view head, side who, std::uint64_t id);
std::vector<double> read_events_answer(std::string_view head, side who, std::uint64_t id);

json write_timing(const timing_report& x);

}  // namespace regatta::judge

REGATTA_ENUM_NAMES(regatta::judge::timed_model, 3, {regatta::judge::timed_model::fresh, "fresh"},
                   {regatta::judge::timed_model::last, "last"}, {regatta::judge::timed_model::kept, "kept"});
