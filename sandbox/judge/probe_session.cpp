// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/kept_answer.hpp"
#include "sandbox/judge/mismatch_text.hpp"
#include "sandbox/judge/seeds.hpp"
#include "sandbox/judge/session.hpp"
#include "sandbox/judge/side_codec.hpp"
#include "sandbox/judge/trial_styles.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace regatta::judge {

namespace {

constexpr std::array levels{strictness::usual, strictness::scale, strictness::tenth};
constexpr std::size_t cheap_answers = enum_names<cheap_answer>::value.size();

/// Of one cheap answer under one strictness: in how many trials it was asked, and passed.
struct tally {
  std::array<unsigned, trial_styles> asked{}, passed{};

  bool passes_all(trial_style x) const {
    const auto i = static_cast<std::size_t>(x);
    return passed.at(i) == asked.at(i);
  }
  /// Of the questions that every candidate must be right on.
  bool passes_must() const { return passes_all(trial_style::plain) && passes_all(trial_style::scaled); }
  bool passes_with_affine() const { return passes_must() && passes_all(trial_style::affine); }
  bool is_lucky() const { return passed[0] > 0 && passed[0] < asked[0]; }
};

class probe_session {
public:
  probe_session(const judge_request& request, channel& reference, judge_verdict& out)
      : request_(request), reference_(reference), out_(out) {}

  void run() {
    read_hello();
    if (request_.stage != judged_stage::extract && out_.reference.device == "cpu" && has_bfloat16_) {
      throw session_end{ending::not_judgeable, bfloat16_reason, {}};
    }
    auto other = take({draw_seed(), draw_seed(), draw_seed(), style_name(trial_style::plain)});
    if (!check_repeatable(other)) {
      return;
    }
    other.forget_all_but_eager();
    // At least one question of each of the first two styles beyond the one that the cheap answers are made from.
    const auto count = other.is_sampled ? fewest_trials : std::max(request_.trials, fewest_trials);
    for (unsigned i = 0; i < count; ++i) {
      const auto style = usable(style_of_trial(i));
      if (auto truth = take_if_possible(style)) {
        try_all(*truth, other, style);
        other = std::move(*truth);
        other.forget_all_but_eager();
      }
    }
    conclude();
  }

private:
  static constexpr unsigned fewest_trials = 3;

  trial_style usable(trial_style x) const { return is_unusable_.at(static_cast<std::size_t>(x)) ? trial_style::plain : x; }

  /// Empty where the problem does not stand this style: then its candidates are not asked in it either.
  std::optional<kept_answer> take_if_possible(trial_style style) {
    try {
      auto out = take({draw_seed(), draw_seed(), draw_seed(), style_name(style)});
      if (style != trial_style::scaled || is_finite(out)) {
        return out;
      }
    } catch (const session_end& end) {
      if (style == trial_style::plain || end.judgement != ending::problem_failed || !end.is_in_step) {
        throw;
      }
    }
    is_unusable_.at(static_cast<std::size_t>(style)) = true;
    out_.mark(style == trial_style::scaled ? "no_scaled_trial" : "no_affine_trial");
    return std::nullopt;
  }

  bool is_finite(const kept_answer& x) {
    synthetic_answer as_sent{x.head.outputs, byte_buffer{x.eager.size()}};
    as_sent.bytes.add(x.eager.bytes());
    return compare(as_sent, x, x.head.inputs_after, x.after.bytes(), strictness::usual).figures.is_finite;
  }

  void read_hello() {
    reference_.arm(request_.hello_timeout);
    if (request_.is_reference_warm) {
      reference_.send_head(write_hello_question(), 0);
    }
    const auto said = read_from(reference_, [](const std::string& head) { return read_reference_hello(head); });
    check_body(reference_, body_bytes(said.init_args));
    reference_.skip_body();
    has_bfloat16_ = has_type(said.inputs, element_type::bfloat16);
    out_.reference = said.versions;
    out_.mode = said.mode;
    out_.problem_digest = said.problem_sha256;
    out_.question_bytes = said.question_bytes;
    out_.tolerances = tolerances_for(request_, said.tolerances);
    out_.engine = request_.engine.empty() ? said.versions.device : request_.engine;
    if (said.is_random) {
      out_.mark("is_random");
    }
  }

  kept_answer take(const question& x) {
    const auto start = std::chrono::steady_clock::now();
    auto got = take_answer(reference_, x, request_.question_timeout, request_.most_probed);
    const auto took = std::chrono::steady_clock::now() - start;
    out_.trials.push_back({x, {}, std::chrono::duration_cast<std::chrono::milliseconds>(took), {}, true, false});
    if (!got.head.exact) {
      out_.mark("no_float64_reference");
    }
    if (got.is_sampled) {
      out_.mark("probed_by_sample");
    }
    return got;
  }

