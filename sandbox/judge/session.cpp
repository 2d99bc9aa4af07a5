// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/session.hpp"

#include "sandbox/judge/mismatch_text.hpp"
#include "sandbox/judge/trial_styles.hpp"

#include <algorithm>
#include <array>

namespace regatta::judge {

namespace {

/// Inconsistent once is inconsistent; absent once is absent.
void take_evidence(std::string& all, const std::string& one) {
  static constexpr std::array<std::string_view, 4> order{"not_looked", "seen", "absent", "inconsistent"};
  const auto rank = [&](std::string_view x) {
    return std::find(order.begin(), order.end(), x) - order.begin();
  };
  if (rank(one) < static_cast<std::ptrdiff_t>(order.size()) && rank(one) > rank(all)) {
    all = one;
  }
}

/// The trials of one candidate, and what they have shown so far.
class candidate_session {
public:
  candidate_session(const judge_request& request, channel& reference, channel& candidate)
      : request_(request), exchange_(reference, candidate, rules_of(request)) {}

  void run() {
    exchange_.read_reference_hello(request_.hello_timeout, request_.is_reference_warm);
    const auto& reference = exchange_.reference_said();
    out_.reference = reference.versions;
    out_.mode = reference.mode;
    out_.problem_digest = reference.problem_sha256;
    out_.tolerances = tolerances_for(request_, reference.tolerances);
    exchange_.set_tolerances(out_.tolerances);
    if (!obeys_policy()) {
      return;
    }
    exchange_.read_candidate_hello(request_.hello_timeout);
    const auto& said = exchange_.candidate_said();
    out_.candidate = said.versions;
    out_.engine = request_.engine.empty() ? said.engine.empty() ? said.versions.device : said.engine : request_.engine;
    refuse_bfloat16(said.engine);
    for (unsigned i = 0; i < request_.trials && out_.judgement == ending::correct; ++i) {
      trial_ = i + 1;
      run_trial(style_of_trial(i));
    }
    if (out_.judgement == ending::correct && is_evidence_late_) {
      take_evidence(out_.kernel_evidence, exchange_.ask_evidence());
    }
    check_evidence();
    check_fallback();
    check_oracle();
  }

  judge_verdict& verdict() { return out_; }

private:
  bool is_off(std::string_view rule) const {
    return std::find(request_.policy_off.begin(), request_.policy_off.end(), rule) != request_.policy_off.end();
  }

  bool obeys_policy() {
    for (auto& each : exchange_.read_policy(request_.hello_timeout)) {
      if (!is_off(each.rule)) {
        out_.policy.push_back(std::move(each));
      }
    }
    const auto worst = std::find_if(out_.policy.begin(), out_.policy.end(), [](const auto& x) { return x.is_error; });
    if (worst == out_.policy.end()) {
      return true;
    }
    out_.judgement = ending::policy_violation;
    out_.reason = worst->rule + ": line " + std::to_string(worst->line) + ": " + worst->text;
    out_.feedback = "The program was not run: it does what no candidate of this stage may do.\n";
    for (const auto& each : out_.policy) {
      out_.feedback += each.is_error ? "line " + std::to_string(each.line) + ": " + each.text + " (" + each.rule + ")\n" : "";
    }
    return false;
  }

  /// Right by somebody else's work is not what was asked for where a kernel is promised.
  void check_evidence() {
    constexpr std::string_view rule = "kernel_evidence";
    const auto& seen = out_.kernel_evidence;
    const bool is_missing = seen == "absent" || seen == "inconsistent";
    if (out_.judgement != ending::correct || request_.stage == judged_stage::extract || !is_missing || is_off(rule)) {
      return;
    }
    out_.judgement = ending::policy_violation;
    out_.reason = std::string{rule} + ": " + (seen == "absent" ? "no kernel of the program was launched"
                                                               : "the result is the same without its kernels");
    out_.feedback = "The results are right, but " +
                    std::string{seen == "absent" ? "no kernel of yours was launched"
                                                 : "they do not change when the launches of your kernels do nothing"} +
                    ": your own kernels must compute them.\n";
  }

