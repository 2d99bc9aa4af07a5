// SPDX-License-Identifier: Apache-2.0
/// \file
/// A libnvidia-ml for tests: two GPUs, or as REGATTA_FAKE_NVML says: `blocked`, `uninitialised`.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

namespace {

struct memory_info {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

std::string_view mode() {
  const char* const text = std::getenv("REGATTA_FAKE_NVML");
  return text == nullptr ? "" : text;
}

std::size_t index_of(const void* gpu) {
  return reinterpret_cast<std::size_t>(gpu) - 1;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  if (mode() == "blocked") {
    std::this_thread::sleep_for(std::chrono::hours{1});  // a driver that hangs, as far as any test can tell
  }
  return mode() == "uninitialised" ? 9 : 0;
}
int nvmlShutdown() {
  return 0;
}
const char* nvmlErrorString(int) {
  return "Driver Not Loaded";
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** gpu) {
  *gpu = reinterpret_cast<void*>(static_cast<std::size_t>(index) + 1);
  return 0;
}
int nvmlDeviceGetUUID(void* gpu, char* text, unsigned) {
  std::strcpy(text, index_of(gpu) == 0 ? "GPU-aaaa" : "GPU-bbbb");
  return 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned) {
  std::strcpy(text, "NVIDIA H200");
  return 0;
}
int nvmlDeviceGetMinorNumber(void* gpu, unsigned* minor) {
  *minor = static_cast<unsigned>(index_of(gpu));
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* gpu, memory_info* out) {
  *out = {140ULL << 30U, 0, index_of(gpu) == 0 ? 0 : 20ULL << 30U};
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** gpu) {
  const auto index = std::string_view{uuid} == "GPU-aaaa" ? 0U : 1U;
  return std::string_view{uuid}.starts_with("GPU-") ? nvmlDeviceGetHandleByIndex_v2(index, gpu) : 6;
}
int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) {
  *mhz = 3201;
  return 0;
}
int nvmlDeviceGetMemoryBusWidth(void*, unsigned* bits) {
  *bits = 6144;
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int, unsigned* mhz) {
  *mhz = 1200;
  return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 81;
  return 0;
}
// The name that drivers before 535 have.
int nvmlDeviceGetCurrentClocksThrottleReasons(void* gpu, unsigned long long* reasons) {
  *reasons = index_of(gpu) == 0 ? 0x1 : 0x4;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* gpu, unsigned* percent) {
  percent[0] = index_of(gpu) == 0 ? 0 : 90;
  percent[1] = 0;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* gpu, unsigned* count, void*) {
  *count = index_of(gpu) == 0 ? 0 : 3;
  return *count == 0 ? 0 : 7;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
}
