// SPDX-License-Identifier: Apache-2.0
/// \file
/// What else happened on host and device while something was timed: work of others, clocks held back. A timing is not
/// refused for it, but whoever reads its numbers must know.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regatta {

struct gpu;

/// First line of /proc/stat: of all CPUs since the host started, in ticks of 10 ms.
struct cpu_ticks {
  std::uint64_t busy = 0, all = 0;
};
std::optional<cpu_ticks> parse_cpu_ticks(std::string_view proc_stat);

/// From NVML, while the timing ran.
struct gpu_activity {
  std::uint32_t samples = 0;
  std::uint32_t least_clock_mhz = 0, most_clock_mhz = 0;  ///< Of the SMs, where they were busy.
  std::uint32_t hottest = 0;                              ///< °C
  std::uint64_t reasons = 0;         ///< Why clocks were held back: NVML's bits, of all samples.
  std::uint32_t most_processes = 0;  ///< With a context there; 0 also where a container may not see them.
  std::uint32_t busy_before = 0;     ///< Percent, before anything of ours ran.
};

struct timing_surroundings {
  std::string device;               ///< "NVIDIA H200", the CPU's model.
  std::string gpu_uuid;
  std::optional<double> other_cpu;  ///< Part of all CPUs' time that others took; empty: not known.
  std::optional<gpu_activity> gpu;
};

/// "throttled", "contention", or none.
std::vector<std::string> flags_of(const timing_surroundings& x);
/// "power_cap, hot"; empty: at full speed.
std::vector<std::string> throttle_names(std::uint64_t reasons);
/// The part that is not `own`, of what passed between two looks; never below 0.
std::optional<double> other_cpu_share(const std::optional<cpu_ticks>& before, const std::optional<cpu_ticks>& after,
                                      std::chrono::microseconds own);

class timing_watch {
public:
  /// Begins to look. Never blocks: a driver that hangs holds up only a thread of its own, which is left behind.
  explicit timing_watch(const gpu* device, const std::string& nvml_library = "libnvidia-ml.so.1");
  timing_watch(const timing_watch&) = delete;
  timing_watch& operator=(const timing_watch&) = delete;
  ~timing_watch();

  /// `own_cpu`: of everything that was timed.
  timing_surroundings end(std::chrono::microseconds own_cpu);

private:
  struct sampler;
  timing_surroundings out_;
  std::optional<cpu_ticks> before_;
  std::shared_ptr<sampler> sampler_;
};

}  // namespace regatta
