// SPDX-License-Identifier: Apache-2.0
#include "cli/gpu_warmth.hpp"

#include "cli/python_discovery.hpp"
#include "messages/digest.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace regatta::cli {

namespace {

/// A judging needs two, and more than these only wait: contexts are made one after the other.
constexpr std::uint32_t most_waiting = 4;
constexpr std::uint32_t sides_of_a_judging = 2;

std::string driver_version() {
  std::ifstream file{"/sys/module/nvidia/version"};
  std::string text;
  std::getline(file, text);
  return text;
}

/// Triton's helpers are of one interpreter, torch, Triton and driver; another of these has its own.
std::string helpers_folder(const std::string& state_dir, const sandbox::interpreter& python,
                           const std::vector<std::string>& listed) {
  const std::vector<std::string> prefixes{python.prefix, python.base_prefix};
  auto key = python.executable + '\n' + python.version + '\n' + driver_version();
  for (const char* name : {"torch", "triton"}) {
    key += '\n' + module_version(name, prefixes, python.version, listed);
  }
  constexpr std::size_t digits = 16;
  return state_dir + "/triton-helpers/" + sha256_hex(key).substr(0, digits);
}

}  // namespace

void set_gpu_warmth(const session& x, embedded_config& config) {
  config.gpu_slots = static_cast<std::uint32_t>(x.values.integer("gpu-slots"));
  if (config.gpus.empty() || x.values.flag("cold")) {
    return;
  }
  const auto folder = helpers_folder(config.state_dir, config.python, x.values.list("python-path"));
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path{folder}.parent_path(), ignored);
  for (auto& each : config.gpus) {
    each.kernel_helpers = folder;
    each.ready = std::min(sides_of_a_judging * config.gpu_slots, most_waiting);
  }
}

std::uint32_t gpu_helpers(const embedded_config& config) {
  std::uint32_t seeding = config.gpus.empty() ? 0 : 1;
  for (const auto& each : config.gpus) {
    seeding += 2 * each.ready;  // those that end, too
  }
  return seeding;
}

}  // namespace regatta::cli
