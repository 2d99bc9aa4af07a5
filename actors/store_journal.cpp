// SPDX-License-Identifier: Apache-2.0
#include "actors/store_journal.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <span>
#include <utility>
#include <variant>

namespace regatta {

namespace {

/// Files of a resumed race that wait in memory at most. Judgement.
constexpr std::size_t most_restored = 256;

}  // namespace

bool store_journal::add(event x) {
  auto& entry = races_[x.race];
  entry.last_seq = std::max(entry.last_seq, x.seq);
  if (pending_.size() >= store_pending_events) {
    ++entry.lost;
    return false;
  }
  pending_.push_back(std::move(x));
  return pending_.size() % store_batch_events == 0;
}

void store_journal::flush(std::int64_t now_us) {
  static_cast<void>(write({}, now_us));
  write_files();
}

void store_journal::write_files() {
  auto failure = write_files_of_races();
  trouble_ = trouble_ ? trouble_ : failure;
}

std::vector<ledger_answer> store_journal::write(std::span<const ledger_question> questions, std::int64_t now_us) {
  std::vector<ledger_answer> answers;
  trouble_ = write_pending(questions, now_us, answers);
  if (trouble_) {
    answers.assign(questions.size(), trouble_);
  }
  return answers;
}

caf::error store_journal::write_pending(std::span<const ledger_question> questions, std::int64_t now_us,
                                        std::vector<ledger_answer>& answers) {
  std::size_t done = 0;
  caf::error error;
  bool is_asked = questions.empty();
  while (!error && (done < pending_.size() || !is_asked)) {
    const auto size = std::min(store_batch_events, pending_.size() - done);
    const bool is_last = done + size == pending_.size();
    std::map<race_id, caf::error> refused;
    error = writer_.write(std::span{pending_}.subspan(done, size),
                          is_last ? questions : std::span<const ledger_question>{}, now_us, refused, answers);
    if (error) {
      break;
    }
    is_asked = is_asked || is_last;
    for (const auto& [race, why] : refused) {
      auto& entry = races_[race];
      entry.refused = entry.refused ? entry.refused : why;
    }
    for (std::size_t i = done; i < done + size; ++i) {
      project(pending_[i]);
    }
    done += size;
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done));
  return error;
}

void store_journal::project(const event& x) {
  auto& entry = races_[x.race];
  if (!entry.files && !entry.refused) {
    open_files(entry, x);
  }
  if (!entry.files) {
    return;
  }
  entry.files->apply(x);
  entry.has_ended = entry.has_ended || std::holds_alternative<race_ended>(x.body);
  unwritten_.insert(x.race);
  if (std::holds_alternative<winner_decided>(x.body) && !entry.files->artifact_path().empty()) {
    // A copy for readers of the database; the answer to `commit` does not depend on it.
    static_cast<void>(writer_.set_artifact(x.race, entry.files->artifact_path()));
  }
}

/// A race that this process began, or goes on with.
void store_journal::open_files(race_entry& entry, const event& x) {
  const auto begin = [&](const event& head) {
    if (const auto* start = std::get_if<race_started>(&head.body)) {
      entry.files.emplace(state_dir_ + "/" + safe_component(x.race.text), head, *start);
    }
  };
  begin(x);
  if (!std::holds_alternative<race_resumed>(x.body)) {
    return;
  }
  const auto error = writer_.each_event(x.race, x.seq, [&](const event& past) {
    entry.files ? entry.files->restore(past) : begin(past);
    if (entry.files && entry.files->files().pending().size() > most_restored) {
      // What fails stays pending, and later flushes tell.
      static_cast<void>(entry.files->flush());
    }
  });
  entry.refused = entry.refused ? entry.refused : error;
  if (entry.files) {
    // The race is not over any more.
    std::error_code ignored;
    std::filesystem::remove(entry.files->files().root() + "/orchestrator/summary.json", ignored);
  }
}

caf::error store_journal::write_files_of_races() {
  caf::error first;
  std::erase_if(unwritten_, [&](const race_id& race) {
    auto& entry = races_[race];
    entry.file_failure = entry.files ? entry.files->flush() : caf::error{};
    first = first ? first : entry.file_failure;
    return !entry.file_failure;
  });
  return first;
}

caf::error store_journal::failure_of(const race_id& race, const race_entry& entry) const {
  if (entry.lost > 0) {
    return fail(ec::store_full, std::to_string(entry.lost) + " events of " + race.text +
                                    " were lost while the store could not be written");
  }
  if (entry.refused) {
    return entry.refused;
  }
  const auto code = code_of(entry.file_failure) == ec::store_full ? ec::store_full : ec::store_failed;
  return entry.file_failure ? fail(code, text_of(entry.file_failure)) : caf::error{};
}

caf::expected<committed> store_journal::on_commit(const commit& x, std::int64_t now_us) {
  flush(now_us);
  if (!pending_.empty()) {
    return trouble_;
  }
  const auto it = races_.find(x.race);
  if (it == races_.end()) {
    return answer_from_database(x);
  }
  auto& entry = it->second;
  if (auto error = failure_of(x.race, entry)) {
    return error;
  }
  if (x.seq > entry.last_seq) {
    return fail(ec::store_failed, "commit of event " + std::to_string(x.seq) + " of " + x.race.text +
                                      ", but the last one that came is " + std::to_string(entry.last_seq));
  }
  committed answer{x.race, x.seq, entry.files ? entry.files->artifact_path() : std::string{}};
  if (entry.has_ended) {
    races_.erase(it);
  }
  return answer;
}

caf::expected<committed> store_journal::answer_from_database(const commit& x) {
  auto found = writer_.find(x.race);
  if (!found) {
    return std::move(found.error());
  }
  if (!*found || (*found)->last_seq < x.seq) {
    return fail(ec::store_failed,
                "commit of event " + std::to_string(x.seq) + " of " + x.race.text + ", which the store has not seen");
  }
  return committed{x.race, x.seq, (*found)->artifact_path};
}

}  // namespace regatta
