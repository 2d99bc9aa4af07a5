// SPDX-License-Identifier: Apache-2.0
#include "sandbox/runner.hpp"

#include "sandbox/run_loop.hpp"
#include "sandbox/seccomp_policy.hpp"

#include <algorithm>

namespace regatta::sandbox {

struct runner::impl {
  run_loop loop;
  regatta::sandbox::level level = level::none;
};

namespace {

std::string refusal(level found, level required, const std::vector<std::string>& obstacles) {
  auto text = "sandbox level " + to_string(found) + " found, " + to_string(required) + " required";
  for (const auto& obstacle : obstacles) {
    text += "\n  " + obstacle;
  }
  if (found > level::none && found < required) {
    text += "\n  --require-level " + to_string(found) + " says that this is enough (sandbox/README.md: what holds where)";
  }
  if (found == level::none) {
    text += "\n  --allow-unsandboxed runs candidates with your own rights instead; only for code that you trust";
  }
  return text;
}

/// The cgroups of this level; one lower if the host refuses the limits after all.
level settle_level(level wanted, run_loop_config& loop, std::string& why_not_full) {
  if (wanted == level::full) {
    loop.cgroups = cgroup_tree::open(true, why_not_full);
    if (loop.cgroups) {
      return level::full;
    }
    wanted = level::namespaced;
  }
  if (wanted == level::namespaced) {
    std::string ignored;  // without limits it only makes killing faster
    loop.cgroups = cgroup_tree::open(false, ignored);
  }
  return wanted;
}

}  // namespace

runner::runner() : impl_(std::make_unique<impl>()) {}

runner::~runner() = default;

std::unique_ptr<runner> runner::open(const runner_config& config, const host_facts& facts, std::string& error) {
  run_loop_config loop;
  auto obstacles = facts.obstacles;
  std::string why_not_full;
  const auto found = settle_level(attainable(facts, config.at_most), loop, why_not_full);
  if (!why_not_full.empty()) {
    obstacles.push_back(why_not_full);
  }
  if (found == level::none && !config.allow_unsandboxed) {
    error = refusal(found, std::max(config.require, level::namespaced), obstacles);
    return nullptr;
  }
  if (found < config.require && !(found == level::none && config.allow_unsandboxed)) {
    error = refusal(found, config.require, obstacles);
    return nullptr;
  }
  loop.walls = confinement_for(found, facts);
  loop.allow_warm = config.allow_warm;
  loop.slots = std::min(config.slots, slot_uids::block_size);
  loop.forker_path = config.forker_path.empty() ? find_forker() : config.forker_path;
  if (loop.forker_path.empty()) {
    error = "regatta-sandbox was not found beside this program nor on PATH";
    return nullptr;
  }
  if (loop.walls.host_view) {
    loop.host_filter = bytes_of(build_host_filter(loop.walls.slot_uid, loop.walls.landlock_abi, error));
    if (loop.host_filter.empty()) {
      return nullptr;
    }
  }
  if (loop.walls.slot_uid) {
    loop.uids = slot_uids::acquire(error);
    if (!loop.uids) {
      return nullptr;
    }
  }
  std::unique_ptr<runner> made{new runner};
  made->impl_->level = found;
  return made->impl_->loop.open(std::move(loop), error) ? std::move(made) : nullptr;
}

run_handle runner::start(run_spec spec, std::function<void(run_result)> done) {
  spec.is_interactive = false;
  return impl_->loop.start(std::move(spec), {{}, std::move(done)});
}

run_handle runner::start_interactive(run_spec spec, std::function<void(std::string_view)> on_stdout,
                                     std::function<void(run_result)> done) {
  spec.is_interactive = true;
  return impl_->loop.start(std::move(spec), {std::move(on_stdout), std::move(done)});
}

void runner::write(run_handle run, std::string bytes) {
  impl_->loop.write(run, std::move(bytes));
}

void runner::cancel(run_handle run) {
  impl_->loop.cancel(run);
}

level runner::obtained() const {
  return impl_->level;
}

std::uint32_t runner::running() const {
  return impl_->loop.running();
}

}  // namespace regatta::sandbox
