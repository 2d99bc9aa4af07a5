// SPDX-License-Identifier: Apache-2.0
/// \file
/// Both sides of a timing: the same inputs for each, batches by our clock, outputs of calls that are drawn afterwards.
#pragma once

#include "sandbox/judge/answer_comparison.hpp"
#include "sandbox/judge/channel.hpp"
#include "sandbox/judge/timing_codec.hpp"

#include <chrono>
#include <utility>
#include <vector>

namespace regatta::judge {

class timed_sides {
public:
  timed_sides(channel& reference, channel& candidate, std::chrono::milliseconds patience)
      : reference_(reference), candidate_(candidate), patience_(patience) {}

  /// New inputs to both. False: none of them is a floating number, so both sides will see exactly these. Throws session_end.
  bool load(load_question x);

  /// Question to answer, and what the side says itself.
  std::pair<double, batch_answer> run(side who, std::uint64_t nonce, unsigned calls);

  /// Of the last batch. `output_bytes`: of the reference's.
  answer_report compare(unsigned call, const tolerance_table& limits, const std::vector<own_error>& own,
                        std::uint64_t& output_bytes);

  std::vector<double> events(side who, unsigned trials);

  /// Of the device, as the reference's side says.
  std::uint64_t cache_bytes() const { return cache_bytes_; }

private:
  channel& of(side who) { return who == side::reference ? reference_ : candidate_; }
  void pass_on(std::uint64_t bytes);

  channel& reference_;
  channel& candidate_;
  std::chrono::milliseconds patience_;
  std::uint64_t cache_bytes_ = 0;
};

}  // namespace regatta::judge
