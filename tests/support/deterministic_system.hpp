// SPDX-License-Identifier: Apache-2.0
/// \file
/// An actor system with one thread and a clock that moves only when told to.
#pragma once

#include "messages/opaque.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/expected.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <type_traits>
#include <utility>
#include <vector>

namespace regatta::test {

class deterministic_system {
public:
  deterministic_system() = default;
  deterministic_system(const deterministic_system&) = delete;
  deterministic_system& operator=(const deterministic_system&) = delete;
  ~deterministic_system() {
    for (auto& actor : spawned_) {
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    }
    sched.run();
  }

  /// Spawns an actor that the fixture ends when it goes out of scope.
  template <class... Ts>
  auto spawn(Ts&&... xs) {
    auto handle = sys.spawn(std::forward<Ts>(xs)...);
    spawned_.push_back(caf::actor_cast<caf::strong_actor_ptr>(handle));
    sched.run();
    return handle;
  }

  /// Sends `msg`, runs every pending message, and returns the reply.
  template <class Reply, class Handle, class Message>
  caf::expected<Reply> ask(const Handle& to, Message msg) {
    caf::scoped_actor from{sys};
    caf::expected<Reply> result{caf::sec::request_timeout};
    // The test clock decides when time passes; a real time-out here could only hide a lost reply.
    auto pending = from->request(to, caf::infinite, std::move(msg));
    sched.run();
    if (!from->has_next_message()) {
      return result;
    }
    const auto on_error = [&](caf::error& e) { result = std::move(e); };
    if constexpr (std::is_void_v<Reply>) {
      pending.receive([&] { result = caf::expected<void>{}; }, on_error);
    } else {
      pending.receive([&](Reply& x) { result = std::move(x); }, on_error);
    }
    return result;
  }

  template <class Handle, class Message>
  void tell(const Handle& to, Message msg) {
    caf::anon_send(to, std::move(msg));
    sched.run();
  }

  /// Fires only timers that are armed already: a self-rearming tick needs steps no longer than its period.
  void advance(caf::timespan by) {
    sched.advance_time(by);
    sched.run();
  }

private:
  struct config : caf::actor_system_config {
    config() {
      set("scheduler.policy", caf::atom("testing"));
      set("logger.file-verbosity", caf::atom("quiet"));
    }
  };
  config cfg_;

public:
  caf::actor_system sys{cfg_};
  caf::scheduler::test_coordinator& sched = dynamic_cast<caf::scheduler::test_coordinator&>(sys.scheduler());

private:
  std::vector<caf::strong_actor_ptr> spawned_;
};

}  // namespace regatta::test
