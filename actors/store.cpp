// SPDX-License-Identifier: Apache-2.0
#include "actors/store.hpp"

#include "actors/store_clock.hpp"
#include "actors/store_journal.hpp"
#include "actors/store_owner.hpp"
#include "actors/store_schema.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

namespace regatta {

namespace {

/// Something to write may wait; `number` tells a current tick from an old one.
struct flush_tick {
  std::uint64_t number = 0;
  REGATTA_MESSAGE(flush_tick, number);
};
/// The owner's sign of life in the table `races`.
struct beat_tick {
  std::uint64_t number = 0;
  REGATTA_MESSAGE(beat_tick, number);
};
/// Lands behind all that was in the mailbox when it was sent: their transaction is one.
struct ledger_tick {
  std::uint64_t number = 0;
  REGATTA_MESSAGE(ledger_tick, number);
};
/// Comes after everything that was sent before the exit message, which overtakes ordinary messages.
struct last_flush {
  std::uint32_t exit_code = 0;
  REGATTA_MESSAGE(last_flush, exit_code);
};

/// A full disk is asked again at this pace; no work is lost by asking, only time. Judgement.
constexpr std::chrono::milliseconds retry_delay{1'000};
/// Readers call an owner silent after a few of these.
constexpr std::chrono::seconds beat_interval{5};

/// Questions in one transaction at most: what they write must not keep other processes waiting. Judgement.
constexpr std::size_t most_questions = 1'024;
/// How long a question waits for a database that another process has locked; the asker's own limit is
/// `ledger_timeout`, so it hears why.
constexpr std::chrono::seconds locked_patience{20};

using store_shell = ledger_store_actor::extend<caf::reacts_to<flush_tick>, caf::reacts_to<beat_tick>,
                                               caf::reacts_to<ledger_tick>, caf::reacts_to<last_flush>>;

struct waiting_question {
  ledger_question question;
  std::variant<caf::typed_response_promise<call_opened>, caf::typed_response_promise<call_closed>> promise;
  std::chrono::steady_clock::time_point since;

  void deliver(ledger_answer answer);
};

void waiting_question::deliver(ledger_answer answer) {
  std::visit(
      [&]<class T>(caf::typed_response_promise<T>& to) {
        if (auto* good = std::get_if<T>(&answer)) {
          to.deliver(std::move(*good));
        } else if (auto* bad = std::get_if<caf::error>(&answer)) {
          to.deliver(std::move(*bad));
        } else {
          to.deliver(fail(ec::internal, "the ledger answered another question"));
        }
      },
      promise);
}

struct store_state {
  store_state() = default;

  void note(const std::string& text) const {
    if (config.on_note) {
      config.on_note(text);
    }
  }
  /// Tells once when trouble begins, and once when it is over.
  void observe(const caf::error& error) {
    if (error && !is_in_trouble) {
      note("the store cannot write and keeps events in memory: " + describe(error));
    } else if (!error && is_in_trouble) {
      note("the store writes again");
    }
    is_in_trouble = static_cast<bool>(error);
  }
  void flush() {
    journal->flush(utc_now_us());
    observe(journal->trouble());
  }

  static inline const char* name = "store";
  store_config config;
  std::unique_ptr<store_journal> journal;
  std::vector<waiting_question> questions;
  bool is_ledger_armed = false;
  std::uint64_t tick = 0;  ///< Number of the armed flush_tick.
  bool is_armed = false;
  bool is_in_trouble = false;
};

using store_pointer = store_shell::stateful_pointer<store_state>;

void arm(store_pointer self) {
  auto& state = self->state;
  if (state.is_armed || !state.journal->has_work()) {
    return;
  }
  state.is_armed = true;
  self->delayed_send(self, state.is_in_trouble ? retry_delay : state.config.batch_delay, flush_tick{++state.tick});
}

void on_event(store_pointer self, const event& x) {
  auto& state = self->state;
  // While the disk is full, only the retry tick and `commit` try, not every batch.
  if (state.journal->add(x) && !state.is_in_trouble) {
    state.flush();
  }
  arm(self);
}

void on_flush_tick(store_pointer self, const flush_tick& x) {
  auto& state = self->state;
  if (x.number != state.tick) {
    return;
  }
  state.is_armed = false;
  state.flush();
  arm(self);
}

/// All that waits, in one transaction. What finds the database locked by another process goes on waiting.
void answer_questions(store_pointer self) {
  auto& state = self->state;
  state.is_ledger_armed = false;
  std::vector<ledger_question> asked;
  const auto count = std::min(state.questions.size(), most_questions);
  for (std::size_t i = 0; i < count; ++i) {
    asked.push_back(state.questions[i].question);
  }
  auto answers = state.journal->write(asked, utc_now_us());
  const bool was_locked = state.journal->trouble() && state.journal->was_locked();
  const auto now = std::chrono::steady_clock::now();
  std::vector<waiting_question> left;
  for (std::size_t i = 0; i < state.questions.size(); ++i) {
    auto& x = state.questions[i];
    if (i >= count || (was_locked && now - x.since < locked_patience)) {
      left.push_back(std::move(x));
    } else {
      x.deliver(std::move(answers[i]));
    }
  }
  state.questions = std::move(left);
  state.journal->write_files();
  state.observe(state.journal->trouble());
  if (!state.questions.empty()) {
    state.is_ledger_armed = true;
    self->delayed_send(self, was_locked ? retry_delay : std::chrono::milliseconds{0}, ledger_tick{});
  }
  arm(self);
}

template <class Answer, class Question>
caf::typed_response_promise<Answer> on_question(store_pointer self, const Question& x) {
  auto& state = self->state;
  auto promise = self->make_response_promise<Answer>();
  state.questions.push_back({x, promise, std::chrono::steady_clock::now()});
  if (!state.is_ledger_armed) {
    state.is_ledger_armed = true;
    self->send(self, ledger_tick{});
  }
  return promise;
}

caf::result<committed> on_commit(store_pointer self, const commit& x) {
  auto& state = self->state;
  auto answer = state.journal->on_commit(x, utc_now_us());
  state.observe(state.journal->trouble());
  arm(self);
  if (!answer) {
    return std::move(answer.error());
  }
  return std::move(*answer);
}

void on_beat(store_pointer self) {
  // A beat that the disk refuses is not worth a word; events will tell.
  static_cast<void>(self->state.journal->beat(utc_now_us()));
  self->delayed_send(self, beat_interval, beat_tick{});
}

store_shell::behavior_type store_behavior(store_pointer self, const store_config& config,
                                          const std::shared_ptr<std::unique_ptr<store_journal>>& journal) {
  self->state.config = config;
  self->state.journal = std::move(*journal);
  self->set_exit_handler([self](const caf::exit_msg&) { self->send(self, last_flush{}); });
  self->delayed_send(self, beat_interval, beat_tick{});
  return {
      [self](const event& x) { on_event(self, x); },
      [self](const commit& x) { return on_commit(self, x); },
      [self](const open_call& x) { return on_question<call_opened>(self, x); },
      [self](const close_call& x) { return on_question<call_closed>(self, x); },
      [self](const flush_tick& x) { on_flush_tick(self, x); },
      [self](const beat_tick&) { on_beat(self); },
      [self](const ledger_tick&) { answer_questions(self); },
      [self](const last_flush&) {
        answer_questions(self);
        self->quit();
      },
  };
}

}  // namespace

caf::expected<ledger_store_actor> spawn_store(caf::actor_system& system, const store_config& config) {
  auto opened = open_store(config.state_dir);
  if (!opened) {
    return std::move(opened.error());
  }
  if (config.on_note && !opened->note.empty()) {
    config.on_note(opened->note);
  }
  store_writer writer{std::move(opened->db), config.state_dir, this_process()};
  // Behaviours are copied on their way into an actor; what cannot be copied travels in a box.
  auto journal = std::make_shared<std::unique_ptr<store_journal>>(
      std::make_unique<store_journal>(std::move(writer), config.state_dir));
  // Budgets of all must not wait for the dead. On a full disk there is time for it later.
  static_cast<void>((*journal)->settle_dead(utc_now_us()));
  return ledger_store_actor{system.spawn<caf::detached>(store_behavior, config, journal)};
}

}  // namespace regatta
