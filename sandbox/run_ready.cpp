// SPDX-License-Identifier: Apache-2.0
// The part of the runner's thread that keeps processes ready for runs, and hands runs to them.
#include "sandbox/run_loop.hpp"
#include "sandbox/wire.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace regatta::sandbox {

namespace {

// What a waiting process says (sandbox/python/zygote.py).
constexpr std::string_view ready_word = "ready";
constexpr std::string_view taken_word = "taken";

/// Program and arguments as one message.
std::string order_for(const std::vector<std::string>& argv) {
  std::string text;
  for (const auto& argument : argv) {
    text += (text.empty() ? "" : std::string(1, '\0')) + argument;
  }
  return text;
}

}  // namespace

/// True if it may start: nothing that waits, and nothing that gives way, is on its devices any more.
bool run_loop::has_devices_alone(active_run& run) {
  if (!run.spec.is_alone || run.spec.devices.empty()) {
    return true;
  }
  if (!run.holds_alone) {
    run.holds_alone = true;
    ready_.claim_alone(run.spec.devices);
  }
  auto in_the_way = ready_.on(run.spec.devices);
  for (const auto& [id, other] : runs_) {
    if (other->spec.gives_way && share_a_gpu(other->spec.devices, run.spec.devices)) {
      in_the_way.push_back(id);
    }
  }
  for (const auto id : in_the_way) {
    if (const auto found = runs_.find(id); found != runs_.end()) {
      found->second->ender->order(kill_reason::cancelled);
    }
  }
  return in_the_way.empty();
}

/// Hands the run to a process that waits for its like, if there is one.
bool run_loop::take_ready(active_run& run) {
  const auto key = ready_key_of(run.spec);
  if (key.empty()) {
    return false;
  }
  ready_.want(key, run.spec, active_run::clock::now());
  while (const auto id = ready_.take(key)) {
    auto& waiting = *runs_.at(id);
    if (!waiting.ender->reason() && waiting.link) {
      hand_over(waiting, run);
      return true;
    }
    waiting.ender->order(kill_reason::cancelled);
  }
  return false;
}

void run_loop::hand_over(active_run& waiting, active_run& run) {
  unique_fd in, out, err;
  std::string problem;
  if (!make_ends(run, in, out, err)) {
    problem = "no descriptors";
  }
  if (config_.uids && problem.empty()) {
    const auto uid = config_.uids->uid_of(*waiting.slot);
    for (const auto* end : {&out, &err}) {
      problem = ::fchown(end->get(), uid, uid) == 0 ? problem : "chown output";
    }
  }
  problem = problem.empty() ? waiting.put_files(run.spec.files) : problem;
  const auto words = order_for(run.spec.argv);
  if (problem.empty() && !send_message(waiting.link.get(), words.data(), words.size(), {in.get(), out.get(), err.get()})) {
    problem = std::strerror(errno);
  }
  const wall_order limit{wall_order_byte, {}, run.spec.limits.wall.count()};
  if (problem.empty() && ::send(waiting.control.get(), &limit, sizeof limit, MSG_NOSIGNAL) < 0) {
    problem = std::strerror(errno);
  }
  if (!problem.empty()) {
    waiting.ender->order(kill_reason::cancelled);
    run.fail("the process that waited for it could not be used: " + problem);
    conclude(run);
    return;
  }
  adopt(waiting, run);
}

/// From now on it is the run's process, and the waiting one is forgotten.
void run_loop::adopt(active_run& waiting, active_run& run) {
  slots_taken_[*run.slot] = false;
  auto [pidfd, group] = waiting.ender->hand_over();
  run.take_over(waiting);
  rewatch(run.control.get(), source::control, run.id);
  rewatch(run.link.get(), source::ready, run.id);
  rewatch(pidfd.get(), source::pidfd, run.id);
  run.ender->arm(std::move(pidfd), std::move(group), SIGKILL);
  const auto gone = waiting.id;
  runs_.erase(gone);
  const std::lock_guard lock{mutex_};
  enders_.erase(gone);
  --waiting_count_;
}

void run_loop::on_ready_word(active_run& run) {
  char word[16];
  received message;
  while (run.link && receive_message(run.link.get(), word, sizeof word, message)) {
    const std::string_view said{word, message.size};
    if (said == ready_word) {
      ready_.on_ready(run.id);
    } else {
      run.has_begun = run.has_begun || said == taken_word;
      run.link.reset();  // it has said all, or is gone
    }
  }
}

/// Every turn.
void run_loop::keep_ready() {
  const auto now = active_run::clock::now();
  const auto orders = ready_.due(now);
  for (const auto id : orders.to_end) {
    if (const auto found = runs_.find(id); found != runs_.end()) {
      found->second->ender->order(kill_reason::cancelled);
    }
  }
  for (const auto& key : orders.to_start) {
    if (!start_waiting(key)) {
      break;
    }
  }
}

/// False if it has to be tried again later.
bool run_loop::start_waiting(const std::string& key) {
  const auto now = active_run::clock::now();
  const auto free = std::find(slots_taken_.begin(), slots_taken_.end(), false);
  if (free == slots_taken_.end()) {
    return false;
  }
  auto spec = ready_.like(key);
  const auto answer = zygotes_.ask(spec, now);
  if (answer.what != zygote_book::advice::use) {
    return false;
  }
  auto theirs = std::make_shared<unique_fd>();
  unique_fd ours;
  if (!make_socket_pair(ours, *theirs) || !set_nonblocking(ours.get())) {
    zygotes_.on_run_end(answer.zygote, now);
    return false;
  }
  spec.standard_in = theirs;
  auto ender = std::make_shared<kill_switch>();
  std::uint64_t id = 0;
  {
    const std::lock_guard lock{mutex_};
    if (is_stopping_) {
      zygotes_.on_run_end(answer.zygote, now);
      return false;
    }
    id = ++last_;
    enders_.emplace(id, ender);
    ++waiting_count_;
  }
  const auto forget = [this, id](const run_result&) {
    ready_.on_end(id, active_run::clock::now());
    const std::lock_guard lock{mutex_};
    --waiting_count_;
  };
  auto& run = *runs_.emplace(id, std::make_unique<active_run>(id, std::move(spec), active_run::callbacks{{}, forget}, ender))
                   .first->second;
  run.zygote = answer.zygote;
  run.link = std::move(ours);
  run.slot = static_cast<std::uint32_t>(free - slots_taken_.begin());
  *free = true;
  ready_.on_started(id, key, now);
  if (!watch(run.link.get(), source::ready, id)) {
    run.fail("epoll");
    conclude(run);
    return false;
  }
  send_warm(run);
  return true;
}

}  // namespace regatta::sandbox
