// SPDX-License-Identifier: Apache-2.0
#include "node/host_devices.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

namespace regatta {

namespace fs = std::filesystem;

namespace {

std::string_view value_of(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with(key) && line.substr(key.size()).starts_with(':')) {
      const auto value = line.substr(key.size() + 1);
      const auto first = value.find_first_not_of(" \t");
      const auto last = value.find_last_not_of(" \t\r");
      return first == std::string_view::npos ? std::string_view{} : value.substr(first, last - first + 1);
    }
  }
  return {};
}

}  // namespace

driver_gpu parse_gpu_information(const std::string& bus, const std::string& text) {
  driver_gpu gpu;
  gpu.bus = bus;
  gpu.model = value_of(text, "Model");
  gpu.uuid = value_of(text, "GPU UUID");
  if (!gpu.uuid.starts_with("GPU-") || gpu.uuid.find('?') != std::string::npos) {
    gpu.uuid.clear();
  }
  const auto digits = value_of(text, "Device Minor");
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (!digits.empty() && error == std::errc{} && end == digits.data() + digits.size()) {
    gpu.minor = number;
  }
  gpu.is_excluded = value_of(text, "GPU Excluded") == "Yes" || value_of(text, "GPU Blacklisted") == "Yes";
  return gpu;
}

host_devices::host_devices(host_paths_of_devices paths) : paths_{std::move(paths)} {}

std::vector<driver_gpu> host_devices::driver_gpus() const {
  std::vector<driver_gpu> found;
  std::error_code error;
  for (fs::directory_iterator at{paths_.procfs, error}, end; !error && at != end; at.increment(error)) {
    std::ifstream file{at->path() / "information"};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    if (!text.empty()) {
      found.push_back(parse_gpu_information(at->path().filename().string(), text));
    }
  }
  std::ranges::sort(found, {}, &driver_gpu::bus);
  return found;
}

nvml_answer host_devices::nvml() const {
  return ask_nvml(paths_.nvml, paths_.nvml_limit);
}

std::vector<std::string> host_devices::nodes_of(std::uint32_t minor) const {
  return {paths_.dev + "/nvidiactl", paths_.dev + "/nvidia-uvm", paths_.dev + "/nvidia" + std::to_string(minor)};
}

node_state host_devices::state_of(const std::string& node) const {
  if (access(node.c_str(), R_OK | W_OK) == 0) {
    return node_state::usable;
  }
  return errno == EACCES || errno == EPERM || errno == EROFS ? node_state::forbidden : node_state::absent;
}

}  // namespace regatta