  answer_report compare(const synthetic_answer& got, const kept_answer& truth, const changed_inputs& got_after,
                        std::span<const std::byte> got_after_bytes, strictness by) {
    memory_source got_bytes{got.bytes.bytes()}, outputs{truth.outputs.bytes()};
    memory_source got_after_source{got_after_bytes}, after{truth.after.bytes()};
    const auto* const exact = truth.head.exact ? &*truth.head.exact : nullptr;
    const auto limits = tightened(out_.tolerances, by);
    auto report = compare_outputs(got.outputs, got_bytes, {truth.head.outputs, exact, outputs, nullptr}, limits, "output");
    const bool does_nothing = got_after.leaves.empty() && !got_after.whole;
    if (truth.is_sampled) {
      // What was changed in place is not at hand: who changes nothing where something is to be changed is wrong.
      const bool is_work = !truth.head.inputs_after.leaves.empty() || truth.head.inputs_after.whole;
      report.is_right = report.is_right && !(does_nothing && is_work);
    } else if (report.structure.empty()) {
      compare_inputs_after({truth.head.inputs, truth.inputs.bytes()}, got_after, got_after_source,
                           truth.head.inputs_after, after, limits, report);
    }
    return report;
  }

  bool check_repeatable(const kept_answer& first) {
    auto again = first.asked;
    again.id = draw_seed();
    const auto second = take(again);
    synthetic_answer as_sent{second.head.outputs, byte_buffer{second.eager.size()}};
    as_sent.bytes.add(second.eager.bytes());
    const auto report = compare(as_sent, first, second.head.inputs_after, second.after.bytes(), strictness::usual);
    out_.trials.back().figures = report.figures;
    if (report.is_right) {
      return true;
    }
    out_.judgement = ending::not_judgeable;
    out_.reason = "the same seeds give other outputs: " + plain_line(mismatch_reason(report), 200);
    out_.feedback = out_.reason + "\n";
    return false;
  }

  void try_all(const kept_answer& truth, const kept_answer& other, trial_style style) {
    for (const auto& entry : enum_names<cheap_answer>::value) {
      const auto made = make_cheap_answer(entry.first, truth, other);
      bool passes = made.has_value();
      for (const auto level : levels) {
        // What a rule refuses, the stricter ones refuse, too.
        if (passes) {
          const auto report = compare(*made, truth, {}, {}, level);
          passes = report.is_right;
          note_precision(truth, report);
        }
        auto& one = tallies_.at(static_cast<std::size_t>(level)).at(static_cast<std::size_t>(entry.first));
        ++one.asked.at(static_cast<std::size_t>(style));
        one.passed.at(static_cast<std::size_t>(style)) += passes ? 1 : 0;
      }
    }
  }

  /// A tenth of the limits must still be beyond what eager torch itself is away from float64, which must be known.
  void note_precision(const kept_answer& truth, const answer_report& report) {
    const auto leaves = leaves_of(truth.head.outputs);
    for (std::size_t i = 0; i < std::min(leaves.size(), report.own.size()); ++i) {
      const auto limit = out_.tolerances.of(leaves[i].node->type).norm * tenth_factor;
      const bool is_tensor = leaves[i].node->kind == node_kind::tensor;
      const bool is_precise = truth.head.exact && own_error_factor * report.own[i].norm <= limit;
      may_tenth_ = may_tenth_ && (!is_tensor || !is_inexact(leaves[i].node->type) || is_precise);
    }
  }

  /// The mildest rules under which this does not pass; empty if it passes under all.
  std::optional<strictness> mildest_for(std::size_t answer) const {
    for (const auto level : levels) {
      const auto& one = tallies_.at(static_cast<std::size_t>(level)).at(answer);
      if (level != strictness::tenth || may_tenth_) {
        // Who is right now and then by luck is told apart by better rules, if there are any.
        if (!one.passes_with_affine() && !one.is_lucky()) {
          return level;
        }
      }
    }
    const auto& usual = tallies_[0].at(answer);
    return usual.passes_with_affine() ? std::nullopt : std::optional{strictness::usual};
  }

  void conclude() {
    for (const auto& [kind, name] : enum_names<cheap_answer>::value) {
      const auto number = static_cast<std::size_t>(kind);
      const auto mildest = mildest_for(number);
      if (!mildest) {
        out_.weak.emplace_back(name);
        continue;
      }
      out_.tightened = std::max(out_.tightened, *mildest);
      if (tallies_.at(static_cast<std::size_t>(*mildest)).at(number).passes_must()) {
        out_.mark("needs_affine");
      }
    }
    out_.tolerances = tightened(out_.tolerances, out_.tightened);
    if (!out_.weak.empty()) {
      out_.judgement = ending::weak_oracle;
      out_.reason = "passes as right without the work done:";
      for (const auto& name : out_.weak) {
        out_.reason += " " + name;
      }
      out_.feedback = out_.reason + "\n";
    }
  }

  const judge_request& request_;
  channel& reference_;
  judge_verdict& out_;
  std::array<bool, trial_styles> is_unusable_{};
  bool may_tenth_ = true, has_bfloat16_ = false;
  std::array<std::array<tally, cheap_answers>, levels.size()> tallies_{};
};

}  // namespace

judge_verdict probe_problem(const judge_request& request, channel& reference) {
  judge_verdict out;
  out.tolerances = tolerances_for(request, {});
  try {
    probe_session{request, reference, out}.run();
  } catch (const session_end& end) {
    out.judgement = end.judgement;
    out.reason = end.reason;
    out.feedback = end.reason + (end.detail.empty() ? "\n" : "\n" + end.detail);
  }
  out.is_reference_usable = settle_reference(reference, request.question_timeout);
  return out;
}

}  // namespace regatta::judge
