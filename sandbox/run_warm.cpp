// SPDX-License-Identifier: Apache-2.0
// The part of the runner's thread that starts runs warm.
#include "sandbox/run_loop.hpp"

#include <fcntl.h>

#include <algorithm>
#include <utility>

namespace regatta::sandbox {

void run_loop::open_zygotes() {
  auto files = find_zygote_files();
  if (!config_.allow_warm) {
    files.problem = "switched off";
  } else if (!config_.walls.namespaces) {
    files.problem = "warm starts need sandbox level L3, this is " + to_string(config_.walls.level);
  }
  zygotes_.open(std::move(files), [this](int channel, zygote_book::id zygote) {
    return watch(channel, source::zygote, zygote);
  });
}

zygote_book::advice run_loop::choose_zygote(active_run& run) {
  const auto now = active_run::clock::now();
  if (!run.why_cold.empty()) {
    return zygote_book::advice::cold;  // refused once
  }
  auto answer = zygotes_.ask(run.spec, now);
  if (answer.what == zygote_book::advice::wait && now - run.asked_at() >= zygotes_.patience()) {
    answer = {zygote_book::advice::cold, 0, "its zygote takes too long to come up", false};
  }
  if (answer.what == zygote_book::advice::use) {
    run.zygote = answer.zygote;
  }
  run.why_cold = answer.why_cold;
  return answer.what;
}

/// Without descriptors to spare a refused run fails as if the forker had refused it.
void run_loop::keep_spare(active_run& run, const std::vector<unique_fd>& descriptors) {
  for (const auto& fd : descriptors) {
    run.spare.emplace_back(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!run.spare.back()) {
      run.spare.clear();
      return;
    }
  }
}

void run_loop::on_zygote(zygote_book::id zygote) {
  if (!zygotes_.is_known(zygote)) {
    return;
  }
  zygotes_.link(zygote).send_more();
  while (zygotes_.is_known(zygote)) {
    auto reply = zygotes_.link(zygote).receive();
    if (!reply) {
      break;
    }
    if (reply->run == 0) {
      zygotes_.on_hello(zygote, *reply, active_run::clock::now());
    } else {
      on_reply(std::move(*reply));
    }
  }
  if (zygotes_.is_known(zygote) && !zygotes_.link(zygote).is_up()) {
    on_zygote_down(zygote, "it died");
  }
}

void run_loop::on_zygote_unfit(active_run& run) {
  const auto now = active_run::clock::now();
  zygotes_.on_unfit(*run.zygote, now);
  zygotes_.on_run_end(*run.zygote, now);
  run.zygote.reset();
  run.why_cold = "its zygote could not fork: threads or a device";
  std::string reason = run.spare.empty() ? "the zygote could not fork" : "";
  if (!reason.empty() || !send_cold(run, std::exchange(run.spare, {}), reason)) {
    run.fail(reason);
    conclude(run);
  }
}

void run_loop::on_zygote_down(zygote_book::id zygote, const std::string& why) {
  zygotes_.on_down(zygote, why, active_run::clock::now());
  on_forker_down(zygote);
}

/// Every turn: a zygote may have come up or failed, patience or the run itself ended.
void run_loop::look_at_waiting() {
  zygotes_.tend(active_run::clock::now());
  for (const auto id : std::exchange(waiting_, {})) {
    const auto found = runs_.find(id);
    if (found == runs_.end()) {
      continue;
    }
    if (found->second->ender->reason()) {
      conclude(*found->second);
    } else {
      dispatch(*found->second);
    }
  }
}

}  // namespace regatta::sandbox
