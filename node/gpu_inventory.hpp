// SPDX-License-Identifier: Apache-2.0
/// \file
/// GPU INVENTORY: which GPUs of this host Regatta may lease, and why not the others.
#pragma once

#include "node/device_layer.hpp"
#include "node/evaluator.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace regatta {

struct gpu_inventory {
  std::vector<gpu> gpus;              ///< Usable, in PCI bus order.
  std::vector<std::string> left_out;  ///< One line for each GPU that is not usable: which, why, remedy.
  std::vector<std::string> warnings;  ///< Usable all the same: memory in use by others, NVML silent …
};

/// `environment` is our own. Its CUDA_VISIBLE_DEVICES (Slurm and people set it) restricts us as it does CUDA; an
/// index counts the usable GPUs in PCI bus order.
gpu_inventory find_gpus(const device_layer& devices, const std::map<std::string, std::string>& environment);

/// The GPUs that CUDA_VISIBLE_DEVICES names, in its order: indices or UUIDs (a prefix will do if it names one GPU
/// only), up to the first entry that names none, as CUDA reads it.
std::vector<gpu> restrict_to_visible(const std::vector<gpu>& gpus, const std::string& visible);

/// Bytes that nobody uses on each of these GPUs, as NVML says; empty if it says too little.
std::vector<std::uint64_t> free_memory(const std::vector<gpu>& gpus, const nvml_answer& nvml);

}  // namespace regatta
