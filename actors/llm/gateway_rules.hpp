// SPDX-License-Identifier: Apache-2.0
/// \file
/// GATEWAY RULES: every call, from `prompt` to its one `prompt_ended`. Plain and clockless: whatever happens comes in
/// with `now`, whatever is to be done comes out as effects.
///
///   prompt -> queued -> opening -> running -> closing -> ended       (replay: opening at once, in its own order)
///               ^          |          |          |
///               |          |      stopping       |                   stopping: until whoever runs it says closed
///               +--------- retry ----------------+                   without a ledger: no opening, no closing
///
/// A try goes out when the ledger has it on disk; its end is told when that is on disk, too. Only a withdrawal waits
/// for neither: its bookings are finished behind its back.
#pragma once

#include "actors/llm/gateway_effects.hpp"
#include "actors/llm/gone_models.hpp"
#include "actors/llm/ledger_desk.hpp"
#include "actors/llm/llm_call.hpp"
#include "actors/llm/provider_config.hpp"
#include "actors/llm/provider_queue.hpp"
#include "actors/llm/replay_player.hpp"
#include "messages/error.hpp"
#include "messages/race.hpp"

#include <caf/expected.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace regatta {

/// A provider as the gateway holds it.
struct provider_desk {
  provider_config config;
  provider_queue queue;
  std::unique_ptr<replay_player> player;
  std::string broken;   ///< Why it cannot be used: its recording.
  std::string stopped;  ///< Why we do not use it any more: it billed more than it was allowed to.
  bool has_warned = false;  ///< … which was told, where no budget had to be kept.
};

/// What bounds all calls of this process.
struct gateway_terms {
  bool has_ledger = false;
  spending_limits process_budget;
  spending_limits day_budget;
  std::uint64_t seed = 0;  ///< Of the back-off's jitter.
};

class gateway_rules {
public:
  gateway_rules() = default;
  /// `recordings`: those of `replay` providers by name, read already, or why not.
  gateway_rules(const std::vector<provider_config>& providers,
                const std::map<std::string, caf::expected<recording>>& recordings, gateway_terms terms);

  /// Fails: `ec::unknown_provider`, `ec::refused` (its race is withdrawn), `ec::invalid_config` (bad recording).
  caf::expected<accepted> on_prompt(const prompt& ask, moment now);
  void on_withdraw(const withdraw_prompts& msg, std::uint64_t ticket, moment now);
  void on_exchange(exchange_event event, moment now);
  void on_program(program_event event, moment now);
  /// The ledger's answers to `ask_ledger`.
  void on_opened(booking_id id, const call_opened& answer, moment now);
  void on_closed(booking_id id, moment now);
  void on_ledger_error(booking_id id, const caf::error& why, moment now);
  void on_tick(moment now);
  /// Every call ends as withdrawn; what was sent is settled in the ledger. No prompt is taken any more.
  void on_leave(moment now);

  std::vector<gateway_effect> take_effects() { return std::exchange(effects_, {}); }
  /// There is something to wait for.
  bool has_work() const { return !calls_.empty() || !ledger_.is_empty(); }

private:
  struct withdrawal {
    std::uint64_t ticket = 0;
    race_id race;
    std::set<call_id> open;
    std::uint32_t calls = 0;
  };
  /// How often a worker's current round has been asked about, by attempt: tries are numbered within the process.
  struct tries_made {
    std::uint32_t round = 0;
    std::map<std::uint32_t, std::uint32_t> by_attempt;
  };
  using worker_key = std::pair<race_id, worker_id>;
  using due_entry = std::pair<llm_call::time_point, call_id>;

  provider_desk& desk_of(const llm_call& call) { return desks_.at(call.provider().name); }
  llm_call* by_try(std::uint64_t try_id);
  bool is_known(const work_key& key);

  // gateway_rules.cpp: what comes in.
  void play(provider_desk& desk, moment now);
  void read(llm_call& call, bool is_alive, moment now);
  void watch(llm_call& call, moment now);
  void tell_progress(llm_call& call, moment now);

  // gateway_tries.cpp: a call's tries.
  void enqueue(llm_call& call, bool is_first);
  void pump(provider_desk& desk, moment now);
  std::optional<try_result> denial(const provider_desk& desk, const llm_call& call, moment now);
  bool gives_up(const provider_desk& desk, const llm_call& call, moment now) const;
  void begin_try(provider_desk& desk, llm_call& call, moment now);
  void start(provider_desk& desk, llm_call& call, moment now);
  void stop(llm_call& call, std::optional<llm_outcome> as, std::string why, moment now);
  void end_try(llm_call& call, try_result result, try_reach reach, moment now);
  retry_decision decide(llm_call& call, const try_result& result, try_reach reach, moment now);
  void follow(llm_call& call, moment now);
  void end(llm_call& call, try_result result, moment now);
  void end_waiting(provider_desk& desk, moment now);

  // gateway_booking.cpp: the ledger's part.
  std::uint32_t next_try_number(const work_key& key);
  open_call opening_of(const provider_desk& desk, const llm_call& call);
  charge book(provider_desk& desk, llm_call& call, const try_result& result, try_reach reach);
  void ask_close(llm_call& call, const try_result& result, const charge& cost, bool is_answer, moment now);
  void end_known(llm_call& call, const call_opened& answer, moment now);

  // gateway_withdrawal.cpp
  void withdraw_call(llm_call& call, moment now);
  void forget_race(const withdraw_prompts& msg);
  void close_withdrawals(call_id ended);

  std::map<std::string, provider_desk> desks_;
  std::map<call_id, llm_call> calls_;
  std::unordered_map<work_key, call_id> by_key_;
  std::unordered_map<std::uint64_t, call_id> by_try_;
  /// Calls by when they want to be looked at; entries of ended or rearmed calls are skipped.
  std::priority_queue<due_entry, std::vector<due_entry>, std::greater<>> due_;
  /// The last answer to each worker, so that a lost message is mended by asking again and not by paying again.
  std::map<worker_key, prompt_ended> last_ended_;
  std::map<worker_key, tries_made> tries_made_;
  gone_models gone_;
  ledger_desk ledger_;
  bool is_leaving_ = false;
  bool has_room_ = false;  ///< A reservation was settled since the last look at the ledger's desk.
  std::vector<withdrawal> withdrawals_;
  std::set<race_id> withdrawn_races_;
  std::deque<race_id> withdrawn_order_;
  std::vector<gateway_effect> effects_;
  gateway_terms terms_;
  std::uint64_t last_id_ = 0;
};

}  // namespace regatta
