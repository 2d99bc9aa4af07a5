// SPDX-License-Identifier: Apache-2.0
#include "node/nvml_clocks.hpp"

#include <dlfcn.h>

namespace regatta {

namespace {

// NVML's C interface as nvml.h has it since driver 418.
using status = int;
constexpr status went_well = 0;
constexpr status insufficient_size = 7;
constexpr int sm_clock = 1;
constexpr int gpu_temperature = 0;
struct utilization {
  unsigned gpu = 0;
  unsigned memory = 0;
};

template <class Signature>
void find(void* library, Signature*& entry, const char* name, const char* older = nullptr) {
  auto* const found = dlsym(library, name);
  entry = reinterpret_cast<Signature*>(found == nullptr && older != nullptr ? dlsym(library, older) : found);
}

}  // namespace

struct nvml_clocks::entry_points {
  status (*init)() = nullptr;
  status (*by_uuid)(const char*, void**) = nullptr;
  status (*clock)(void*, int, unsigned*) = nullptr;
  status (*temperature)(void*, int, unsigned*) = nullptr;
  status (*reasons)(void*, unsigned long long*) = nullptr;
  status (*usage)(void*, utilization*) = nullptr;
  status (*processes)(void*, unsigned*, void*) = nullptr;
};

std::optional<nvml_clocks> nvml_clocks::open(const std::string& library, const std::string& uuid) {
  // Never closed, nor shut down: the driver's library keeps threads and thread-local state.
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return std::nullopt;
  }
  auto* const calls = new entry_points;
  find(handle, calls->init, "nvmlInit_v2");
  find(handle, calls->by_uuid, "nvmlDeviceGetHandleByUUID");
  find(handle, calls->clock, "nvmlDeviceGetClockInfo");
  find(handle, calls->temperature, "nvmlDeviceGetTemperature");
  find(handle, calls->reasons, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(handle, calls->usage, "nvmlDeviceGetUtilizationRates");
  find(handle, calls->processes, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses");
  void* device = nullptr;
  if (calls->init == nullptr || calls->by_uuid == nullptr || calls->init() != went_well ||
      calls->by_uuid(uuid.c_str(), &device) != went_well) {
    delete calls;
    return std::nullopt;
  }
  return nvml_clocks{calls, device};
}

std::optional<gpu_clocks> nvml_clocks::sample() const {
  gpu_clocks out;
  bool has_any = false;
  const auto take = [&](auto* call, auto... arguments) {
    const bool is_told = call != nullptr && call(device_, arguments...) == went_well;
    has_any = has_any || is_told;
    return is_told;
  };
  unsigned value = 0;
  if (take(calls_->clock, sm_clock, &value)) {
    out.sm_mhz = value;
  }
  if (take(calls_->temperature, gpu_temperature, &value)) {
    out.temperature = value;
  }
  unsigned long long reasons = 0;
  if (take(calls_->reasons, &reasons)) {
    out.reasons = reasons;
  }
  utilization usage;
  if (take(calls_->usage, &usage)) {
    out.busy = usage.gpu;
  }
  // Asked for none, it says how many there are.
  unsigned count = 0;
  if (calls_->processes != nullptr && calls_->processes(device_, &count, nullptr) == insufficient_size) {
    out.processes = count;
  }
  return has_any ? std::optional{out} : std::nullopt;
}

}  // namespace regatta
