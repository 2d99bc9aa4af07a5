// SPDX-License-Identifier: Apache-2.0
/// \file
/// A real store actor over a scratch folder.
#pragma once

#include "actors/store.hpp"
#include "actors/store_reader.hpp"
#include "messages/opaque.hpp"
#include "tests/actors/store/scratch_folder.hpp"
#include "tests/actors/store/scripted_race.hpp"
#include "tests/actors/store/why.hpp"
#include "tests/support/printing.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace regatta::test {

class running_store {
public:
  explicit running_store(const std::string& state_dir) {
    auto spawned = spawn_store(sys, {state_dir, std::chrono::milliseconds{20}, [this](const std::string& text) {
                                       const std::lock_guard guard{mutex};
                                       notes.push_back(text);
                                     }});
    BOOST_REQUIRE_MESSAGE(spawned, why(spawned));
    handle = std::move(*spawned);
  }
  running_store(const running_store&) = delete;
  running_store& operator=(const running_store&) = delete;
  ~running_store() { end(); }

  /// Orderly: what was told before is written.
  void end() {
    if (handle) {
      caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
      caf::scoped_actor self{sys};
      self->wait_for(handle);
      handle = nullptr;
    }
  }
  void tell(const event& x) { caf::anon_send(handle, x); }
  void tell(const scripted_race& race) {
    for (const auto& x : race.events) {
      tell(x);
    }
  }
  caf::expected<committed> ask(commit x) {
    caf::scoped_actor self{sys};
    caf::expected<committed> answer{caf::sec::request_timeout};
    self->request(handle, std::chrono::seconds{20}, std::move(x))
        .receive([&](committed& y) { answer = std::move(y); }, [&](caf::error& e) { answer = std::move(e); });
    return answer;
  }
  std::vector<std::string> said() {
    const std::lock_guard guard{mutex};
    return notes;
  }

private:
  struct config : caf::actor_system_config {
    config() {
      set("scheduler.max-threads", 2U);
      set("logger.file-verbosity", caf::atom("quiet"));
    }
  };
  config cfg_;
  std::mutex mutex;
  std::vector<std::string> notes;
  caf::actor_system sys{cfg_};
  store_actor handle;
};

}  // namespace regatta::test
