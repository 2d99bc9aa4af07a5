// SPDX-License-Identifier: Apache-2.0
#include "actors/store_database.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace regatta {

namespace {

/// Another process holds its write lock for one batch, tens of ms on a slow disk. Judgement.
constexpr int busy_timeout_ms = 5'000;

bool is_disk_full(sqlite3* raw, int code) {
  const int system = sqlite3_system_errno(raw);
  return (code & 0xFF) == SQLITE_FULL || ((code & 0xFF) == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT));
}

/// Enough of a statement to find it in the source.
std::string_view head_of(std::string_view sql) {
  return sql.substr(0, 60);
}

/// Length of the well-formed sequence at `text[at]`, 0 if there is none (RFC 3629, table of section 4).
std::size_t sequence_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U; };
  const auto is_tail = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    return is_tail(1) ? 2 : 0;
  }
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return is_tail(1, low, high) && is_tail(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return is_tail(1, low, high) && is_tail(2) && is_tail(3) ? 4 : 0;
  }
  return 0;
}

/// Ends whatever a connection does once `limit` has passed. A progress handler is not asked while a check runs (3.40).
class time_limit {
public:
  time_limit(sqlite3* raw, std::chrono::milliseconds limit) : thread_{[this, raw, limit] { watch(raw, limit); }} {}
  time_limit(const time_limit&) = delete;
  time_limit& operator=(const time_limit&) = delete;
  ~time_limit() {
    {
      const std::lock_guard lock{mutex_};
      is_over_ = true;
    }
    over_.notify_one();
    thread_.join();
  }
  bool has_passed() const { return has_passed_; }

private:
  void watch(sqlite3* raw, std::chrono::milliseconds limit) {
    std::unique_lock lock{mutex_};
    if (!over_.wait_for(lock, limit, [this] { return is_over_; })) {
      has_passed_ = true;
      sqlite3_interrupt(raw);
    }
  }

  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::atomic<bool> has_passed_{false};
  std::thread thread_;
};

/// What a check says is `*** in database main ***`, then a line for each finding.
std::string first_finding(const std::string& report) {
  constexpr std::size_t most = 120;
  const auto head = report.starts_with("***") ? report.find('\n') : std::string::npos;
  const auto text = head == std::string::npos ? report : report.substr(head + 1);
  return text.substr(0, std::min(text.find('\n'), most));
}

}  // namespace

std::string well_formed_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto size = sequence_at(text, at);
    out += size == 0 ? std::string_view{"\xEF\xBF\xBD"} : text.substr(at, size);
    at += size == 0 ? 1 : size;
  }
  return out;
}

void result_row::take(std::string& x) {
  const auto* text = sqlite3_column_blob(raw_, column_);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(raw_, column_));
  x.assign(size == 0 ? "" : static_cast<const char*>(text), size);
  ++column_;
}

void result_row::take(std::int64_t& x) {
  x = sqlite3_column_int64(raw_, column_++);
}

void result_row::take(double& x) {
  x = sqlite3_column_double(raw_, column_++);
}

bool result_row::is_null() const {
  return sqlite3_column_type(raw_, column_) == SQLITE_NULL;
}

