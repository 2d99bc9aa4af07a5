// SPDX-License-Identifier: Apache-2.0
/// \file
/// One GPU's clocks and what holds them back, from NVML. Its calls may hang in the driver: only from a thread that may.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace regatta {

struct gpu_clocks {
  std::uint32_t sm_mhz = 0;
  std::uint32_t temperature = 0;  ///< °C
  std::uint32_t busy = 0;         ///< Percent of the last sample period of the driver.
  std::uint32_t processes = 0;    ///< With a compute context.
  std::uint64_t reasons = 0;      ///< nvmlClocksEventReasons.
};

class nvml_clocks {
public:
  /// Empty: no such library, or no such GPU.
  static std::optional<nvml_clocks> open(const std::string& library, const std::string& uuid);

  /// What the driver does not tell stays 0. Empty: it told nothing.
  std::optional<gpu_clocks> sample() const;

private:
  struct entry_points;
  nvml_clocks(const entry_points* calls, void* device) : calls_{calls}, device_{device} {}

  const entry_points* calls_;  ///< Never freed, as the library is never closed.
  void* device_;
};

}  // namespace regatta
