// SPDX-License-Identifier: Apache-2.0
#include "actors/store_gc.hpp"

#include "actors/file_batch.hpp"
#include "actors/store_ledger.hpp"
#include "actors/store_owner.hpp"
#include "actors/store_schema.hpp"
#include "messages/error.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

namespace regatta {

namespace {

namespace fs = std::filesystem;

/// Rows of the largest table that one transaction deletes: some ten ms of lock.
constexpr int event_chunk = 2'000;
/// A folder on its way out; never a run's name.
constexpr std::string_view gone_prefix = ".gc_";
/// Nobody writes a temporary file, or starts a race, for longer.
constexpr std::chrono::minutes temporary_age{10};

/// As far as it can be read: somebody may write there at the same time.
template <class Use>
void each_below(const fs::path& path, Use use) {
  std::error_code failed;
  auto it = fs::recursive_directory_iterator{path, fs::directory_options::skip_permission_denied, failed};
  for (; !failed && it != fs::recursive_directory_iterator{}; it.increment(failed)) {
    use(*it);
  }
}

std::uint64_t size_of(const fs::path& path) {
  std::error_code failed;
  if (fs::is_symlink(path, failed) || !fs::exists(path, failed)) {
    return 0;
  }
  if (fs::is_regular_file(path, failed)) {
    const auto size = fs::file_size(path, failed);
    return failed ? 0 : size;
  }
  std::uint64_t out = 0;
  each_below(path, [&](const fs::directory_entry& x) {
    std::error_code ignored;
    if (x.is_regular_file(ignored) && !x.is_symlink(ignored)) {
      const auto size = x.file_size(ignored);
      out += ignored ? 0 : size;
    }
  });
  return out;
}

bool is_old(const fs::directory_entry& x) {
  std::error_code failed;
  const auto age = fs::file_time_type::clock::now() - x.last_write_time(failed);
  return !failed && age > temporary_age;
}

bool is_temporary(const fs::directory_entry& x) {
  const auto name = x.path().filename().string();
  return name.starts_with('.') && name.ends_with(".tmp") && is_old(x);
}

bool has(const std::vector<std::string>& all, const std::string& x) {
  return std::find(all.begin(), all.end(), x) != all.end();
}

}  // namespace

caf::expected<std::unique_ptr<store_gc>> store_gc::open(const std::string& state_dir) {
  std::error_code ignored;
  if (!fs::exists(state_dir + "/" + std::string{store_file_name}, ignored)) {
    return fail(ec::not_found, "no store at \"" + state_dir + "/" + std::string{store_file_name} + "\"");
  }
  auto opened = open_store(state_dir);
  if (!opened) {
    return std::move(opened.error());
  }
  return std::unique_ptr<store_gc>{new store_gc{std::move(opened->db), state_dir}};
}

caf::error store_gc::transact(const std::function<caf::error()>& body) {
  if (auto error = db_->script("BEGIN IMMEDIATE")) {
    return error;
  }
  auto error = body();
  error = error ? error : db_->script("COMMIT");
  if (error && db_->is_in_transaction()) {
    // The first error is the one that says why.
    static_cast<void>(db_->script("ROLLBACK"));
  }
  return error;
}

caf::error store_gc::find_races(gc_plan& out, std::vector<gc_race>& ended) {
  const auto use = [&](result_row& row) {
    gc_race x;
    store_owner owner;
    bool is_in_flight = false;
    row.read(x.race, x.problem, x.end, x.ended_us, owner.pid, owner.start_ticks, owner.boot_id, owner.host,
             is_in_flight);
    const bool is_alive = may_be_alive(owner);
    known_.push_back(x.race.text);
    if (x.ended_us != 0 && !(is_in_flight && is_alive)) {
      ended.push_back(std::move(x));
      return;
    }
    ++(is_alive ? out.running : out.resumable);
    if (is_alive) {
      alive_.push_back(x.race.text);
    }
  };
  alive_.clear();
  known_.clear();
  return db_->each("SELECT r.race_id, p.name, r.end, r.ended_us, r.owner_pid, r.owner_start_ticks, r.owner_boot_id, "
                   "r.owner_host, EXISTS(SELECT 1 FROM llm_calls c WHERE c.race_id = r.race_id "
                   "AND c.closed_us IS NULL) FROM races r JOIN problems p ON p.digest = r.problem_digest "
                   "ORDER BY r.ended_us, r.race_id",
                   use);
}

/// Sockets of control and events lie in a folder each, named by their race.
void store_gc::find_leftovers(gc_plan& out, const std::vector<std::string>& alive) const {
  std::error_code failed;
  for (const auto* folder : {"control", "events"}) {
    for (const auto& x : fs::directory_iterator{state_dir_ + "/" + folder, failed}) {
      const auto race = x.path().stem().string();
      // A race that is about to begin has a socket before it has a row.
      if (x.path().extension() == ".sock" && !has(alive, race) && (has(known_, race) || is_old(x))) {
        out.leftovers.push_back(x.path().string());
      }
    }
  }
  for (const auto& x : fs::directory_iterator{state_dir_, failed}) {
    const auto name = x.path().filename().string();
    if (name.starts_with(gone_prefix)) {
      out.leftovers.push_back(x.path().string());
    }
    if (!name.starts_with("run_") || has(alive, name) || !x.is_directory(failed) || x.is_symlink(failed)) {
      continue;
    }
    each_below(x.path(), [&](const fs::directory_entry& file) {
      if (is_temporary(file)) {
        out.leftovers.push_back(file.path().string());
      }
    });
  }
}

caf::expected<gc_plan> store_gc::plan(const gc_limits& limits, std::int64_t now_us) {
  gc_plan out;
  std::vector<gc_race> ended;
  if (auto error = find_races(out, ended)) {
    return error;
  }
  out.ended = static_cast<std::uint32_t>(ended.size());
  out.bytes = size_of(state_dir_);
  auto left = out.bytes;
  for (auto& x : ended) {
    const bool is_old = limits.older_than_us > 0 && now_us - x.ended_us > limits.older_than_us;
    const bool is_too_much = limits.keep_bytes > 0 && left > limits.keep_bytes;
    if (!is_old && !is_too_much) {
      continue;
    }
    x.bytes = size_of(state_dir_ + "/" + safe_component(x.race.text));
    left = left > x.bytes ? left - x.bytes : 0;
    out.races.push_back(std::move(x));
  }
  find_leftovers(out, alive_);
  return out;
}

caf::error store_gc::remove_rows(const race_id& race, std::int64_t now_us) {
  // The events first and piece by piece: they are most of a race, and nobody may wait for the lock for long.
  for (std::int64_t removed = event_chunk; removed == event_chunk;) {
    // Whoever resumes the race now either came first, or finds that it has no beginning any more.
    if (auto error = db_->execute("DELETE FROM events WHERE race_id = ?1 AND seq IN (SELECT seq FROM events "
                                  "WHERE race_id = ?1 ORDER BY seq LIMIT ?2) AND EXISTS(SELECT 1 FROM races "
                                  "WHERE race_id = ?1 AND ended_us IS NOT NULL)",
                                  race, event_chunk)) {
      return error;
    }
    removed = db_->changes();
  }
  return transact([&] {
    store_ledger ledger{this_process()};
    auto error = ledger.settle_dead(*db_, now_us);
    bool may_go = false;
    error = error ? error
                  : db_->each("SELECT r.ended_us IS NOT NULL AND NOT EXISTS(SELECT 1 FROM llm_calls c "
                              "WHERE c.race_id = r.race_id AND c.closed_us IS NULL) FROM races r WHERE r.race_id = ?",
                              [&](result_row& row) { row.read(may_go); }, race);
    if (!error && !may_go) {
      return fail(ec::refused, race.text + " is not over any more");
    }
    error = error ? error
                  : db_->execute("INSERT INTO past_spending SELECT day, provider, model, basis, count(*), sum(cost), "
                                 "coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), "
                                 "sum(charged_tokens) FROM llm_calls WHERE race_id = ? "
                                 "GROUP BY day, provider, model, basis "
                                 "ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, cost = cost + "
                                 "excluded.cost, input_tokens = input_tokens + excluded.input_tokens, output_tokens = "
                                 "output_tokens + excluded.output_tokens, charged_tokens = charged_tokens + "
                                 "excluded.charged_tokens",
                                 race);
    error = error ? error : db_->execute("DELETE FROM budget_totals WHERE scope = 'race' AND name = ?", race);
    return error ? error : db_->execute("DELETE FROM races WHERE race_id = ?", race);
  });
}

/// What no race refers to any more. Days and processes keep their sums: budgets are checked against them.
caf::error store_gc::remove_orphans() {
  return transact([&] {
    return db_->script(
        "DELETE FROM candidates WHERE NOT EXISTS(SELECT 1 FROM evaluations e WHERE e.digest = candidates.digest) "
        "AND digest NOT IN (SELECT digest FROM rounds WHERE digest IS NOT NULL) "
        "AND digest NOT IN (SELECT winner_digest FROM races WHERE winner_digest IS NOT NULL);"
        "DELETE FROM problems WHERE digest NOT IN (SELECT problem_digest FROM races);"
        "DELETE FROM stages WHERE digest NOT IN (SELECT stage_digest FROM races)");
  });
}

caf::error store_gc::give_pages_back() {
  std::int64_t mode = 0;
  if (auto error = db_->each("PRAGMA auto_vacuum", [&](result_row& row) { row.read(mode); })) {
    return error;
  }
  constexpr std::int64_t incremental = 2;
  if (mode != incremental && alive_.empty()) {
    // A store that an older version made: written anew, once, as nobody waits for it.
    return db_->script("PRAGMA auto_vacuum = INCREMENTAL; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  }
  std::int64_t free_pages = 1;
  std::int64_t before = 0;
  while (mode == incremental && free_pages != before && free_pages > 0) {
    before = free_pages;
    auto error = db_->script("PRAGMA incremental_vacuum(1000)");
    error = error ? error : db_->each("PRAGMA freelist_count", [&](result_row& row) { row.read(free_pages); });
    if (error) {
      return error;
    }
  }
  return db_->script("PRAGMA wal_checkpoint(TRUNCATE)");
}

caf::expected<gc_result> store_gc::run(const gc_plan& plan, std::int64_t now_us,
                                       const std::function<void(const gc_race&)>& told) {
  gc_result out;
  std::error_code failed;
  for (const auto& x : plan.races) {
    const auto name = safe_component(x.race.text);
    const auto folder = fs::path{state_dir_} / name;
    const auto doomed = fs::path{state_dir_} / (std::string{gone_prefix} + name);
    if (auto error = remove_rows(x.race, now_us)) {
      if (code_of(error) != ec::refused) {
        return error;
      }
      out.kept.push_back(text_of(error));
      continue;
    }
    // Out of its name first: a gc that is killed meanwhile leaves what the next one knows.
    fs::rename(folder, doomed, failed);
    if (!failed) {
      fs::remove_all(doomed, failed);
    }
    if (failed && failed != std::errc::no_such_file_or_directory) {
      out.kept.push_back("cannot remove \"" + folder.string() + "\": " + failed.message());
    }
    ++out.races;
    told(x);
  }
  for (const auto& path : plan.leftovers) {
    fs::remove_all(path, failed);
    if (failed) {
      out.kept.push_back("cannot remove \"" + path + "\": " + failed.message());
    } else {
      ++out.leftovers;
    }
  }
  auto error = out.races == 0 ? caf::error{} : remove_orphans();
  error = error || out.races == 0 ? error : give_pages_back();
  if (error) {
    return error;
  }
  const auto now = size_of(state_dir_);
  out.bytes = plan.bytes - std::min(plan.bytes, now);
  return out;
}

}  // namespace regatta
