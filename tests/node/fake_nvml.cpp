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
    std::this_thread::sleep_for(std::chrono::hours{1});
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
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
}
