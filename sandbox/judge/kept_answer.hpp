// SPDX-License-Identifier: Apache-2.0
/// \file
/// A reference's answer in memory, for the probe, which looks at it several times. Of a large one every n-th piece is kept, and
/// its tensors are told as what is left of them: cheap answers are told from right ones by any part of an output.
#pragma once

#include "sandbox/judge/channel.hpp"
#include "sandbox/judge/byte_buffer.hpp"
#include "sandbox/judge/side_words.hpp"

#include <optional>

namespace regatta::judge {

/// Of an answer's inputs, eager and exact outputs; beyond it there are pieces that are not kept. Two answers at a time must
/// stay below the 2 GiB of this process.
inline constexpr std::uint64_t most_probed_bytes = std::uint64_t{640} << 20;

struct kept_answer {
  question asked;
  reference_answer head;
  byte_buffer inputs;
  byte_buffer outputs;  ///< As they came: eager and exact in turns.
  byte_buffer eager;    ///< Eager alone, as a candidate would send it.
  byte_buffer after;
  bool is_sampled = false;  ///< Then `after` is empty.

  /// Cheap answers to another question are made from these alone; memory is what large problems have little of.
  void forget_all_but_eager() {
    inputs = {};
    outputs = {};
    after = {};
  }
};

/// Throws session_end.
kept_answer take_answer(channel& reference, const question& x, std::chrono::milliseconds patience,
                        std::uint64_t most_probed = most_probed_bytes);

/// What somebody sends who has not done the work.
struct synthetic_answer {
  tree_node outputs;
  byte_buffer bytes;
};

/// Cheap wrong answers, by the names in `weak`. Empty where there is none of that kind.
enum class cheap_answer : std::uint8_t { zeros, constant, input_copy, other_seed, shuffled };
std::optional<synthetic_answer> make_cheap_answer(cheap_answer kind, const kept_answer& truth, const kept_answer& other);

}  // namespace regatta::judge

REGATTA_ENUM_NAMES(regatta::judge::cheap_answer, 5, {regatta::judge::cheap_answer::zeros, "zeros"},
                   {regatta::judge::cheap_answer::constant, "constant"},
                   {regatta::judge::cheap_answer::input_copy, "input_copy"},
                   {regatta::judge::cheap_answer::other_seed, "other_seed"},
                   {regatta::judge::cheap_answer::shuffled, "shuffled"});
