// SPDX-License-Identifier: Apache-2.0
#include "node/evaluator.hpp"

#include "node/evaluator_actor.hpp"
#include "node/gpu_inventory.hpp"
#include "node/gpu_seed.hpp"
#include "node/host_devices.hpp"
#include "node/judge_launcher.hpp"
#include "node/sandbox_launcher.hpp"

#include <memory>
#include <utility>

namespace regatta {

evaluator_actor spawn_evaluator(caf::actor_system& system, evaluator_config config) {
  if (!config.gpus.empty()) {
    config.free_gpu_memory = [gpus = config.gpus] { return free_memory(gpus, host_devices{}.nvml()); };
    seed_kernel_helpers(*config.runner, config.gpus.front(), config.python, config.host_environment);
  }
  auto self_tests = std::make_shared<sandbox_launcher>(config.runner, config.python, config.host_environment);
  auto launcher =
      std::make_shared<judge_launcher>(std::move(self_tests), config.runner, config.python, config.host_environment);
  return spawn_evaluator_on(system, std::move(config), std::move(launcher));
}

}  // namespace regatta