  /// The rule about code, kept at run time: a name can be written in many ways.
  void check_fallback() {
    constexpr std::string_view rule = "torch_fallback";
    if (out_.judgement != ending::correct || request_.stage == judged_stage::extract || torch_ops_.empty() ||
        is_off(rule)) {
      return;
    }
    const auto text = "PyTorch computed " + torch_ops_ + " while it ran";
    out_.policy.push_back({std::string{rule}, text, 0, true});
    out_.judgement = ending::policy_violation;
    out_.reason = std::string{rule} + ": " + text;
    out_.feedback = "The results are right, but " + text + ": your own kernels must compute that.\n";
  }

  /// Where doing nothing passes, too, being right proves nothing.
  void check_oracle() {
    if (out_.judgement != ending::correct || !request_.is_weak) {
      return;
    }
    out_.mark("weak_oracle");
    if (!request_.allows_weak) {
      out_.judgement = ending::weak_oracle;
      out_.reason = "right as far as can be told, but doing nothing passes for an answer to this problem, too";
    }
  }

  static exchange_rules rules_of(const judge_request& x) {
    return {x.question_timeout, {}, x.stage != judged_stage::extract, x.most_kept};
  }

  /// Triton's interpreter truncates float32 to bfloat16 where a device rounds: honest kernels would fail here.
  void refuse_bfloat16(const std::string& engine) {
    if (engine == "triton-interpreter" && has_type(exchange_.reference_said().inputs, element_type::bfloat16)) {
      throw session_end{ending::not_judgeable, bfloat16_reason, {}};
    }
  }

  void run_trial(trial_style style) {
    if (style == trial_style::affine && !has_no_affine_) {
      run_affine();
    } else if (style == trial_style::scaled && !has_no_scaled_) {
      run_scaled();
    } else {
      run_plain();
    }
  }

  trial_result ask(const char* style, weights_from weights) {
    auto got = exchange_.ask(style, weights);
    auto figures = got.outputs.figures;
    out_.trials.push_back({got.asked, figures, got.reference_time, got.candidate_time, got.is_right(),
                           weights == weights_from::reference});
    is_evidence_late_ = is_evidence_late_ || got.kernel_evidence == "later";
    take_evidence(out_.kernel_evidence, got.kernel_evidence);
    if (!got.torch_ops.empty()) {
      torch_ops_ = got.torch_ops;
    }
    if (got.is_drawn) {
      out_.mark("inputs_drawn");
    }
    if (!got.launched.empty()) {
      out_.launched = got.launched;
    }
    if (!got.has_exact) {
      out_.mark("no_float64_reference");
    }
    if (!got.function_refused.empty()) {
      out_.mark("function_not_compared");
      out_.function_refused = got.function_refused;
    }
    return got;
  }

  weights_from weights() const { return out_.is_transplanted ? weights_from::reference : weights_from::same_seed; }

  void run_plain() {
    const auto first = ask(style_name(trial_style::plain), weights());
    if (first.is_right()) {
      return;
    }
    if (out_.is_transplanted || first.has_same_weights()) {
      return set_mismatch(first, {});
    }
    const auto told = weights_text(first.candidate_parameters, first.reference_parameters);
    const auto again = ask_with_weights(style_name(trial_style::plain));
    if (!again) {
      return set_mismatch(first, told + "They could not be put in place: " + refusal_ + "\n");
    }
    again->is_right() ? set_transplanted() : set_mismatch(*again, told + "With the reference's weights in place:\n");
  }

  /// Of default values alone little is known: a normalisation without its affine parameters is right on them.
  void run_affine() {
    try {
      const auto first = ask(style_name(trial_style::affine), weights());
      if (first.is_right()) {
        return;
      }
      if (out_.is_transplanted) {
        return set_default_only(first);
      }
      const auto again = ask_with_weights(style_name(trial_style::affine));
      again && again->is_right() ? set_transplanted() : set_default_only(again ? *again : first);
    } catch (const session_end& end) {
      // The problem itself may not stand other values than its defaults; then there is nothing to compare with.
      if (end.judgement != ending::problem_failed || !end.is_in_step) {
        throw;
      }
      has_no_affine_ = true;
      out_.mark("no_affine_trial");
      run_plain();
    }
  }

