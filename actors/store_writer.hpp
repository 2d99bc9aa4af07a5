// SPDX-License-Identifier: Apache-2.0
/// \file
/// Events into tables: one transaction per batch, one method per kind of fact. Plain class.
#pragma once

#include "actors/store_database.hpp"
#include "actors/store_ledger.hpp"
#include "actors/store_owner.hpp"
#include "messages/event.hpp"

#include <caf/error.hpp>
#include <caf/expected.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regatta {

/// What the store says of a race that has left this process' memory.
struct stored_race {
  std::uint64_t last_seq = 0;
  std::string artifact_path;
};

class store_writer {
public:
  /// `state_dir`: races' folders lie below it.
  store_writer(std::unique_ptr<database> db, std::string state_dir, store_owner owner)
      : db_{std::move(db)}, state_dir_{std::move(state_dir)}, owner_{std::move(owner)}, ledger_{owner_} {}

  /// All of `batch` or nothing; `reply_delta`s are passed over. Events that are stored already are skipped, so a batch
  /// whose commit failed half-way may be written again. A single event that the tables refuse (its race is unknown
  /// …) does not fail the batch: it lands in `refused`, first one per race.
  caf::error write(std::span<const event> batch, std::int64_t now_us, std::map<race_id, caf::error>& refused) {
    std::vector<ledger_answer> none;
    return write(batch, {}, now_us, refused, none);
  }
  /// … and, in the same transaction behind them, the questions to the ledger; `answers` one to one, only without an
  /// error. A question that is refused changes nothing but what it found out of dead processes.
  caf::error write(std::span<const event> batch, std::span<const ledger_question> questions, std::int64_t now_us,
                   std::map<race_id, caf::error>& refused, std::vector<ledger_answer>& answers);

  /// Books calls of processes that are gone as lost. Writes only if there are any calls in flight.
  caf::error settle_dead(std::int64_t now_us);

  /// The last transaction failed as another process held the lock for too long: trying again mends it.
  bool was_locked() const { return was_locked_; }

  caf::error set_artifact(const race_id& race, const std::string& path);

  /// Marks this process' races that still run as alive.
  caf::error beat(std::int64_t now_us);

  /// What is stored of a race, in order, before event `end`. One that cannot be read is passed over.
  caf::error each_event(const race_id& race, std::uint64_t end, const std::function<void(const event&)>& use);

  caf::expected<std::optional<stored_race>> find(const race_id& race);

private:
  caf::error write_all(std::span<const event> batch, std::int64_t now_us, std::map<race_id, caf::error>& refused);
  caf::error write_one(const event& x);
  caf::error answer_all(std::span<const ledger_question> questions, std::int64_t now_us,
                        std::vector<ledger_answer>& answers);
  /// In one transaction, or not at all.
  caf::error transact(const std::function<caf::error()>& body);
  caf::error take_over(const event& x);
  caf::error put_event(const event& x);

  caf::error on(const event& x, const race_started& body);
  caf::error on(const event& x, const worker_started& body);
  caf::error on(const event& x, const worker_moved& body);
  caf::error on(const event& x, const prompt_sent& body);
  caf::error on(const event& x, const reply_delta& body);
  caf::error on(const event& x, const reply_ended& body);
  caf::error on(const event& x, const code_extracted& body);
  caf::error on(const event& x, const candidate_reserved& body);
  caf::error on(const event& x, const candidate_evaluated& body);
  caf::error on(const event& x, const round_failed& body);
  caf::error on(const event& x, const worker_finished& body);
  caf::error on(const event& x, const winner_decided& body);
  caf::error on(const event& x, const runner_up& body);
  caf::error on(const event& x, const race_cancelled& body);
  caf::error on(const event& x, const race_ended& body);
  caf::error on(const event& x, const race_resumed& body);

  caf::error put_verdict(const event& x, const candidate_evaluated& body);
  caf::error put_timing(const event& x, const race_ended& body);
  caf::error touch_round(const event& x, const worker_id& worker, std::uint32_t round);
  caf::error put_candidate(const source_digest& digest, const std::string& code);
  /// `execute` for an UPDATE that must find its row.
  template <class... Ts>
  caf::error change(std::string_view sql, const Ts&... xs) {
    if (auto error = db_->execute(sql, xs...)) {
      return error;
    }
    return db_->changes() == 0 ? fail(ec::store_failed, std::string{sql.substr(0, 40)} + ": no such row")
                               : caf::error{};
  }

  std::unique_ptr<database> db_;
  std::string state_dir_;
  store_owner owner_;
  store_ledger ledger_;
  bool was_locked_ = false;
  /// Races whose id is that of another race in the store: nothing of theirs is written.
  std::set<race_id> strangers_;
};

}  // namespace regatta
