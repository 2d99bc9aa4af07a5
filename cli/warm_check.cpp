// SPDX-License-Identifier: Apache-2.0
#include "cli/warm_check.hpp"

#include "node/sandbox_launcher.hpp"
#include "sandbox/runner.hpp"

#include <future>
#include <utility>

namespace regatta::cli {

std::string why_cold(const sandbox::interpreter& python, const sandbox::host_facts& host) {
  std::string error;
  const auto runner = sandbox::runner::open({}, host, error);
  if (!runner) {
    return error;
  }
  auto spec = candidate_spec({}, nullptr, python, {});
  ask_for_warmth(spec, nullptr, {"import torch"});
  spec.limits.wall = std::chrono::seconds{15};  // after the zygote's own 15
  std::promise<sandbox::run_result> ended;
  runner->start(std::move(spec), [&](sandbox::run_result result) { ended.set_value(std::move(result)); });
  const auto result = ended.get_future().get();
  if (result.outcome != outcome::exited) {
    return result.reason;
  }
  return result.is_warm ? "" : result.why_cold;
}

}  // namespace regatta::cli
