// SPDX-License-Identifier: Apache-2.0
#include "actors/store_schema.hpp"

#include <sys/stat.h>
#include <sys/vfs.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace regatta {

namespace {

struct magic_name {
  std::uint32_t magic;
  std::string_view name;
};
// linux/magic.h, and each file system's own sources for those that are not in it.
constexpr std::array<magic_name, 14> network_file_systems = {{
    {0x6969, "NFS"},
    {0x517B, "SMB"},
    {0xFF534D42, "CIFS"},
    {0xFE534D42, "SMB2"},
    {0x0BD00BD0, "Lustre"},
    {0x65735546, "FUSE"},
    {0x00C36400, "Ceph"},
    {0x47504653, "GPFS"},
    {0x19830326, "BeeGFS"},
    {0x01021997, "9P"},
    {0x5346414F, "AFS"},
    {0x7461636F, "OCFS2"},
    {0x20030528, "OrangeFS"},
    {0x73757245, "Coda"},
}};

std::string path_of(const std::string& state_dir) {
  return state_dir + "/" + std::string{store_file_name};
}

caf::expected<std::int64_t> pragma(database& db, const std::string& name) {
  std::int64_t value = 0;
  if (auto error = db.each("PRAGMA " + name, [&](result_row& row) { row.read(value); })) {
    return error;
  }
  return value;
}

caf::error check_ours(database& db, const std::string& path) {
  // In one statement: whoever makes the store just now sets both at once.
  std::int64_t id = 0;
  std::int64_t version = 0;
  if (auto error = db.each("SELECT application_id, user_version FROM pragma_application_id, pragma_user_version",
                           [&](result_row& row) { row.read(id, version); })) {
    return error;
  }
  if (id != store_application_id && (id != 0 || version != 0)) {
    return fail(ec::store_failed,
                "\"" + path + "\" is a database, but not Regatta's: move it away, or name another state folder");
  }
  if (version > store_schema_version) {
    return fail(ec::store_failed, "\"" + path + "\" has schema " + std::to_string(version) + ", this program knows " +
                                      std::to_string(store_schema_version) + ": a newer Regatta made it");
  }
  return {};
}

/// Several processes may open a new store at once: the version is read again under the write lock.
caf::error migrate_one(database& db) {
  if (auto error = db.script("BEGIN IMMEDIATE")) {
    return error;
  }
  const auto version = pragma(db, "user_version");
  auto error = version ? caf::error{} : version.error();
  if (!error && *version < store_schema_version) {
    error = db.script(std::string{store_migration(*version)} + "; PRAGMA application_id = " +
                      std::to_string(store_application_id) + "; PRAGMA user_version = " + std::to_string(*version + 1));
  }
  if (!error) {
    error = db.script("COMMIT");
  }
  if (error && db.is_in_transaction()) {
    // The first error is the one that says why.
    static_cast<void>(db.script("ROLLBACK"));
  }
  return error;
}

caf::error migrate(database& db) {
  auto version = pragma(db, "user_version");
  while (version && *version < store_schema_version) {
    if (auto error = migrate_one(db)) {
      return error;
    }
    version = pragma(db, "user_version");
  }
  return version ? caf::error{} : version.error();
}

caf::error make_folder(const std::string& state_dir) {
  std::error_code made;
  std::filesystem::create_directories(std::filesystem::path{state_dir}.parent_path(), made);
  if (::mkdir(state_dir.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(ec::io_failed, "cannot make \"" + state_dir + "\": " + std::strerror(errno));
  }
  if (!std::filesystem::is_directory(state_dir, made)) {
    return fail(ec::io_failed, "\"" + state_dir + "\" is not a folder");
  }
  return {};
}

std::string_view network_file_system_of(const std::string& folder) {
  struct statfs facts = {};
  return ::statfs(folder.c_str(), &facts) == 0 ? network_file_system(static_cast<std::uint32_t>(facts.f_type))
                                               : std::string_view{};
}

/// FULL: a commit that was acknowledged survives a power cut, not only a crash of ours. Unlike other statements, a change of
/// the mode does not wait for whoever opens the same new file just now; a write lock does.
caf::error set_journal(database& db, bool is_network) {
  constexpr int most_tries = 20;
  const auto* mode = is_network ? "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL"
                                : "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";
  auto error = db.script(mode);
  for (int tries = 1; error && tries < most_tries && !db.script("BEGIN IMMEDIATE; COMMIT"); ++tries) {
    error = db.script(mode);
  }
  return error;
}

}  // namespace

std::string_view network_file_system(std::uint32_t magic) {
  for (const auto& entry : network_file_systems) {
    if (entry.magic == magic) {
      return entry.name;
    }
  }
  return {};
}

caf::expected<opened_store> open_store(const std::string& state_dir, std::chrono::milliseconds check) {
  if (auto error = make_folder(state_dir)) {
    return error;
  }
  const auto network = network_file_system_of(state_dir);
  auto db = database::open(path_of(state_dir), database_access::read_write);
  if (!db) {
    return std::move(db.error());
  }
  auto error = check_ours(**db, path_of(state_dir));
  // A race would meet the damage in its course, and wait for a disk that nobody mends.
  error = error || check.count() == 0 ? error : (*db)->find_damage(check);
  // Only in a new file; before the journal's mode, which writes the first page. `regatta gc` gives pages back by it.
  error = error ? error : (*db)->script("PRAGMA auto_vacuum = INCREMENTAL");
  error = error ? error : set_journal(**db, !network.empty());
  error = error ? error : migrate(**db);
  if (error) {
    return error;
  }
  opened_store result{std::move(*db), {}};
  if (!network.empty()) {
    result.note = "\"" + state_dir + "\" lies on " + std::string{network} +
                  ": the store uses a rollback journal there; let only one process at a time write it";
  }
  return result;
}

caf::expected<std::unique_ptr<database>> open_store_read_only(const std::string& state_dir) {
  const auto path = path_of(state_dir);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return fail(ec::not_found, "no store at \"" + path + "\"");
  }
  auto db = database::open(path, database_access::read_only);
  if (!db) {
    return db;
  }
  if (auto error = check_ours(**db, path)) {
    return error;
  }
  const auto version = pragma(**db, "user_version");
  if (!version) {
    return version.error();
  }
  if (*version < store_schema_version) {
    return fail(ec::store_failed, "\"" + path + "\" has schema " + std::to_string(*version) + ", this program reads " +
                                      std::to_string(store_schema_version) +
                                      ": the next race in it brings it up to date");
  }
  return db;
}

}  // namespace regatta
