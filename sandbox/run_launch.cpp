// SPDX-License-Identifier: Apache-2.0
// The part of the runner's thread that talks to the forker.
#include "sandbox/run_loop.hpp"
#include "sandbox/wire.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace regatta::sandbox {

namespace {

launch_plan make_plan(const run_spec& spec, const run_loop_config& config, std::uint32_t uid) {
  launch_plan plan;
  plan.walls = config.walls;
  plan.filter = config.host_filter;
  plan.uid = uid;
  plan.argv = spec.argv;
  for (const auto& [key, value] : spec.environment) {
    plan.environment.push_back(key + "=" + value);
  }
  plan.files = spec.files;
  plan.readable = spec.readable;
  plan.devices = spec.devices;
  plan.limits = spec.limits;
  plan.has_loopback = spec.has_loopback;
  plan.waits = spec.waits;
  return plan;
}

}  // namespace

bool run_loop::ensure_forker(std::string& error) {
  if (forker_.is_up()) {
    return true;
  }
  const auto groups = config_.cgroups ? config_.cgroups->duties() : std::vector<std::string>{};
  return forker_.start(config_.forker_path, groups, error) && watch(forker_.channel(), source::forker, 0);
}

void run_loop::launch(std::unique_ptr<active_run> owned) {
  auto& run = *owned;
  runs_.emplace(run.id, std::move(owned));
  std::string reason = active_run::refusal_of(run.spec);
  const auto free = std::find(slots_taken_.begin(), slots_taken_.end(), false);
  if (reason.empty() && free == slots_taken_.end()) {
    reason = "all " + std::to_string(config_.slots) + " slots are taken";
  }
  if (reason.empty() && !run.ender->reason()) {
    run.slot = static_cast<std::uint32_t>(free - slots_taken_.begin());
    *free = true;
    dispatch(run);
    return;
  }
  if (!reason.empty()) {
    run.fail(reason);
  }
  conclude(run);
}

/// To a zygote, to the forker, or not yet.
void run_loop::dispatch(active_run& run) {
  if (!has_devices_alone(run)) {
    waiting_.push_back(run.id);
    return;
  }
  if (run.why_cold.empty() && take_ready(run)) {
    return;
  }
  const auto advice = choose_zygote(run);
  if (advice == zygote_book::advice::wait) {
    waiting_.push_back(run.id);
    return;
  }
  if (advice == zygote_book::advice::use) {
    send_warm(run);
    return;
  }
  std::vector<unique_fd> descriptors;
  std::string reason;
  if (!prepare(run, descriptors)) {
    reason = std::string{"descriptors or cgroup: "} + std::strerror(errno);
  } else {
    send_cold(run, std::move(descriptors), reason);
  }
  if (!reason.empty()) {
    run.fail(reason);
    conclude(run);
  }
}

void run_loop::send_warm(active_run& run) {
  std::vector<unique_fd> descriptors;
  if (!prepare(run, descriptors)) {
    run.fail(std::string{"descriptors or cgroup: "} + std::strerror(errno));
    conclude(run);
    return;
  }
  if (!run.spec.waits) {
    keep_spare(run, descriptors);
  }
  const auto zygote = *run.zygote;
  zygotes_.link(zygote).send(run.request, std::move(descriptors));
  if (!zygotes_.link(zygote).is_up()) {
    on_zygote_down(zygote, "it hung up");
  }
}

bool run_loop::send_cold(active_run& run, std::vector<unique_fd> descriptors, std::string& reason) {
  if (!ensure_forker(reason)) {
    return false;
  }
  forker_.send(run.request, std::move(descriptors));
  if (!forker_.is_up()) {
    on_forker_down({});
  }
  return true;
}

/// The run's standard streams: its own ends, and ours watched.
bool run_loop::make_ends(active_run& run, unique_fd& in, unique_fd& out, unique_fd& err) {
  if (!make_pipe(run.err, err)) {
    return false;
  }
  if (run.spec.standard_out) {
    out = std::move(*run.spec.standard_out);
  } else if (!make_pipe(run.out, out)) {
    return false;
  }
  if (run.spec.is_interactive) {
    if (!make_pipe(in, run.in) || !set_nonblocking(run.in.get()) || !watch(run.in.get(), source::in, run.id, true)) {
      return false;
    }
  } else if (run.spec.standard_in) {
    in = std::move(*run.spec.standard_in);
  } else {
    in.reset(::dup(null_.get()));
  }
  run.has_ends = true;
  for (const auto* fd : {&run.out, &run.err}) {
    if (*fd && !set_nonblocking(fd->get())) {
      return false;
    }
  }
  return in && out && (!run.out || watch(run.out.get(), source::out, run.id)) &&
         watch(run.err.get(), source::err, run.id);
}

