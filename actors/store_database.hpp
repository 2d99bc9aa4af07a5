// SPDX-License-Identifier: Apache-2.0
/// \file
/// One SQLite connection: statements prepared once, values bound by type, failures as `caf::error`. Not for several
/// threads at once.
#pragma once

#include "messages/enums.hpp"
#include "messages/error.hpp"
#include "messages/ids.hpp"

#include <caf/expected.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

struct sqlite3;
struct sqlite3_stmt;

namespace regatta {

/// Bytes that are not text.
struct blob_view {
  std::string_view bytes;
};

/// The current row of a query. Columns count from 0 in the order of the SELECT; NULL reads as zero or empty.
class result_row {
public:
  explicit result_row(sqlite3_stmt* raw) : raw_{raw} {}

  /// Reads the next columns into `xs`, by type.
  template <class... Ts>
  void read(Ts&... xs) {
    (take(xs), ...);
  }

private:
  void take(std::string& x);
  void take(std::int64_t& x);
  void take(double& x);
  void take(bool& x) {
    std::int64_t wide = 0;
    take(wide);
    x = wide != 0;
  }
  template <std::integral T>
  void take(T& x) {
    std::int64_t wide = 0;
    take(wide);
    x = static_cast<T>(wide);
  }
  template <class Tag>
  void take(strong_id<Tag>& x) {
    take(x.text);
  }
  template <class Rep, class Period>
  void take(std::chrono::duration<Rep, Period>& x) {
    Rep count{};
    take(count);
    x = std::chrono::duration<Rep, Period>{count};
  }
  template <class T>
  void take(std::optional<T>& x) {
    if (is_null()) {
      x.reset();
      ++column_;
    } else {
      take(x.emplace());
    }
  }
  bool is_null() const;

  sqlite3_stmt* raw_;
  int column_ = 0;
};

enum class database_access : std::uint8_t { read_only, read_write };

class database {
public:
  /// `read_write` creates the file. Waits up to 5 s for other processes' locks.
  static caf::expected<std::unique_ptr<database>> open(const std::string& path, database_access access);

  database(const database&) = delete;
  database& operator=(const database&) = delete;
  ~database();

  /// Statements without parameters or rows; not cached.
  caf::error script(const std::string& sql);

  /// One statement without rows.
  template <class... Ts>
  caf::error execute(std::string_view sql, const Ts&... xs) {
    return each(
        sql, [](result_row&) {}, xs...);
  }

  /// Calls `use(row)` for every row.
  template <class Use, class... Ts>
  caf::error each(std::string_view sql, Use use, const Ts&... xs) {
    auto* statement = prepare(sql);
    if (statement == nullptr) {
      return failure(sql);
    }
    int index = 0;
    (bind(statement, ++index, xs), ...);
    while (step(statement)) {
      result_row row{statement};
      use(row);
    }
    return finish(statement, sql);
  }

  /// Rows changed by the last statement.
  std::int64_t changes() const;
  /// Key of the last row that was inserted.
  std::int64_t last_row() const;
  bool is_in_transaction() const;
  /// The last statement went well or failed because of its own row (a constraint, a value too large): trying it again
  /// cannot mend it, and the transaction may go on without it.
  bool can_go_on() const;
  /// The last statement failed as another process held the lock for too long.
  bool was_locked() const;
  /// SQLite's own check of every page, as far as it gets within `limit`. Fails: `ec::store_failed`.
  caf::error find_damage(std::chrono::milliseconds limit);

private:
  explicit database(sqlite3* raw) : raw_{raw} {}

  sqlite3_stmt* prepare(std::string_view sql);
  bool step(sqlite3_stmt* statement);
  caf::error finish(sqlite3_stmt* statement, std::string_view sql);
  /// `ec::store_full` or `ec::store_failed`, naming statement and reason.
  caf::error failure(std::string_view sql);
  caf::error damage(const std::string& why) const;

  void bind(sqlite3_stmt* statement, int index, std::string_view x);
  void bind(sqlite3_stmt* statement, int index, blob_view x);
  void bind(sqlite3_stmt* statement, int index, std::int64_t x);
  void bind(sqlite3_stmt* statement, int index, double x);
  void bind(sqlite3_stmt* statement, int index, std::nullopt_t);
  template <std::integral T>
  void bind(sqlite3_stmt* statement, int index, T x) {
    bind(statement, index, static_cast<std::int64_t>(x));
  }
  template <class Tag>
  void bind(sqlite3_stmt* statement, int index, const strong_id<Tag>& x) {
    bind(statement, index, std::string_view{x.text});
  }
  void bind(sqlite3_stmt* statement, int index, named_enum auto x) { bind(statement, index, name_of(x)); }
  template <class Rep, class Period>
  void bind(sqlite3_stmt* statement, int index, std::chrono::duration<Rep, Period> x) {
    bind(statement, index, static_cast<std::int64_t>(x.count()));
  }
  template <class T>
  void bind(sqlite3_stmt* statement, int index, const std::optional<T>& x) {
    if (x) {
      bind(statement, index, *x);
    } else {
      bind(statement, index, std::nullopt);
    }
  }

  sqlite3* raw_;
  int last_code_ = 0;
  std::unordered_map<std::string, sqlite3_stmt*> cache_;
};

/// `text` with every byte that is not part of well-formed UTF-8 replaced by U+FFFD, for readers that insist.
std::string well_formed_utf8(std::string_view text);

}  // namespace regatta
