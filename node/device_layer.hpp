// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a host says about its GPUs, as the GPU inventory wants to hear it. `host_devices` asks the host,
/// `fake_devices` makes it up, so that tests and `regatta doctor` can meet hosts that are not at hand.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace regatta {

/// From the driver's procfs; there as soon as the kernel module is loaded.
struct driver_gpu {
  std::string bus;   ///< `0000:19:00.0`
  std::string uuid;  ///< Empty while the driver does not know it (never opened since the module was loaded).
  std::string model;
  std::optional<std::uint32_t> minor;
  bool is_excluded = false;  ///< The administrator took it out of use.
};

/// From NVML; only what a container may see.
struct nvml_gpu {
  std::string uuid;
  std::string name;
  std::optional<std::uint32_t> minor;
  std::uint64_t memory = 0;        ///< Bytes; 0: unknown.
  std::uint64_t memory_used = 0;   ///< Bytes, by anybody.
  std::string compute_capability;  ///< "9.0"; empty if unknown.
  double memory_bytes_per_s = 0;   ///< At most, by clocks and the width of its bus; 0: unknown.
  bool is_split = false;           ///< MIG mode is on.
};

enum class nvml_state : std::uint8_t {
  answered,
  absent,   ///< No such library: no driver for user programs.
  failed,   ///< It said no; `text` says why.
  blocked,  ///< No answer in time. Its thread is left behind: nothing can end a call that hangs in the driver.
};

struct nvml_answer {
  nvml_state state = nvml_state::absent;
  std::string text;
  std::vector<nvml_gpu> gpus;
};

enum class node_state : std::uint8_t { usable, absent, forbidden };

class device_layer {
public:
  device_layer() = default;
  device_layer(const device_layer&) = default;
  device_layer& operator=(const device_layer&) = default;
  virtual ~device_layer() = default;

  /// In PCI bus order.
  virtual std::vector<driver_gpu> driver_gpus() const = 0;
  /// Bounded in time.
  virtual nvml_answer nvml() const = 0;
  /// The device nodes that a run on the GPU with this minor number needs.
  virtual std::vector<std::string> nodes_of(std::uint32_t minor) const = 0;
  virtual node_state state_of(const std::string& node) const = 0;
};

/// A host out of thin air. The GPUs have no nodes unless `nodes` names stand-ins such as /dev/null.
class fake_devices final : public device_layer {
public:
  std::vector<driver_gpu> driver;
  nvml_answer management;
  std::map<std::uint32_t, std::vector<std::string>> nodes;
  std::map<std::string, node_state> states;  ///< What is not named is usable.

  std::vector<driver_gpu> driver_gpus() const override { return driver; }
  nvml_answer nvml() const override { return management; }
  std::vector<std::string> nodes_of(std::uint32_t minor) const override {
    const auto at = nodes.find(minor);
    return at == nodes.end() ? std::vector<std::string>{} : at->second;
  }
  node_state state_of(const std::string& node) const override {
    const auto at = states.find(node);
    return at == states.end() ? node_state::usable : at->second;
  }
};

/// `count` healthy GPUs, `GPU-fake-0` …, known to driver and NVML.
fake_devices healthy_fake_gpus(std::uint32_t count);

}  // namespace regatta
