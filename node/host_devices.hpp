// SPDX-License-Identifier: Apache-2.0
/// \file
/// This host's GPUs, from the driver's procfs, NVML and /dev.
#pragma once

#include "node/device_layer.hpp"
#include "node/nvml.hpp"

#include <chrono>
#include <string>

namespace regatta {

struct host_paths_of_devices {
  std::string procfs = "/proc/driver/nvidia/gpus";
  std::string dev = "/dev";
  std::string nvml = "libnvidia-ml.so.1";
  std::chrono::milliseconds nvml_limit{nvml_timeout};
};

class host_devices final : public device_layer {
public:
  explicit host_devices(host_paths_of_devices paths = {});

  std::vector<driver_gpu> driver_gpus() const override;
  nvml_answer nvml() const override;
  /// nvidiactl, nvidia-uvm, nvidia<minor>. nvidia-uvm-tools and /sys are not needed (measured on an H200).
  std::vector<std::string> nodes_of(std::uint32_t minor) const override;
  node_state state_of(const std::string& node) const override;

private:
  host_paths_of_devices paths_;
};

/// The driver's file `information`: lines `Key:   value`.
driver_gpu parse_gpu_information(const std::string& bus, const std::string& text);

}  // namespace regatta
