// SPDX-License-Identifier: Apache-2.0
/// \file
/// The store's rules, free of CAF's mailbox: what waits, what is written when, what a `commit` is answered.
///
///   add -> pending --flush--> database --(committed)--> run directories
///
/// An event reaches files only after its transaction is on disk. What cannot be written (disk full, locked) waits, in
/// order, and is tried again by every later flush.
#pragma once

#include "actors/run_directory.hpp"
#include "actors/store_writer.hpp"
#include "messages/event.hpp"
#include "messages/race_control.hpp"

#include <caf/error.hpp>
#include <caf/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace regatta {

/// One transaction holds at most so many events; others wait for company no longer than the batch delay. Judgement:
/// an fsync costs as much as inserting some hundred rows.
inline constexpr std::size_t store_batch_events = 256;
/// Events that may wait for a full disk. Past it the newest are lost and their race's `commit` says so. At 1 KiB each,
/// most of them, that is 64 MiB. Judgement.
inline constexpr std::size_t store_pending_events = 65'536;

class store_journal {
public:
  store_journal(store_writer writer, std::string state_dir)
      : writer_{std::move(writer)}, state_dir_{std::move(state_dir)} {}

  /// Returns whether a batch is full, so that the caller should flush now.
  bool add(event x);

  /// What is left waits; `trouble` says why.
  void flush(std::int64_t now_us);

  /// Why the last flush left something: `ec::store_full`, `ec::store_failed`, `ec::io_failed`.
  const caf::error& trouble() const { return trouble_; }

  /// The database's part of a flush; answers the ledger's questions from the same transaction as the last of the
  /// events: one answer for each, all of them on disk.
  std::vector<ledger_answer> write(std::span<const ledger_question> questions, std::int64_t now_us);
  /// The other part. A thousand files take a while, for which no answer should wait.
  void write_files();

  /// The last flush found the database locked by another process for too long.
  bool was_locked() const { return writer_.was_locked(); }

  /// Books calls of processes that are gone as lost.
  caf::error settle_dead(std::int64_t now_us) { return writer_.settle_dead(now_us); }

  /// Flushes, then answers for one race: only when all its events up to `seq` are in the database and in files.
  caf::expected<committed> on_commit(const commit& x, std::int64_t now_us);

  caf::error beat(std::int64_t now_us) { return writer_.beat(now_us); }

  bool has_work() const { return !pending_.empty() || !unwritten_.empty(); }
  std::size_t pending() const { return pending_.size(); }

private:
  struct race_entry {
    std::optional<run_directory> files;
    std::uint64_t last_seq = 0;  ///< Seen.
    std::uint64_t lost = 0;      ///< Events that found no room in `pending_`.
    caf::error refused;          ///< The first row that the tables refused.
    caf::error file_failure;     ///< Of the last flush of its files.
    bool has_ended = false;
  };

  caf::error write_pending(std::span<const ledger_question> questions, std::int64_t now_us,
                           std::vector<ledger_answer>& answers);
  void project(const event& x);
  void open_files(race_entry& entry, const event& x);
  caf::error write_files_of_races();
  caf::error failure_of(const race_id& race, const race_entry& entry) const;
  caf::expected<committed> answer_from_database(const commit& x);

  store_writer writer_;
  std::string state_dir_;
  std::vector<event> pending_;
  std::map<race_id, race_entry> races_;
  std::set<race_id> unwritten_;  ///< Races whose files have something to write.
  caf::error trouble_;
};

}  // namespace regatta