  /// Inputs of another size than the problem draws: unit variance hides a normalisation that is not done.
  void run_scaled() {
    try {
      const auto got = ask(style_name(trial_style::scaled), weights());
      if (got.is_right()) {
        return;
      }
      if (got.outputs.figures.is_finite) {
        return set_mismatch(got, "The inputs were the problem's, times a power of two below 1 (1/8 to 1/2): your code must "
                                 "compute what the reference does for inputs of any size.\n");
      }
    } catch (const session_end& end) {
      if (end.judgement != ending::problem_failed || !end.is_in_step) {
        throw;
      }
    }
    // What the problem itself cannot do with them is nobody's measure.
    has_no_scaled_ = true;
    out_.mark("no_scaled_trial");
    run_plain();
  }

  /// Empty: the candidate has no place for them (refusal_ says why).
  std::optional<trial_result> ask_with_weights(const char* style) {
    try {
      return ask(style, weights_from::reference);
    } catch (const session_end& end) {
      if (end.judgement != ending::contract_violation || !end.is_in_step) {
        throw;
      }
      refusal_ = end.reason;
      return std::nullopt;
    }
  }

  void set_transplanted() {
    out_.is_transplanted = true;
    out_.mark("weights_transplanted");
  }

  void set_default_only(const trial_result& got) {
    if (request_.needs_affine) {
      return set_mismatch(got, "Right with the default values of affine parameters only (weights 1, biases 0), wrong "
                               "with others; both must be used.\n");
    }
    has_no_affine_ = true;
    out_.mark("default_affine_only");
  }

  void set_mismatch(const trial_result& got, const std::string& before) {
    const auto& wrong = got.outputs.is_right ? *got.function : got.outputs;
    out_.judgement = ending::mismatch;
    out_.reason = plain_line(mismatch_reason(wrong), 300);
    out_.feedback = plain_text("Your output does not match the reference (trial " + std::to_string(trial_) + " of " +
                                   std::to_string(request_.trials) + ").\n" + before + mismatch_text(wrong),
                               8000);
  }

  const judge_request& request_;
  exchange exchange_;
  judge_verdict out_;
  unsigned trial_ = 0;
  bool has_no_affine_ = false, has_no_scaled_ = false;
  bool is_evidence_late_ = false;
  std::string torch_ops_;
  std::string refusal_;
};

}  // namespace

tolerance_table tolerances_for(const judge_request& request, const std::vector<tolerance_wish>& of_problem) {
  tolerance_table out;
  for (const auto* wishes : {&of_problem, &request.tolerances}) {
    for (const auto& each : *wishes) {
      apply(each, out);
    }
  }
  return tightened(out, request.tightened);
}

bool settle_reference(channel& reference, std::chrono::milliseconds patience) {
  if (reference.is_broken()) {
    return false;
  }
  try {
    reference.arm(patience);
    reference.skip_body();
    return true;
  } catch (const session_end&) {
    return false;
  }
}

judge_verdict judge_candidate(const judge_request& request, channel& reference, channel& candidate) {
  candidate_session session{request, reference, candidate};
  auto& out = session.verdict();
  out.tolerances = tolerances_for(request, {});
  try {
    session.run();
  } catch (const session_end& end) {
    out.judgement = end.judgement;
    out.reason = end.reason;
    out.feedback = end.reason + (end.detail.empty() ? "\n" : "\n" + end.detail);
  }
  if (request.allows_tf32) {
    out.mark("tf32_allowed");
  }
  out.is_reference_usable = settle_reference(reference, request.question_timeout);
  return std::move(out);
}

}  // namespace regatta::judge
