// SPDX-License-Identifier: Apache-2.0
/// \file
/// EVALUATOR: slots, leases and the run queue of one node; runs candidates through the sandbox.
///
/// One per node. Talks to its `sink` (the node agent) and the sandbox's thread. Never blocks.
#pragma once

#include "messages/node_handles.hpp"
#include "sandbox/interpreter.hpp"
#include "sandbox/runner.hpp"

#include <caf/actor_system.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace regatta {

/// One GPU of this host (node/gpu_inventory.hpp finds them).
struct gpu {
  std::string uuid;               ///< `GPU-…`
  std::string name;               ///< "NVIDIA H200"
  std::uint32_t minor = 0;        ///< /dev/nvidia<minor>
  std::uint64_t memory = 0;       ///< Bytes.
  std::string compute_capability;  ///< "9.0"; empty if unknown.
  std::vector<std::string> device_nodes;  ///< All that a run needs: nvidiactl, nvidia-uvm, nvidia<minor>.
  double memory_bytes_per_s = 0;  ///< At most, by its clocks and the width of its bus; 0: unknown.
  std::uint32_t ready = 0;  ///< Processes that wait on it for runs, `run_spec::ready`.
  std::string kernel_helpers{};  ///< `run_spec::kernel_helpers`; empty: none are kept.
};

struct evaluator_config {
  node_id node;
  run_sink_actor sink;
  std::shared_ptr<sandbox::runner> runner;
  sandbox::interpreter python;
  std::map<std::string, std::string> host_environment;
  std::vector<gpu> gpus;
  std::uint32_t cpu_slots = 1;
  std::uint32_t gpu_slots = 1;  ///< Runs that share one GPU. Timing never does.
  /// Bytes that nobody uses of each GPU of the list; empty if unknown. May take seconds, so it is called on a thread of its
  /// own. Null: nobody looks.
  std::function<std::vector<std::uint64_t>()> free_gpu_memory;
};

evaluator_actor spawn_evaluator(caf::actor_system& system, evaluator_config config);

}  // namespace regatta
