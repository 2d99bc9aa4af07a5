// SPDX-License-Identifier: Apache-2.0
/// \file
/// The store's tables, as numbered migrations, and how its database is opened. docs/store.md describes them for
/// readers in other languages.
#pragma once

#include "actors/store_database.hpp"
#include "actors/store_migrations.hpp"

#include <caf/expected.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace regatta {

/// `PRAGMA application_id`: "RGTA". Keeps us from writing into somebody else's database.
inline constexpr std::int64_t store_application_id = 0x52475441;

inline constexpr std::string_view store_file_name = "regatta.db";

struct opened_store {
  std::unique_ptr<database> db;
  std::string note;  ///< For the log: the file system forced another journal; empty if all is as usual.
};

/// How long a store is looked through for damage: a warm gigabyte. Judgement: a start may take so long, once.
inline constexpr std::chrono::milliseconds damage_check_limit{1'000};

/// Opens or creates `<state_dir>/regatta.db` and brings it to our schema. Fails: `ec::io_failed` (folder),
/// `ec::store_failed` (damaged, as far as `check` allows to see; not ours; a newer schema: both numbers are named),
/// `ec::store_full`. `check` 0: this process has looked already.
caf::expected<opened_store> open_store(const std::string& state_dir,
                                       std::chrono::milliseconds check = damage_check_limit);

/// For readers: no file is made or changed. Fails: `ec::not_found`, `ec::store_failed`.
caf::expected<std::unique_ptr<database>> open_store_read_only(const std::string& state_dir);

/// The name of a file system on which SQLite's WAL cannot work (shared memory does not reach other hosts), by
/// `statfs` magic; empty for all others.
std::string_view network_file_system(std::uint32_t magic);

}  // namespace regatta
