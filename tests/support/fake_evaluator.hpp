// SPDX-License-Identifier: Apache-2.0
/// \file
/// An evaluator that knows a candidate's fate by a word in it, and a source checker that takes anything.
///
/// `pass`, `fail`, `hang` (until cancelled), `broken_sandbox` (sandbox_failed), `flaky` (the first attempt only),
/// `silent` (no word ever, not even when cancelled), `kill_evaluator`.
#pragma once

#include "messages/node_handles.hpp"

#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>
#include <string>
#include <vector>

namespace regatta::test {

/// Seen by the test, for all evaluators of a race house.
struct evaluator_log {
  std::vector<run> asked;
  std::uint32_t cancelled_runs = 0;
  std::vector<cancel_runs> cancels;
};

struct fake_evaluator_state {
  fake_evaluator_state() {}
  static inline const char* name = "fake-evaluator";
  std::vector<run> held;
};

inline run_ended ended_as(const run& msg, outcome how, claim said = claim::none) {
  run_ended out{msg.race, msg.worker, msg.round, msg.attempt, {}};
  out.result.outcome = how;
  out.result.claim = said;
  out.result.exit_code = how == outcome::exited ? 0 : 1;
  out.result.reason = how == outcome::exited ? "exit status 0" : "ended as " + to_string(how);
  out.result.stdout_text = "out of " + to_string(msg.worker);
  out.result.stderr_text = "err of " + to_string(msg.worker);
  return out;
}

inline evaluator_actor::behavior_type fake_evaluator(evaluator_actor::stateful_pointer<fake_evaluator_state> self,
                                                     const std::shared_ptr<evaluator_log>& log,
                                                     const run_sink_actor& sink) {
  const auto has = [](const run& msg, const char* word) { return msg.code.find(word) != std::string::npos; };
  const auto end = [=](const run& msg) {
    if (has(msg, "pass")) {
      self->send(sink, ended_as(msg, outcome::exited, claim::sentinel));
    } else if (has(msg, "broken_sandbox") || (has(msg, "flaky") && msg.attempt == 1)) {
      self->send(sink, ended_as(msg, outcome::sandbox_failed));
    } else if (has(msg, "kill_evaluator")) {
      self->quit(caf::exit_reason::unhandled_exception);
    } else if (has(msg, "hang") || has(msg, "silent")) {
      self->state.held.push_back(msg);
    } else {
      self->send(sink, ended_as(msg, outcome::exited_nonzero));
    }
  };
  return {
      [=](const run& msg) {
        log->asked.push_back(msg);
        if (!has(msg, "silent")) {
          self->send(sink, run_progress{msg.race, msg.worker, msg.round, msg.attempt, true, 0, "cpu-0"});
        }
        end(msg);
        return accepted{"fake"};
      },
      [=](const cancel_runs& msg) {
        log->cancels.push_back(msg);
        runs_signalled out{msg.race, 0, 0};
        std::erase_if(self->state.held, [&](const run& x) {
          const bool is_meant = x.race == msg.race && (msg.worker.empty() || x.worker == msg.worker);
          out.running += is_meant ? 1 : 0;
          if (is_meant && !has(x, "silent")) {
            ++log->cancelled_runs;
            self->send(sink, ended_as(x, outcome::cancelled));
          }
          return is_meant;
        });
        return out;
      },
  };
}

/// `syntax_error` in a text does not parse; everything else does and defines nothing.
struct fake_checker_state {
  fake_checker_state() {}
  static inline const char* name = "fake-checker";
};

inline source_checker_actor::behavior_type fake_checker(source_checker_actor::stateful_pointer<fake_checker_state>,
                                                        std::uint32_t) {
  return {
      [](const check_source& msg) {
        source_report out;
        for (const auto& text : msg.texts) {
          const bool is_bad = text.find("syntax_error") != std::string::npos;
          out.facts.push_back({!is_bad, is_bad ? "line 1: invalid syntax" : "", {}, false});
        }
        return out;
      },
  };
}

}  // namespace regatta::test
