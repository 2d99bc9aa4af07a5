// SPDX-License-Identifier: Apache-2.0
#include "node/sandbox_launcher.hpp"

#include <algorithm>
#include <utility>

namespace regatta {

namespace {

/// As the zygote's compiler wants it: `cuda:90`; empty if unknown.
std::string kernel_target(const gpu& device) {
  auto capability = device.compute_capability;
  std::erase(capability, '.');
  return capability.empty() ? "" : "cuda:" + capability;
}

}  // namespace

void ask_for_warmth(sandbox::run_spec& spec, const gpu* device, std::initializer_list<std::string_view> texts) {
  const auto has = [&](std::string_view words) {
    return std::ranges::any_of(texts, [&](std::string_view x) { return x.find(words) != x.npos; });
  };
  if (!has("import torch") && !has("from torch") && !has("import triton")) {
    return;
  }
  spec.preload = {"torch", "triton", "triton.language", "triton.experimental.gluon", "numpy.random"};
  if (device != nullptr) {
    spec.ready = device->ready;
    spec.kernel_target = kernel_target(*device);
    spec.kernel_helpers = device->kernel_helpers;
    if (!spec.kernel_helpers.empty()) {
      spec.readable.push_back({spec.kernel_helpers, true});
    }
  }
}

std::map<std::string, std::string> run_environment(const gpu* device, std::map<std::string, std::string> host) {
  host.erase("CUDA_VISIBLE_DEVICES");
  host.erase("TRITON_INTERPRET");
  std::map<std::string, std::string> extra;
  if (device == nullptr) {
    extra["TRITON_INTERPRET"] = "1";
  }
  return sandbox::candidate_environment(host, extra);
}

sandbox::run_spec candidate_spec(const run& what, const gpu* device, const sandbox::interpreter& python,
                                 const std::map<std::string, std::string>& host_environment) {
  sandbox::run_spec spec;
  spec.argv = {python.executable, "-s", "-B", "-u", "candidate_main.py"};
  spec.environment = run_environment(device, host_environment);
  spec.files = {{"candidate_main.py", what.code}, {"problem.py", what.problem}};
  spec.keep = what.keep;
  spec.readable = python.readable;
  spec.devices = device == nullptr ? std::vector<std::string>{} : device->device_nodes;
  spec.limits = what.limits;
  ask_for_warmth(spec, device, {what.code, what.problem});
  return spec;
}

sandbox_launcher::sandbox_launcher(std::shared_ptr<sandbox::runner> runner, sandbox::interpreter python,
                                   std::map<std::string, std::string> host_environment)
    : runner_{std::move(runner)}, python_{std::move(python)}, host_environment_{std::move(host_environment)} {}

candidate_launcher::handle sandbox_launcher::start(const run& what, const placement& where,
                                                   std::function<void(judged_end)> done) {
  auto spec = candidate_spec(what, where.device, python_, host_environment_);
  spec.is_alone = where.is_alone;
  return runner_->start(std::move(spec), std::move(done));
}

void sandbox_launcher::cancel(handle run) {
  runner_->cancel(run);
}

}  // namespace regatta
