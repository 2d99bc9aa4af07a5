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
  caf::expected<committed> ask(commit x) { return question<committed>(std::move(x)); }
  caf::expected<call_opened> ask(open_call x) { return question<call_opened>(std::move(x)); }
  caf::expected<call_closed> ask(close_call x) { return question<call_closed>(std::move(x)); }
  const ledger_store_actor& actor() const { return handle; }
  caf::actor_system& system() { return sys; }
  std::vector<std::string> said() {
    const std::lock_guard guard{mutex};
    return notes;
  }

private:
  template <class Answer, class Question>
  caf::expected<Answer> question(Question x) {
    caf::scoped_actor self{sys};
    caf::expected<Answer> answer{caf::sec::request_timeout};
    self->request(handle, std::chrono::seconds{20}, std::move(x))
        .receive([&](Answer& y) { answer = std::move(y); }, [&](caf::error& e) { answer = std::move(e); });
    return answer;
  }

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
  ledger_store_actor handle;
};

/// The question that a gateway asks before the `prompt_sent` goes out.
inline open_call opening(const race_id& race, const prompt_sent& x) {
  open_call out;
  out.race = race;
  out.worker = x.worker;
  out.round = x.round;
  out.attempt = x.attempt;
  out.choice = x.choice;
  out.wire = "responses";
  out.prompt_digest = x.prompt_digest;
  out.reserved = 500;
  out.reserved_tokens = 400;
  return out;
}

/// A token costs one nano-unit.
inline close_call closing(std::uint64_t call, const race_id& race, const reply_ended& x) {
  close_call out;
  out.call = call;
  out.is_answer = true;
  auto& end = out.ended;
  end.race = race;
  end.worker = x.worker;
  end.round = x.round;
  end.attempt = x.attempt;
  end.outcome = x.outcome;
  end.text = x.text;
  end.finish_reason = x.finish_reason;
  end.response_id = x.response_id;
  end.usage = x.usage;
  end.tries = x.tries;
  end.http_status = x.http_status;
  end.first_text = x.first_text;
  end.elapsed = x.elapsed;
  end.charged_tokens = x.usage.input_tokens.value_or(0) + x.usage.output_tokens.value_or(0);
  end.cost = static_cast<nano_units>(end.charged_tokens);
  end.basis = charge_basis::usage;
  return out;
}

/// Books every call of `race` as its gateway would.
inline void pay(running_store& store, const scripted_race& race) {
  std::uint64_t call = 0;
  for (const auto& x : race.events) {
    if (const auto* sent = std::get_if<prompt_sent>(&x.body)) {
      const auto opened = store.ask(opening(race.spec.race, *sent));
      BOOST_REQUIRE_MESSAGE(opened, why(opened));
      call = opened->call;
    } else if (const auto* ended = std::get_if<reply_ended>(&x.body)) {
      const auto closed = store.ask(closing(call, race.spec.race, *ended));
      BOOST_REQUIRE_MESSAGE(closed, why(closed));
    }
  }
}

}  // namespace regatta::test
