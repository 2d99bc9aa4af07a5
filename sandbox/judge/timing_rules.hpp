// SPDX-License-Identifier: Apache-2.0
/// \file
/// The rules of a timing, without clocks or sides: how large batches are, and what times of batches come to (docs/judge.md,
/// "Timing"). All times of calls in ms.
#pragma once

#include "messages/enums.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace regatta::judge {

/// Of one call.
struct call_size {
  std::uint64_t input_bytes = 0, output_bytes = 0;
  std::size_t leaves = 1;     ///< Of the inputs.
  bool is_alterable = true;   ///< Some input has floating numbers, so that a set can be made another one at every "go".
  std::uint64_t moved() const { return input_bytes + output_bytes; }
};

/// Each call of a batch has inputs of its own, made of some drawn set by altering it, or, where nothing can be altered, a set
/// of its own. Within a pair there are two sizes of batches: what one takes longer than the
/// other is calls alone, as whatever else there is (channel, other inputs, wake-ups) is in both.
struct batch_plan {
  unsigned sets = 2;  ///< Drawn at once.
  unsigned few = 1, many = 2;
};

/// How much a side may hold: drawn sets, and inputs and outputs of each call of a batch.
struct timing_room {
  std::uint64_t usual = std::uint64_t{512} << 20;  ///< Larger batches gain little. Judgement.
  std::uint64_t most = std::uint64_t{4} << 30;     ///< The smallest batches may take this.
  std::uint64_t drawn = std::uint64_t{64} << 20;   ///< More than two sets only within this: a CPU draws them. Judgement.
};
/// For batches of two calls.
bool has_room(const call_size& size, const timing_room& room);
/// So that the larger batch takes `batch_ms` if there is room for that.
batch_plan plan_batches(const call_size& size, const timing_room& room, double call_ms, double batch_ms = 40);

/// What one side took for two batches.
struct side_times {
  double few_ms = 0, many_ms = 0;          ///< By the judge's clock.
  double own_few_ms = 0, own_many_ms = 0;  ///< By what the side says.
};
struct timed_pair {
  side_times reference, candidate;
};

struct spread {
  double median = 0, low = 0, high = 0;  ///< Quartiles.
  double mad = 0;                        ///< Median absolute deviation from the median.
  double least = 0;
};
/// Of at least one number.
spread spread_of(std::vector<double> x);

enum class timing_status : std::uint8_t {
  timed,
  rejected,   ///< Times that no honest work has: below the floor, or none.
  not_right,  ///< An output of a timed call is wrong: no time of it means anything.
  unsteady,   ///< Too few pairs gave a time.
  failed,     ///< A side ended, raised or was silent; the host or the problem did not allow it.
};

/// How the device moves memory.
struct memory_bound {
  double bytes_per_s = 0;  ///< No honest call is faster; 0: not known.
  std::string source;      ///< "nvml", "measured".
  std::uint64_t cache_bytes = 0;
};

/// What is known of a timing besides times.
struct timing_facts {
  batch_plan plan;
  call_size size;
  memory_bound memory;
  bool has_threads = false;  ///< The candidate had threads running when its batch was over.
  bool has_copies = false;   ///< It returns the same memory each time, so each output was copied before the next call.
  bool is_interpreted = false;
};

/// By events of the device, as KernelBench's `cuda_event` takes them.
struct event_times {
  double mean = 0, std = 0, least = 0, most = 0;
  std::size_t trials = 0;
};
/// Empty if there are none, or one is none.
std::optional<event_times> event_times_of(const std::vector<double>& ms);

struct timing_report {
  timing_status status = timing_status::failed;
  std::string reason;
  spread reference, candidate, speedup;  ///< Speedup: reference ÷ candidate, of each pair. All 0 unless `timed` or `rejected`.
  double own_reference_ms = 0, own_candidate_ms = 0;  ///< Medians of what the sides say.
  std::size_t pairs = 0, rejected_pairs = 0, checked_calls = 0;
  double floor_ms = 0;
  timing_facts facts;
  std::vector<std::string> flags, dtypes;
  std::optional<event_times> reference_events, candidate_events;

  bool has_flag(std::string_view x) const;
  void flag(const char* x);
};

/// Whether it gives a time for both sides.
bool is_good(const timed_pair& x, const batch_plan& plan);
/// Fills in what the pairs come to: status, spreads, flags. Fewer than `least_pairs` good ones: unsteady.
void settle_timing(timing_report& out, const std::vector<timed_pair>& pairs);

inline constexpr std::size_t least_pairs = 5;
/// KernelBench's.
inline constexpr double excessive_speedup = 10;
/// A call of a Python function alone takes as long.
inline constexpr double least_call_ms = 1e-4;

}  // namespace regatta::judge

REGATTA_ENUM_NAMES(regatta::judge::timing_status, 5, {regatta::judge::timing_status::timed, "timed"},
                   {regatta::judge::timing_status::rejected, "rejected"},
                   {regatta::judge::timing_status::not_right, "not_right"},
                   {regatta::judge::timing_status::unsteady, "unsteady"},
                   {regatta::judge::timing_status::failed, "failed"});
