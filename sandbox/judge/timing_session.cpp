// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/exchange.hpp"
#include "sandbox/judge/memory_speed.hpp"
#include "sandbox/judge/mismatch_text.hpp"
#include "sandbox/judge/seeds.hpp"
#include "sandbox/judge/session.hpp"
#include "sandbox/judge/side_codec.hpp"
#include "sandbox/judge/timed_sides.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace regatta::judge {

namespace {

using std::chrono::steady_clock;

constexpr const char* plain = "plain";
/// More than `least_pairs`, so that some may fail; beyond it medians hardly move. Judgement.
constexpr std::size_t most_pairs = 15;
/// Of each size, when a call's time is not known at all: the least of them.
constexpr int rough_tries = 3;
/// So that a batch of a memory-bound kernel takes some ms: an H200 moves this in 2 ms.
constexpr std::uint64_t usual_on_gpu = std::uint64_t{8} << 30;
/// KernelBench's scripts; and its evaluation's, where a hundred would take long.
constexpr unsigned event_trials = 100, few_event_trials = 10;
constexpr double long_call_ms = 20;
constexpr const char* interpreter = "triton-interpreter";

/// Outputs are compared with eager's, which may be as far from the truth as they: twice of everything.
tolerance_table doubled(tolerance_table x) {
  for (auto& each : x.groups) {
    each.atol *= 2;
    each.rtol *= 2;
    each.norm *= 2;
  }
  return x;
}

class timing_session {
public:
  timing_session(const judge_request& request, channel& reference, channel& candidate)
      : request_(request),
        exchange_(reference, candidate, {request.question_timeout, {}, false}),
        sides_(reference, candidate, request.question_timeout) {}

  void run() {
    meet();
    if (!verify()) {
      return;
    }
    if (!look()) {
      return fail_with("inputs and outputs of one call have no room twice");
    }
    measure();
    take_events();
    settle_timing(report_, pairs_);
  }

  judge_verdict& verdict() { return out_; }
  timing_report& report() { return report_; }

private:
  void meet() {
    exchange_.read_reference_hello(request_.hello_timeout, request_.is_reference_warm);
    const auto& said = exchange_.reference_said();
    out_.reference = said.versions;
    out_.mode = said.mode;
    out_.problem_digest = said.problem_sha256;
    out_.tolerances = tolerances_for(request_, said.tolerances);
    exchange_.set_tolerances(out_.tolerances);
    // It was judged before; what its code does was looked at then.
    out_.policy = exchange_.read_policy(request_.hello_timeout);
    exchange_.read_candidate_hello(request_.hello_timeout);
    out_.candidate = exchange_.candidate_said().versions;
    out_.engine = exchange_.candidate_said().engine;
    report_.facts.is_interpreted = out_.engine == interpreter;
    for (const auto& leaf : leaves_of(said.inputs)) {
      if (leaf.node->kind == node_kind::tensor) {
        note_dtype(leaf.node->type);
      }
      ++report_.facts.size.leaves;
    }
    report_.facts.size.input_bytes = body_bytes(said.inputs);
  }

  void note_dtype(element_type x) {
    const auto name = to_string(x);
    if (std::ranges::find(report_.dtypes, name) == report_.dtypes.end()) {
      report_.dtypes.push_back(name);
    }
  }

  /// As a judging's question; what is wrong here is not timed. Also compiles whatever the candidate compiles.
  bool verify() {
    auto trial = exchange_.ask(plain, weights_from::same_seed);
    if (!trial.is_right() && !trial.has_same_weights()) {
      trial = exchange_.ask(plain, weights_from::reference);
      has_reference_weights_ = true;
    }
    if (!trial.is_right()) {
      set_not_right(trial.outputs);
      return false;
    }
    init_seed_ = trial.asked.init_seed;
    is_drawn_ = trial.is_drawn;
    own_ = trial.outputs.own;
    for (auto& x : own_) {
      x.worst *= 2;
      x.norm *= 2;
    }
    return true;
  }

  void set_not_right(const answer_report& outputs) {
    report_.status = timing_status::not_right;
    report_.reason = plain_line(mismatch_reason(outputs), 300);
    out_.judgement = ending::mismatch;
    out_.reason = report_.reason;
  }

  void fail_with(std::string reason) {
    report_.status = timing_status::failed;
    report_.reason = std::move(reason);
  }

  /// How long a call takes and how much it returns decides how large batches can be.
  bool look() {
    auto& size = report_.facts.size;
    auto room = request_.timing_room;
    if (!has_room(size, room)) {
      return false;
    }
    report_.facts.plan = {2, 1, 2};
    load(true);
    double once = 0, twice = 0;
    for (int i = 0; i < rough_tries; ++i) {
      const auto one = batch(1);
      check(1);
      const auto two = batch(2);
      const auto first = std::max(one.reference.few_ms, one.candidate.few_ms);
      const auto second = std::max(two.reference.few_ms, two.candidate.few_ms);
      once = i == 0 ? first : std::min(once, first);
      twice = i == 0 ? second : std::min(twice, second);
    }
    call_ms_ = twice - once;
    if (out_.reference.device == "cuda") {
      room.usual = std::min(room.most, usual_on_gpu);
    }
    report_.facts.plan = plan_batches(size, room, call_ms_);
    auto& memory = report_.facts.memory;
    memory = {request_.bytes_per_s, "nvml", sides_.cache_bytes()};
    if (out_.reference.device == "cpu") {
      memory = {measured_memory_speed(size.moved()), "measured", 0};
    } else if (memory.bytes_per_s <= 0) {
      memory.source.clear();
    }
    return has_room(size, room);
  }

