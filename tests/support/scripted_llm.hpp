// SPDX-License-Identifier: Apache-2.0
/// \file
/// An LLM gateway that answers from a script, at once, or holds a call until it is withdrawn.
#pragma once

#include "messages/coordinator_handles.hpp"
#include "messages/error.hpp"

#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace regatta::test {

/// What one call comes to.
struct llm_answer {
  enum class how : std::uint8_t { ends, holds, is_silent } does = how::ends;
  llm_outcome outcome = llm_outcome::replied;
  std::string text;
  std::string error;
};
inline llm_answer says(std::string text) {
  return {llm_answer::how::ends, llm_outcome::replied, std::move(text), {}};
}
inline llm_answer says_code(const std::string& code) {
  return says("```python\n" + code + "\n```\n");
}
inline llm_answer fails_with(llm_outcome how, std::string error = "scripted") {
  return {llm_answer::how::ends, how, {}, std::move(error)};
}
inline llm_answer holds() {
  return {llm_answer::how::holds, llm_outcome::cancelled, {}, {}};
}
inline llm_answer stays_silent() {
  return {llm_answer::how::is_silent, llm_outcome::cancelled, {}, {}};
}

struct llm_script {
  std::function<llm_answer(const prompt&)> answer;
  std::vector<prompt> asked;  ///< Every `prompt` that came, repeated ones too.
  std::uint32_t withdrawn = 0;
};

struct scripted_llm_state {
  scripted_llm_state() {}
  static inline const char* name = "scripted-llm";
  std::vector<prompt> held;
};

inline prompt_ended ended_as(const prompt& msg, const llm_answer& x) {
  prompt_ended out;
  out.race = msg.race;
  out.worker = msg.worker;
  out.round = msg.round;
  out.attempt = msg.attempt;
  out.outcome = x.outcome;
  out.text = x.text;
  out.finish_reason = "stop";
  out.error = x.error;
  out.tries = 1;
  out.usage.input_tokens = 10;
  out.usage.output_tokens = x.text.size();
  return out;
}

inline llm_gateway_actor::behavior_type scripted_llm(llm_gateway_actor::stateful_pointer<scripted_llm_state> self,
                                                     const std::shared_ptr<llm_script>& script,
                                                     const prompt_sink_actor& sink) {
  return {
      [=](const prompt& msg) {
        script->asked.push_back(msg);
        const auto x = script->answer(msg);
        if (x.does == llm_answer::how::ends) {
          self->send(sink, prompt_progress{msg.race, msg.worker, msg.round, msg.attempt, prompt_phase::sent, 0, 0, ""});
          self->send(sink, prompt_delta{msg.race, msg.worker, msg.round, msg.attempt, x.text});
          self->send(sink, ended_as(msg, x));
        } else if (x.does == llm_answer::how::holds) {
          self->state.held.push_back(msg);
        }
        return accepted{"scripted"};
      },
      [=](const withdraw_prompts& msg) {
        prompts_withdrawn out{msg.race, 0};
        std::erase_if(self->state.held, [&](const prompt& x) {
          const bool is_meant = x.race == msg.race && (msg.worker.empty() || x.worker == msg.worker);
          if (is_meant) {
            ++out.calls;
            self->send(sink, ended_as(x, {llm_answer::how::ends, llm_outcome::cancelled, "", "withdrawn"}));
          }
          return is_meant;
        });
        script->withdrawn += out.calls;
        return out;
      },
  };
}

}  // namespace regatta::test
