// SPDX-License-Identifier: Apache-2.0
/// \file
/// GATEWAY RULES: every call, from `prompt` to its one `prompt_ended`. Plain and clockless: whatever happens comes in
/// with `now`, whatever is to be done comes out as effects.
///
///   prompt -> queued -> running -> ended                (replay: running at once, in its own order)
///               ^          |
///               +-- retry -+   stopping: told to stop, until whoever runs it says that it is closed
#pragma once

#include "actors/llm/llm_call.hpp"
#include "actors/llm/program.hpp"
#include "actors/llm/provider_config.hpp"
#include "actors/llm/provider_queue.hpp"
#include "actors/llm/replay_player.hpp"
#include "actors/llm/transport.hpp"
#include "messages/error.hpp"
#include "messages/race.hpp"

#include <caf/expected.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace regatta {

struct begin_exchange {
  exchange_id id = 0;
  http_request request;
};
struct begin_program {
  program_id id = 0;
  program_spec spec;
};
struct stop_exchange {
  exchange_id id = 0;
};
struct stop_program {
  program_id id = 0;
};
/// Whoever asked by this ticket gets its answer.
struct withdrawal_done {
  std::uint64_t ticket = 0;
  prompts_withdrawn answer;
};
using gateway_effect = std::variant<begin_exchange, begin_program, stop_exchange, stop_program, withdrawal_done,
                                    prompt_progress, prompt_delta, prompt_ended>;

/// A provider as the gateway holds it; `broken`: why it cannot be used (its recording).
struct provider_desk {
  provider_config config;
  provider_queue queue;
  std::unique_ptr<replay_player> player;
  std::string broken;
};

class gateway_rules {
public:
  gateway_rules() = default;
  /// `recordings`: those of `replay` providers by name, read already, or why not.
  gateway_rules(std::vector<provider_config> providers,
                const std::map<std::string, caf::expected<recording>>& recordings, std::uint64_t seed);

  /// Fails: `ec::unknown_provider`, `ec::refused` (its race is withdrawn), `ec::invalid_config` (bad recording).
  caf::expected<accepted> on_prompt(const prompt& ask, moment now);
  void on_withdraw(const withdraw_prompts& msg, std::uint64_t ticket, moment now);
  void on_exchange(exchange_event event, moment now);
  void on_program(program_event event, moment now);
  void on_tick(moment now);

  std::vector<gateway_effect> take_effects() { return std::exchange(effects_, {}); }
  bool has_calls() const { return !calls_.empty(); }

private:
  struct withdrawal {
    std::uint64_t ticket = 0;
    race_id race;
    std::set<call_id> open;
    std::uint32_t calls = 0;
  };
  using worker_key = std::pair<race_id, worker_id>;

  provider_desk& desk_of(const llm_call& call) { return desks_.at(call.provider().name); }
  llm_call* running(std::uint64_t try_id);
  bool is_known(const work_key& key);
  void pump(provider_desk& desk, moment now);
  void start(provider_desk& desk, llm_call& call, moment now);
  void play(provider_desk& desk, moment now);
  void read(llm_call& call, bool is_alive, moment now);
  void watch(llm_call& call, moment now);
  void stop(llm_call& call, std::optional<llm_outcome> as, std::string why, moment now);
  void end_try(llm_call& call, try_result result, moment now);
  bool try_again(llm_call& call, const try_result& result, moment now);
  void end(llm_call& call, try_result result, moment now);
  void tell_progress(llm_call& call, moment now);
  void forget_players(const withdraw_prompts& msg);
  void close_withdrawals(call_id ended);

  std::map<std::string, provider_desk> desks_;
  std::map<call_id, llm_call> calls_;
  std::unordered_map<work_key, call_id> by_key_;
  std::unordered_map<std::uint64_t, call_id> by_try_;
  /// The last answer to each worker, so that a lost message is mended by asking again and not by paying again.
  std::map<worker_key, prompt_ended> last_ended_;
  std::vector<withdrawal> withdrawals_;
  std::set<race_id> withdrawn_races_;
  std::deque<race_id> withdrawn_order_;
  std::vector<gateway_effect> effects_;
  std::uint64_t seed_ = 0;
  std::uint64_t last_id_ = 0;
};

}  // namespace regatta