  void load(bool is_first) {
    load_question x;
    x.init_seed = init_seed_;
    x.model = !is_first ? timed_model::kept : has_reference_weights_ ? timed_model::last : timed_model::fresh;
    x.recipe = is_drawn_ ? &exchange_.reference_said().recipe : nullptr;
    for (unsigned i = 0; i < report_.facts.plan.sets; ++i) {
      x.input_seeds.push_back(draw_seed());
    }
    x.calls = report_.facts.plan.many;
    report_.facts.size.is_alterable = sides_.load(std::move(x));
  }

  /// One batch of each side, in random order, on the same inputs. Times are put into `few`.
  timed_pair batch(unsigned calls) {
    const auto nonce = draw_seed();
    timed_pair out;
    const auto run = [&](side who) {
      const auto [ms, said] = sides_.run(who, nonce, calls);
      auto& times = who == side::reference ? out.reference : out.candidate;
      times.few_ms = ms;
      times.own_few_ms = said.own_ms;
      if (who == side::candidate) {
        report_.facts.has_threads |= said.threads > 0;
        report_.facts.has_copies |= said.has_copies;
      }
    };
    const bool is_reference_first = (draw_seed() & 2U) != 0;
    run(is_reference_first ? side::reference : side::candidate);
    run(is_reference_first ? side::candidate : side::reference);
    return out;
  }

  /// The outputs of one call of the last batch, drawn now. Throws not_right.
  void check(unsigned calls) {
    const auto call = static_cast<unsigned>((draw_seed() >> 1) % calls);
    const auto got = sides_.compare(call, doubled(out_.tolerances), own_, report_.facts.size.output_bytes);
    ++report_.checked_calls;
    if (!got.is_right) {
      set_not_right(got);
      throw session_end{ending::mismatch, "call " + std::to_string(call + 1) + " of a timed batch: " + report_.reason, {}, true};
    }
  }

  void measure() {
    const auto start = steady_clock::now();
    const auto& plan = report_.facts.plan;
    // Inputs without a floating number cannot be altered; what was seen once could be remembered.
    const auto renew = [this] {
      if (!report_.facts.size.is_alterable) {
        load(false);
      }
    };
    load(false);
    while (pairs_.size() < most_pairs) {
      const auto spent = steady_clock::now() - start;
      if (spent > 2 * request_.timing_budget || (spent > request_.timing_budget && good_pairs_ >= least_pairs)) {
        break;
      }
      auto pair = batch(plan.few);
      check(plan.few);
      renew();
      const auto more = batch(plan.many);
      check(plan.many);
      renew();
      const auto take = [](side_times& to, const side_times& from) {
        to.many_ms = from.few_ms;
        to.own_many_ms = from.own_few_ms;
      };
      take(pair.reference, more.reference);
      take(pair.candidate, more.candidate);
      pairs_.push_back(pair);
      good_pairs_ += is_good(pair, plan) ? 1 : 0;
    }
  }

  void take_events() {
    if (out_.reference.device != "cuda") {
      return;
    }
    const auto trials = call_ms_ > long_call_ms ? few_event_trials : event_trials;
    report_.reference_events = event_times_of(sides_.events(side::reference, trials));
    report_.candidate_events = event_times_of(sides_.events(side::candidate, trials));
  }

  const judge_request& request_;
  exchange exchange_;
  timed_sides sides_;
  judge_verdict out_;
  timing_report report_;
  std::vector<timed_pair> pairs_;
  std::size_t good_pairs_ = 0;
  std::vector<own_error> own_;
  std::uint64_t init_seed_ = 0;
  double call_ms_ = 0;
  bool has_reference_weights_ = false, is_drawn_ = false;
};

}  // namespace

judge_verdict time_candidate(const judge_request& request, channel& reference, channel& candidate) {
  timing_session session{request, reference, candidate};
  auto& out = session.verdict();
  auto& report = session.report();
  try {
    session.run();
  } catch (const session_end& end) {
    if (report.status != timing_status::not_right) {
      report.status = timing_status::failed;
      report.reason = end.reason;
    }
    out.judgement = end.judgement;
    out.reason = end.reason;
    out.feedback = end.reason + (end.detail.empty() ? "\n" : "\n" + end.detail);
  }
  if (request.allows_tf32) {
    out.mark("tf32_allowed");
  }
  out.timing = std::move(report);
  out.is_reference_usable = settle_reference(reference, request.question_timeout);
  return std::move(out);
}

}  // namespace regatta::judge
