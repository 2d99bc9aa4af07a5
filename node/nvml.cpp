// SPDX-License-Identifier: Apache-2.0
#include "node/nvml.hpp"

#include <dlfcn.h>

#include <array>
#include <future>
#include <memory>
#include <thread>
#include <utility>

namespace regatta {

namespace {

// NVML's C interface as nvml.h has it since driver 418; version 1 of each struct, which later drivers keep.
using status = int;
constexpr status success = 0;
using device = struct nvml_device*;
struct memory_info {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

template <class Signature>
Signature* entry_point(void* library, const char* name) {
  return reinterpret_cast<Signature*>(dlsym(library, name));
}

/// Absent entry points stay null: an old driver lacks some of them.
struct nvml_library {
  explicit nvml_library(void* at)
      : init{entry_point<status()>(at, "nvmlInit_v2")},
        shutdown{entry_point<status()>(at, "nvmlShutdown")},
        error_string{entry_point<const char*(status)>(at, "nvmlErrorString")},
        count{entry_point<status(unsigned*)>(at, "nvmlDeviceGetCount_v2")},
        by_index{entry_point<status(unsigned, device*)>(at, "nvmlDeviceGetHandleByIndex_v2")},
        uuid{entry_point<status(device, char*, unsigned)>(at, "nvmlDeviceGetUUID")},
        name{entry_point<status(device, char*, unsigned)>(at, "nvmlDeviceGetName")},
        minor{entry_point<status(device, unsigned*)>(at, "nvmlDeviceGetMinorNumber")},
        memory{entry_point<status(device, memory_info*)>(at, "nvmlDeviceGetMemoryInfo")},
        capability{entry_point<status(device, int*, int*)>(at, "nvmlDeviceGetCudaComputeCapability")},
        split{entry_point<status(device, unsigned*, unsigned*)>(at, "nvmlDeviceGetMigMode")},
        most_clock{entry_point<status(device, int, unsigned*)>(at, "nvmlDeviceGetMaxClockInfo")},
        bus_width{entry_point<status(device, unsigned*)>(at, "nvmlDeviceGetMemoryBusWidth")} {}

  bool has_all_needed() const { return init != nullptr && count != nullptr && by_index != nullptr && uuid != nullptr; }
  std::string text_of(status x) const {
    return error_string == nullptr ? "status " + std::to_string(x) : std::string{error_string(x)};
  }

  status (*init)();
  status (*shutdown)();
  const char* (*error_string)(status);
  status (*count)(unsigned*);
  status (*by_index)(unsigned, device*);
  status (*uuid)(device, char*, unsigned);
  status (*name)(device, char*, unsigned);
  status (*minor)(device, unsigned*);
  status (*memory)(device, memory_info*);
  status (*capability)(device, int*, int*);
  status (*split)(device, unsigned*, unsigned*);
  status (*most_clock)(device, int, unsigned*);
  status (*bus_width)(device, unsigned*);
};

std::string text_from(status (*get)(device, char*, unsigned), device gpu) {
  std::array<char, 128> text{};
  const bool good = get != nullptr && get(gpu, text.data(), static_cast<unsigned>(text.size() - 1)) == success;
  return good ? text.data() : "";
}

/// Two transfers per clock, in bytes per second: 4.9e12 of an H200 (6,144 bits at 3,201 MHz), its data sheet says 4.8e12.
double memory_speed(const nvml_library& nvml, device gpu) {
  constexpr int memory_clock = 2;
  unsigned mhz = 0;
  unsigned bits = 0;
  const bool is_known = nvml.most_clock != nullptr && nvml.bus_width != nullptr &&
                        nvml.most_clock(gpu, memory_clock, &mhz) == success && nvml.bus_width(gpu, &bits) == success;
  return is_known ? 2.0e6 * mhz * bits / 8 : 0;
}

nvml_gpu describe(const nvml_library& nvml, device gpu) {
  nvml_gpu out;
  out.uuid = text_from(nvml.uuid, gpu);
  out.name = text_from(nvml.name, gpu);
  unsigned number = 0;
  if (nvml.minor != nullptr && nvml.minor(gpu, &number) == success) {
    out.minor = number;
  }
  memory_info memory;
  if (nvml.memory != nullptr && nvml.memory(gpu, &memory) == success) {
    out.memory = memory.total;
    out.memory_used = memory.used;
  }
  int major = 0;
  int low = 0;
  if (nvml.capability != nullptr && nvml.capability(gpu, &major, &low) == success) {
    out.compute_capability = std::to_string(major) + "." + std::to_string(low);
  }
  out.memory_bytes_per_s = memory_speed(nvml, gpu);
  unsigned pending = 0;
  unsigned is_on = 0;
  out.is_split = nvml.split != nullptr && nvml.split(gpu, &is_on, &pending) == success && is_on != 0;
  return out;
}

nvml_answer ask(const std::string& path) {
  // Never closed: the driver's library keeps threads and thread-local state.
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return {nvml_state::absent, "no " + path, {}};
  }
  const nvml_library nvml{handle};
  if (!nvml.has_all_needed()) {
    return {nvml_state::failed, path + " lacks a function", {}};
  }
  if (const auto said = nvml.init(); said != success) {
    return {nvml_state::failed, "nvmlInit: " + nvml.text_of(said), {}};
  }
  nvml_answer answer{nvml_state::answered, "", {}};
  unsigned count = 0;
  if (const auto said = nvml.count(&count); said != success) {
    answer = {nvml_state::failed, "nvmlDeviceGetCount: " + nvml.text_of(said), {}};
    count = 0;
  }
  for (unsigned i = 0; i < count; ++i) {
    device gpu = nullptr;
    if (const auto said = nvml.by_index(i, &gpu); said == success) {
      answer.gpus.push_back(describe(nvml, gpu));
    } else {
      answer.text += "GPU " + std::to_string(i) + ": " + nvml.text_of(said) + "; ";
    }
  }
  if (nvml.shutdown != nullptr) {
    nvml.shutdown();
  }
  return answer;
}

}  // namespace

nvml_answer ask_nvml(const std::string& library, std::chrono::milliseconds timeout) {
  auto promise = std::make_shared<std::promise<nvml_answer>>();
  auto answer = promise->get_future();
  std::thread{[promise, library] { promise->set_value(ask(library)); }}.detach();
  if (answer.wait_for(timeout) != std::future_status::ready) {
    return {nvml_state::blocked, "NVML did not answer within " + std::to_string(timeout.count()) + " ms", {}};
  }
  return answer.get();
}

}  // namespace regatta