bool run_loop::prepare(active_run& run, std::vector<unique_fd>& descriptors) {
  auto& request = run.request;
  unique_fd control, in, out, err;
  if (!make_socket_pair(run.control, control) || !set_nonblocking(run.control.get()) || !make_ends(run, in, out, err)) {
    return false;
  }
  const auto uid = config_.uids ? config_.uids->uid_of(*run.slot) : 0;
  auto plan = make_memory_file(encode(make_plan(run.spec, config_, uid)));
  if (!plan || !watch(run.control.get(), source::control, run.id)) {
    return false;
  }
  if (config_.cgroups && !config_.cgroups->make_leaf(run.id, run.spec.limits, run.leaf)) {
    return false;
  }
  request.run = run.id;
  request.clone_flags = namespace_flags(config_.walls);
  request.has_cgroup = run.leaf.v2_folder ? 1 : 0;
  request.procs_files = static_cast<std::uint32_t>(run.leaf.procs_files.size());
  for (auto* fd : {&plan, &control, &in, &out, &err}) {
    descriptors.push_back(std::move(*fd));
  }
  if (run.leaf.v2_folder) {
    descriptors.push_back(std::move(run.leaf.v2_folder));
  }
  for (auto& file : run.leaf.procs_files) {
    descriptors.push_back(std::move(file));
  }
  run.leaf.procs_files.clear();
  return true;
}

void run_loop::on_forker() {
  forker_.send_more();
  while (auto reply = forker_.receive()) {
    on_reply(std::move(*reply));
  }
  if (!forker_.is_up()) {
    on_forker_down({});
  }
}

void run_loop::on_reply(forker_link::reply reply) {
  const auto found = runs_.find(reply.run);
  if (found == runs_.end()) {
    return;
  }
  auto& run = *found->second;
  if (reply.error == nothing_left) {
    conclude(run);
    return;
  }
  if (reply.error == unfit_to_fork && run.zygote) {
    on_zygote_unfit(run);
    return;
  }
  const int pidfd = reply.pidfd.get();
  if (reply.error != 0 || !watch(pidfd, source::pidfd, run.id)) {
    run.fail(std::string{"clone: "} + std::strerror(reply.error != 0 ? reply.error : errno));
    conclude(run);
    return;
  }
  run.is_armed = true;
  run.spare.clear();
  const int signal = config_.walls.namespaces ? SIGKILL : SIGTERM;
  if (run.ender->arm(std::move(reply.pidfd), std::move(run.leaf.kill), signal)) {
    ::send(run.control.get(), &go_byte, 1, MSG_NOSIGNAL);
  }
}

/// With a pid namespace the tree is gone then. Without one it is if that process said so; if it was killed (the kernel's
/// OOM killer, a stranger), its tree has become the forker's, which ends it.
void run_loop::on_first_process_end(active_run& run) {
  run.read_records();
  if (config_.walls.namespaces || run.is_known_gone() || !forker_.is_up()) {
    conclude(run);
    return;
  }
  run.ender->disarm();
  run.is_asked_for = true;
  launch_request question;
  question.run = run.id;
  question.is_question = 1;
  forker_.send(question, {});
  if (!forker_.is_up()) {
    on_forker_down({});
  }
}

/// Runs that have a pidfd end by it: their pid 1 dies with the forker (or zygote). The others never got their go.
void run_loop::on_forker_down(std::optional<zygote_book::id> zygote) {
  std::vector<run_handle> lost;
  for (const auto& [id, run] : runs_) {
    const bool is_waiting = std::find(waiting_.begin(), waiting_.end(), id) != waiting_.end();
    const bool is_lost = !run->is_armed || (run->is_asked_for && !zygote);
    if (is_lost && run->zygote == zygote && !is_waiting) {
      lost.push_back(id);
    }
  }
  for (const auto id : lost) {
    auto& run = *runs_.at(id);
    if (!run.is_asked_for) {
      run.fail(zygote ? "the zygote died before the start" : "the forker died before the start");
    }
    conclude(run);
  }
}

}  // namespace regatta::sandbox
