// SPDX-License-Identifier: Apache-2.0
/// \file
/// One question to both sides: inputs go from the reference to the candidate as they come, and both answers are compared
/// as they come. Kept in memory for the question's time: the inputs (what a side left alone must be as it was), transplanted
/// parameters, and the outputs where kernel_function's are compared with them; each only up to `most_kept_bytes`, so that
/// this process stays small whatever the problem's size. Inputs beyond that are drawn by both sides under the same seed.
#pragma once

#include "sandbox/judge/answer_comparison.hpp"
#include "sandbox/judge/channel.hpp"
#include "sandbox/judge/side_words.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace regatta::judge {

/// 256 MiB: three of them, pieces and heads stay well below the 2 GiB that this process may use.
inline constexpr std::uint64_t most_kept_bytes = std::uint64_t{256} << 20;

struct exchange_rules {
  std::chrono::milliseconds question_timeout{30'000};
  tolerance_table tolerances;
  bool checks_function = true;  ///< Stages kernel and compose.
  std::uint64_t most_kept = most_kept_bytes;  ///< Tests take less.
};

enum class weights_from : std::uint8_t { same_seed, reference };

struct trial_result {
  question asked;
  weights_from weights = weights_from::same_seed;
  answer_report outputs;
  std::optional<answer_report> function;  ///< kernel_function against forward.
  std::string function_refused;
  std::string kernel_evidence;
  std::string torch_ops;
  std::string launched;   ///< JSON.
  bool is_drawn = false;  ///< Each side drew the inputs itself, and both drew the same.
  std::vector<parameter_digest> reference_parameters, candidate_parameters;
  bool has_exact = true;
  std::chrono::milliseconds reference_time{}, candidate_time{};

  bool is_right() const { return outputs.is_right && (!function || function->is_right); }
  bool has_same_weights() const { return is_same_weights(candidate_parameters, reference_parameters); }
};

class exchange {
public:
  exchange(channel& reference, channel& candidate, exchange_rules rules);

  void read_reference_hello(std::chrono::milliseconds patience, bool is_warm);
  /// What its code was found to do, if that is told; to be read before the hello, for which the code runs.
  std::vector<policy_finding> read_policy(std::chrono::milliseconds patience);
  void read_candidate_hello(std::chrono::milliseconds patience);
  const reference_hello& reference_said() const { return reference_hello_; }
  const candidate_hello& candidate_said() const { return candidate_hello_; }

  /// Fresh seeds. Throws session_end.
  trial_result ask(const std::string& style, weights_from weights);
  /// Of the last question; only for candidates that answered "later".
  std::string ask_evidence();
  void set_tolerances(const tolerance_table& x) { rules_.tolerances = x; }

private:
  /// Parameters of the reference under this seed, where they go along.
  struct transplant {
    tree_node tree;
    byte_buffer bytes;
    bool is_sent = false;  ///< Already, as they are too many to be kept here.
  };
  bool may_draw() const;
  std::optional<trial_result> try_ask(const std::string& style, weights_from weights, bool is_drawn);
  transplant take_parameters(const question& x);
  void pass_on(byte_buffer& into, std::uint64_t bytes);
  void send_question(const question& x, const reference_answer& answer, byte_buffer& inputs, const transplant* weights);
  void compare(const reference_answer& wanted, const candidate_answer& got, const byte_buffer& inputs,
               trial_result& out);

  channel& reference_;
  channel& candidate_;
  exchange_rules rules_;
  reference_hello reference_hello_;
  candidate_hello candidate_hello_;
  std::optional<std::string> head_;  ///< Of the candidate: read, and not about policy.
  byte_buffer init_args_;
  bool draws_unlike_ = false;  ///< The candidate's process draws other inputs under the same seed.
};

/// Of a side: `read` is called on a head, what is malformed is blamed on it.
template <class Read>
auto parsed_as_read(channel& from, const std::string& head, Read read) {
  try {
    return read(head);
  } catch (const malformed& x) {
    from.fail(x.what);
  } catch (const session_end& end) {
    if (end.is_in_step && from.body_left() != 0) {
      from.fail("a body beside `failed`");
    }
    throw;
  }
}

template <class Read>
auto read_from(channel& from, Read read) {
  return parsed_as_read(from, from.read_head(), read);
}

/// The reference's answer to `ask`, without its body. Throws session_end.
reference_answer ask_reference(channel& reference, const question& x, std::chrono::milliseconds patience);
/// What a frame's body has must be what its head names.
void check_body(channel& from, std::uint64_t named);

}  // namespace regatta::judge
