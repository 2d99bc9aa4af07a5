// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/kept_answer.hpp"
#include "sandbox/judge/mismatch_text.hpp"
#include "sandbox/judge/seeds.hpp"
#include "sandbox/judge/session.hpp"
#include "sandbox/judge/side_codec.hpp"

#include <algorithm>
#include <array>

namespace regatta::judge {

namespace {

constexpr std::array styles{"plain", "plain+affine"};

class probe_session {
public:
  probe_session(const judge_request& request, channel& reference, judge_verdict& out)
      : request_(request), reference_(reference), out_(out) {
    for (auto& style : passes_) {
      style.fill(true);
    }
  }

  void run() {
    read_hello();
    auto other = take({draw_seed(), draw_seed(), draw_seed(), styles[0]});
    if (!check_repeatable(other)) {
      return;
    }
    other.forget_all_but_eager();
    // At least one question of each style beyond the one that the cheap answers are made from.
    for (unsigned i = 0; i < std::max(request_.trials, 2U); ++i) {
      const std::size_t style = has_affine_ ? i % 2 : 0;
      try {
        auto truth = take({draw_seed(), draw_seed(), draw_seed(), styles.at(style)});
        try_all(truth, other, style);
        other = std::move(truth);
        other.forget_all_but_eager();
      } catch (const session_end& end) {
        if (style == 0 || end.judgement != ending::problem_failed || !end.is_in_step) {
          throw;
        }
        has_affine_ = false;
        out_.mark("no_affine_trial");
      }
    }
    conclude();
  }

private:
  void read_hello() {
    reference_.arm(request_.hello_timeout);
    if (request_.is_reference_warm) {
      reference_.send_head(write_hello_question(), 0);
    }
    const auto said = read_from(reference_, [](const std::string& head) { return read_reference_hello(head); });
    check_body(reference_, body_bytes(said.init_args));
    reference_.skip_body();
    out_.reference = said.versions;
    out_.mode = said.mode;
    out_.engine = request_.engine.empty() ? said.versions.device : request_.engine;
    if (said.is_random) {
      out_.mark("is_random");
    }
  }

  kept_answer take(const question& x) {
    const auto start = std::chrono::steady_clock::now();
    auto got = take_answer(reference_, x, request_.question_timeout);
    const auto took = std::chrono::steady_clock::now() - start;
    out_.trials.push_back({x, {}, std::chrono::duration_cast<std::chrono::milliseconds>(took), {}, true, false});
    if (!got.head.exact) {
      out_.mark("no_float64_reference");
    }
    return got;
  }

  answer_report compare(const synthetic_answer& got, const kept_answer& truth, const changed_inputs& got_after,
                        std::span<const std::byte> got_after_bytes) {
    memory_source got_bytes{got.bytes.bytes()}, outputs{truth.outputs.bytes()};
    memory_source got_after_source{got_after_bytes}, after{truth.after.bytes()};
    const auto* const exact = truth.head.exact ? &*truth.head.exact : nullptr;
    auto report = compare_outputs(got.outputs, got_bytes, {truth.head.outputs, exact, outputs, nullptr},
                                  request_.tolerances, "output");
    if (report.structure.empty()) {
      compare_inputs_after({truth.head.inputs, truth.inputs.bytes()}, got_after, got_after_source,
                           truth.head.inputs_after, after, request_.tolerances, report);
    }
    return report;
  }

  bool check_repeatable(const kept_answer& first) {
    auto again = first.asked;
    again.id = draw_seed();
    const auto second = take(again);
    synthetic_answer as_sent{second.head.outputs, byte_buffer{second.eager.size()}};
    as_sent.bytes.add(second.eager.bytes());
    const auto report = compare(as_sent, first, second.head.inputs_after, second.after.bytes());
    out_.trials.back().figures = report.figures;
    if (report.is_right) {
      return true;
    }
    out_.judgement = ending::not_judgeable;
    out_.reason = "the same seeds give other outputs: " + plain_line(mismatch_reason(report), 200);
    out_.feedback = out_.reason + "\n";
    return false;
  }

  void try_all(const kept_answer& truth, const kept_answer& other, std::size_t style) {
    asked_[style] = true;
    for (const auto& entry : enum_names<cheap_answer>::value) {
      const auto made = make_cheap_answer(entry.first, truth, other);
      auto& passes = passes_.at(style).at(static_cast<std::size_t>(entry.first));
      passes = passes && made && compare(*made, truth, {}, {}).is_right;
    }
  }

  void conclude() {
    for (const auto& [kind, name] : enum_names<cheap_answer>::value) {
      const auto number = static_cast<std::size_t>(kind);
      if (!passes_[0].at(number)) {
        continue;
      }
      if (asked_[1] && !passes_[1].at(number)) {
        out_.mark("needs_affine");
        continue;
      }
      out_.weak.emplace_back(name);
    }
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
  bool has_affine_ = true;
  std::array<bool, 2> asked_{};
  std::array<std::array<bool, 5>, 2> passes_{};  ///< [style][cheap answer]: in every trial so far.
};

}  // namespace

judge_verdict probe_problem(const judge_request& request, channel& reference) {
  judge_verdict out;
  out.tolerances = request.tolerances;
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
