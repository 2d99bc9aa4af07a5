// SPDX-License-Identifier: Apache-2.0
/// \file
/// A state folder of one test, what its database says, and a disk that is soon full.
#pragma once

#include "actors/store_database.hpp"
#include "actors/store_reader.hpp"
#include "tests/actors/store/scratch_folder.hpp"
#include "tests/actors/store/why.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/mount.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

namespace regatta::test {

/// Of one test; and what lies in its database.
struct state_folder : scratch_folder {
  std::string state = path + "/state";

  race_record load(const std::string& id) const {
    auto reader = store_reader::open(state);
    BOOST_REQUIRE_MESSAGE(reader, why(reader));
    auto record = reader->load_race(race_id{id});
    BOOST_REQUIRE_MESSAGE(record, why(record));
    return std::move(*record);
  }
  /// 0 also while there is no such table yet.
  std::int64_t database_number(const std::string& sql) const {
    auto db = database::open(state + "/regatta.db", database_access::read_only);
    std::int64_t value = 0;
    if (db) {
      static_cast<void>((*db)->each(sql, [&](result_row& row) { row.read(value); }));
    }
    return value;
  }
  std::int64_t number(const std::string& sql) const {
    auto db = database::open(state + "/regatta.db", database_access::read_only);
    BOOST_REQUIRE(db);
    std::int64_t value = -1;
    const auto error = (*db)->each(sql, [&](result_row& row) { row.read(value); });
    BOOST_REQUIRE_MESSAGE(!error, describe(error));
    return value;
  }
};

/// Leaves no mount behind, however a test ends.
class small_disk {
public:
  explicit small_disk(std::string path)
      : path_{std::move(path)},
        failure_{::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=4m,mode=0700") == 0 ? 0 : errno} {}
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;
  ~small_disk() {
    if (failure_ == 0) {
      ::umount2(path_.c_str(), MNT_DETACH);
    }
  }
  int failure() const { return failure_; }

private:
  std::string path_;
  int failure_;
};

}  // namespace regatta::test
