// SPDX-License-Identifier: Apache-2.0
#include "node/timing_watch.hpp"

#include "node/evaluator.hpp"
#include "node/nvml_clocks.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>
#include <utility>

namespace regatta {

namespace {

/// More of the host's CPUs than this taken by others is told. Judgement.
constexpr double most_other_cpu = 0.1;
/// Reference and candidate side.
constexpr std::uint32_t own_processes = 2;
/// Percent of time in which a GPU that is ours alone did something before we came.
constexpr std::uint32_t most_busy_before = 5;
constexpr std::chrono::milliseconds sample_period{100};

/// NVML's nvmlClocksEventReasons that mean "slower than it could be"; idleness and chosen clocks do not.
constexpr std::array<std::pair<std::uint64_t, const char*>, 5> throttle_bits = {{{0x04, "power_cap"},
                                                                                 {0x08, "hardware_slowdown"},
                                                                                 {0x20, "software_thermal"},
                                                                                 {0x40, "hardware_thermal"},
                                                                                 {0x80, "power_brake"}}};

std::string first_line_of(const char* path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  return line;
}

std::string cpu_model() {
  std::ifstream file{"/proc/cpuinfo"};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) {
      const auto at = line.find(": ");
      return at == std::string::npos ? "cpu" : line.substr(at + 2);
    }
  }
  return "cpu";
}

}  // namespace

std::optional<cpu_ticks> parse_cpu_ticks(std::string_view text) {
  // cpu user nice system idle iowait irq softirq steal guest guest_nice; guests are in user and nice already.
  constexpr std::size_t columns = 8;
  constexpr std::size_t idle = 3, waiting = 4;
  if (!text.starts_with("cpu ")) {
    return std::nullopt;
  }
  text.remove_prefix(4);
  cpu_ticks out;
  for (std::size_t i = 0; i < columns; ++i) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) {
      return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    out.all += value;
    out.busy += i == idle || i == waiting ? 0 : value;
  }
  return out;
}

std::optional<double> other_cpu_share(const std::optional<cpu_ticks>& before, const std::optional<cpu_ticks>& after,
                                      std::chrono::microseconds own) {
  if (!before || !after || after->all <= before->all) {
    return std::nullopt;
  }
  const double ticks_per_s = static_cast<double>(std::max(::sysconf(_SC_CLK_TCK), 1L));
  const auto all = static_cast<double>(after->all - before->all);
  const auto busy = static_cast<double>(after->busy - std::min(before->busy, after->busy));
  const double ours = std::chrono::duration<double>(own).count() * ticks_per_s;
  return std::max(busy - ours, 0.0) / all;
}

std::vector<std::string> throttle_names(std::uint64_t reasons) {
  std::vector<std::string> out;
  for (const auto& [bit, name] : throttle_bits) {
    if ((reasons & bit) != 0) {
      out.emplace_back(name);
    }
  }
  return out;
}

std::vector<std::string> flags_of(const timing_surroundings& x) {
  std::vector<std::string> out;
  const bool has_guests =
      x.gpu && (x.gpu->most_processes > own_processes || x.gpu->busy_before > most_busy_before);
  if (has_guests || x.other_cpu.value_or(0) > most_other_cpu) {
    out.emplace_back("contention");
  }
  if (x.gpu && !throttle_names(x.gpu->reasons).empty()) {
    out.emplace_back("throttled");
  }
  return out;
}

struct timing_watch::sampler {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false;
  gpu_activity seen;

  void take(const gpu_clocks& x) {
    const std::lock_guard lock{mutex};
    if (seen.samples++ == 0) {
      seen.busy_before = x.busy;
    }
    seen.reasons |= x.reasons;
    seen.hottest = std::max(seen.hottest, x.temperature);
    seen.most_processes = std::max(seen.most_processes, x.processes);
    if (x.busy > 0) {
      seen.most_clock_mhz = std::max(seen.most_clock_mhz, x.sm_mhz);
      seen.least_clock_mhz = seen.least_clock_mhz == 0 ? x.sm_mhz : std::min(seen.least_clock_mhz, x.sm_mhz);
    }
  }
  /// False: it is over.
  bool wait() {
    std::unique_lock lock{mutex};
    return !changed.wait_for(lock, sample_period, [this] { return is_over; });
  }
};

timing_watch::timing_watch(const gpu* device, const std::string& nvml_library)
    : before_{parse_cpu_ticks(first_line_of("/proc/stat"))} {
  out_.device = device == nullptr ? cpu_model() : device->name;
  if (device == nullptr) {
    return;
  }
  out_.gpu_uuid = device->uuid;
  sampler_ = std::make_shared<sampler>();
  std::thread{[shared = sampler_, library = nvml_library, uuid = device->uuid] {
    const auto nvml = nvml_clocks::open(library, uuid);
    do {
      if (const auto now = nvml ? nvml->sample() : std::nullopt) {
        shared->take(*now);
      }
    } while (nvml && shared->wait());
  }}.detach();
}

timing_watch::~timing_watch() {
  if (sampler_) {
    const std::lock_guard lock{sampler_->mutex};
    sampler_->is_over = true;
    sampler_->changed.notify_all();
  }
}

timing_surroundings timing_watch::end(std::chrono::microseconds own_cpu) {
  auto out = out_;
  out.other_cpu = other_cpu_share(before_, parse_cpu_ticks(first_line_of("/proc/stat")), own_cpu);
  if (sampler_) {
    const std::lock_guard lock{sampler_->mutex};
    sampler_->is_over = true;
    sampler_->changed.notify_all();
    if (sampler_->seen.samples > 0) {
      out.gpu = sampler_->seen;
    }
  }
  return out;
}

}  // namespace regatta