caf::expected<std::unique_ptr<database>> database::open(const std::string& path, database_access access) {
  const bool reads_only = access == database_access::read_only;
  // A killed writer may leave the index of its WAL half-written. Whoever reads next has to mend it, which SQLite refuses
  // to a connection that was opened for reading; `query_only` keeps this one from everything else.
  const int flags = SQLITE_OPEN_READWRITE | (reads_only ? 0 : SQLITE_OPEN_CREATE);
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  std::unique_ptr<database> result{new database{raw}};
  if (code != SQLITE_OK) {
    const std::string why = raw == nullptr ? "out of memory" : sqlite3_errmsg(raw);
    return fail(is_disk_full(raw, code) ? ec::store_full : ec::store_failed, "cannot open \"" + path + "\": " + why);
  }
  sqlite3_busy_timeout(raw, busy_timeout_ms);
  if (reads_only) {
    // The last one to leave would write the WAL back.
    sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  if (auto error = result->script(reads_only ? "PRAGMA query_only = ON" : "PRAGMA foreign_keys = ON")) {
    return error;
  }
  return result;
}

database::~database() {
  for (auto& entry : cache_) {
    sqlite3_finalize(entry.second);
  }
  sqlite3_close(raw_);
}

caf::error database::script(const std::string& sql) {
  last_code_ = sqlite3_exec(raw_, sql.c_str(), nullptr, nullptr, nullptr);
  return last_code_ == SQLITE_OK ? caf::error{} : failure(sql);
}

std::int64_t database::changes() const {
  return sqlite3_changes64(raw_);
}

std::int64_t database::last_row() const {
  return sqlite3_last_insert_rowid(raw_);
}

bool database::was_locked() const {
  return (last_code_ & 0xFF) == SQLITE_BUSY || (last_code_ & 0xFF) == SQLITE_LOCKED;
}

bool database::is_in_transaction() const {
  return sqlite3_get_autocommit(raw_) == 0;
}

bool database::can_go_on() const {
  const int code = last_code_ & 0xFF;
  return code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_CONSTRAINT || code == SQLITE_MISMATCH ||
         code == SQLITE_TOOBIG;
}

sqlite3_stmt* database::prepare(std::string_view sql) {
  auto& slot = cache_[std::string{sql}];
  if (slot == nullptr) {
    last_code_ =
        sqlite3_prepare_v3(raw_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &slot, nullptr);
  }
  return slot;
}

bool database::step(sqlite3_stmt* statement) {
  last_code_ = sqlite3_step(statement);
  return last_code_ == SQLITE_ROW;
}

caf::error database::finish(sqlite3_stmt* statement, std::string_view sql) {
  auto result = last_code_ == SQLITE_DONE ? caf::error{} : failure(sql);
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  return result;
}

caf::error database::failure(std::string_view sql) {
  const std::string why = sqlite3_errmsg(raw_);
  if (const int code = last_code_ & 0xFF; code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
    return damage(why);
  }
  return fail(is_disk_full(raw_, last_code_) ? ec::store_full : ec::store_failed,
              std::string{head_of(sql)} + ": " + why);
}

caf::error database::damage(const std::string& why) const {
  const char* path = sqlite3_db_filename(raw_, "main");
  return fail(ec::store_failed, "\"" + std::string{path == nullptr ? "" : path} + "\" is damaged or no store (" + why +
                                    "): move it away, or name another state folder");
}

caf::error database::find_damage(std::chrono::milliseconds limit) {
  std::string found;
  const time_limit clock{raw_, limit};
  const auto error = each("PRAGMA quick_check(1)", [&](result_row& row) { row.read(found); });
  if (clock.has_passed()) {
    // A check that was cut short finds pages that it has not come to.
    return {};
  }
  return error || found == "ok" ? error : damage(first_finding(found));
}

void database::bind(sqlite3_stmt* statement, int index, std::string_view x) {
  const auto clean = well_formed_utf8(x);
  sqlite3_bind_text64(statement, index, clean.data(), clean.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void database::bind(sqlite3_stmt* statement, int index, blob_view x) {
  sqlite3_bind_blob64(statement, index, x.bytes.empty() ? "" : x.bytes.data(), x.bytes.size(), SQLITE_TRANSIENT);
}

void database::bind(sqlite3_stmt* statement, int index, std::int64_t x) {
  sqlite3_bind_int64(statement, index, x);
}

void database::bind(sqlite3_stmt* statement, int index, double x) {
  sqlite3_bind_double(statement, index, x);
}

void database::bind(sqlite3_stmt* statement, int index, std::nullopt_t) {
  sqlite3_bind_null(statement, index);
}

}  // namespace regatta
