// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/timing_rules.hpp"

#include <algorithm>
#include <cmath>

namespace regatta::judge {

namespace {

/// Enough for calls of 10 µs to be seen beside a channel's jitter; their outputs are all kept.
constexpr unsigned most_calls = 256;
/// Drawn ones. Each stands for several calls, with other numbers each time.
constexpr unsigned most_sets = 16;
/// A head names every leaf of every set, 100 bytes each.
constexpr std::size_t most_leaves = 8192;
/// Quartiles of the speedup further apart than this part of its median: other numbers may come next time. Judgement.
constexpr double noisy = 0.2;
/// The clocks may differ by wake-ups, as the reference's does too, not by half of the work, nor by less than a scheduler's tick.
constexpr double least_agreement = 0.5;
constexpr double clock_slack_ms = 1;
/// The bound is what the device's data sheet allows, or a measurement: neither is exact.
constexpr double floor_slack = 0.9;

double sorted_quantile(const std::vector<double>& x, double q) {
  const double at = q * static_cast<double>(x.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const auto above = std::min(below + 1, x.size() - 1);
  return x[below] + (x[above] - x[below]) * (at - static_cast<double>(below));
}

bool is_time(double x) {
  return std::isfinite(x) && x > 0;
}

double per_call(double few_ms, double many_ms, const batch_plan& plan) {
  return (many_ms - few_ms) / (plan.many - plan.few);
}

/// What a side says of itself may be anything.
double said(double few_ms, double many_ms, const batch_plan& plan) {
  const double x = per_call(few_ms, many_ms, plan);
  return std::isfinite(x) ? x : 0;
}

bool is_disagreeing(const timing_report& x) {
  const double usual = std::min(1.0, x.own_reference_ms / x.reference.median);
  const double apart = (x.candidate.median - x.own_candidate_ms) * (x.facts.plan.many - x.facts.plan.few);
  return x.own_candidate_ms < least_agreement * usual * x.candidate.median && apart > clock_slack_ms;
}

void reject(timing_report& out, std::string reason) {
  out.status = timing_status::rejected;
  out.reason = std::move(reason);
}

void check_floor(timing_report& out) {
  const auto& memory = out.facts.memory;
  // What fits into the device's cache never has to come from memory. A measured speed is that of the caches, too.
  const bool is_cached = out.facts.size.moved() * out.facts.plan.many < 2 * memory.cache_bytes;
  if (is_cached) {
    out.flag("fits_in_cache");
  }
  if (memory.bytes_per_s > 0 && !is_cached) {
    out.floor_ms = 1e3 * static_cast<double>(out.facts.size.moved()) / memory.bytes_per_s;
  }
  // Where the reference itself is below it, not all of its inputs are read, or nothing is copied.
  const double least = floor_slack * out.floor_ms;
  if (out.candidate.median < least && out.reference.median >= least) {
    out.flag("below_floor");
    reject(out, "faster than the memory that it has to read and write allows");
  } else if (out.candidate.median < least_call_ms) {
    out.flag("below_floor");
    reject(out, "faster than a call of a function that does nothing");
  }
}

void set_flags(timing_report& out) {
  if (out.speedup.median > excessive_speedup) {
    out.flag("excessive_speedup");
  }
  if (out.speedup.high - out.speedup.low > noisy * out.speedup.median) {
    out.flag("noisy");
  }
  if (is_disagreeing(out)) {
    out.flag("clock_disagrees");
  }
  if (out.facts.has_threads) {
    out.flag("background_threads");
  }
  if (out.facts.has_copies) {
    out.flag("outputs_copied");
  }
  if (out.facts.is_interpreted) {
    out.flag("interpreted");
  }
}

}  // namespace

bool has_room(const call_size& size, const timing_room& room) {
  return 2 * (2 * size.input_bytes + size.output_bytes) <= room.most && 2 * size.leaves <= most_leaves;
}

batch_plan plan_batches(const call_size& size, const timing_room& room, double call_ms, double batch_ms) {
  const auto within = [](std::uint64_t bytes, std::uint64_t each) {
    const auto fit = bytes / std::max<std::uint64_t>(each, 1);
    return static_cast<unsigned>(std::clamp<std::uint64_t>(fit, 2, most_calls));
  };
  const auto named = static_cast<unsigned>(std::clamp<std::uint64_t>(most_leaves / std::max<std::size_t>(size.leaves, 1), 2, most_calls));
  const double wanted = is_time(call_ms) ? std::ceil(batch_ms / call_ms) : most_calls;
  const auto calls = static_cast<unsigned>(std::clamp(wanted, 2.0, static_cast<double>(most_calls)));
  batch_plan out;
  if (size.is_alterable) {
    out.sets = std::min({within(room.drawn, size.input_bytes), named, most_sets});
    const auto taken = std::min(room.usual, out.sets * size.input_bytes);
    out.many = std::min(calls, within(room.usual - taken, size.moved()));
    out.sets = std::min(out.sets, out.many);
  } else {
    out.many = std::min({calls, within(room.usual, size.moved() + size.input_bytes), named});
    out.sets = out.many;
  }
  out.few = std::max(1U, out.many / 4);
  return out;
}

spread spread_of(std::vector<double> x) {
  std::ranges::sort(x);
  spread out;
  out.median = sorted_quantile(x, 0.5);
  out.low = sorted_quantile(x, 0.25);
  out.high = sorted_quantile(x, 0.75);
  out.least = x.front();
  for (auto& each : x) {
    each = std::fabs(each - out.median);
  }
  std::ranges::sort(x);
  out.mad = sorted_quantile(x, 0.5);
  return out;
}

std::optional<event_times> event_times_of(const std::vector<double>& ms) {
  if (ms.empty() || !std::ranges::all_of(ms, is_time)) {
    return std::nullopt;
  }
  event_times out;
  out.trials = ms.size();
  const auto count = static_cast<double>(ms.size());
  for (const double x : ms) {
    out.mean += x / count;
  }
  for (const double x : ms) {
    out.std += (x - out.mean) * (x - out.mean) / count;
  }
  out.std = std::sqrt(out.std);
  out.least = *std::ranges::min_element(ms);
  out.most = *std::ranges::max_element(ms);
  return out;
}

bool timing_report::has_flag(std::string_view x) const {
  return std::ranges::find(flags, x) != flags.end();
}

void timing_report::flag(const char* x) {
  if (!has_flag(x)) {
    flags.emplace_back(x);
  }
}

bool is_good(const timed_pair& x, const batch_plan& plan) {
  const double a = per_call(x.reference.few_ms, x.reference.many_ms, plan);
  const double b = per_call(x.candidate.few_ms, x.candidate.many_ms, plan);
  return is_time(a) && is_time(b) && is_time(a / b);
}

void settle_timing(timing_report& out, const std::vector<timed_pair>& pairs) {
  const auto& plan = out.facts.plan;
  std::vector<double> reference, candidate, speedup, own_reference, own_candidate;
  for (const auto& x : pairs) {
    const double a = per_call(x.reference.few_ms, x.reference.many_ms, plan);
    const double b = per_call(x.candidate.few_ms, x.candidate.many_ms, plan);
    if (!is_good(x, plan)) {
      continue;
    }
    reference.push_back(a);
    candidate.push_back(b);
    speedup.push_back(a / b);
    own_reference.push_back(said(x.reference.own_few_ms, x.reference.own_many_ms, plan));
    own_candidate.push_back(said(x.candidate.own_few_ms, x.candidate.own_many_ms, plan));
  }
  out.pairs = speedup.size();
  out.rejected_pairs = pairs.size() - out.pairs;
  if (out.pairs < least_pairs) {
    out.status = timing_status::unsteady;
    out.reason = std::to_string(out.pairs) + " of " + std::to_string(pairs.size()) +
                 " pairs gave a time, at least " + std::to_string(least_pairs) + " are needed";
    return;
  }
  out.status = timing_status::timed;
  out.reference = spread_of(std::move(reference));
  out.candidate = spread_of(std::move(candidate));
  out.speedup = spread_of(std::move(speedup));
  out.own_reference_ms = spread_of(std::move(own_reference)).median;
  out.own_candidate_ms = spread_of(std::move(own_candidate)).median;
  check_floor(out);
  set_flags(out);
}

}  // namespace regatta::judge
