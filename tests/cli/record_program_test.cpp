// SPDX-License-Identifier: Apache-2.0
// A run as a recording, and its end: `regatta record`, `regatta gc`.
#include "tests/cli/program_run.hpp"
#include "tests/cli/scratch_folder.hpp"
#include "tests/cli/toy_race.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>

namespace regatta::test {

namespace fs = std::filesystem;

namespace {

std::string summary_in(const scratch_folder& folder) {
  for (const auto& entry : fs::directory_iterator{folder / ".regatta"}) {
    if (entry.path().filename().string().starts_with("run_")) {
      return read_file(entry.path().string() + "/orchestrator/summary.json");
    }
  }
  return "";
}

/// The rest of the line behind `key`.
std::string value_of(const std::string& json, const std::string& key) {
  const auto at = json.find("\"" + key + "\": ");
  return at == std::string::npos ? "" : json.substr(at, json.find('\n', at) - at);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_replayed_race_goes_on_from_its_recording_while_that_is_what_it_was) {
  const scratch_folder folder;
  const auto told = [](const char* code) {
    return std::string{R"("finish": "stop", "deltas": ["```python\nclass ModelNew: pass\n)"
                       R"(def kernel_function(): pass\n)"} + code + R"(\n```\n"]})" "\n";
  };
  const std::string recorded = R"({"format": "regatta-recording/1", "workers": 1})" "\n"
                               R"({"worker": 1, "round": 1, )" + told("raise SystemExit(1)") +
                               R"({"worker": 1, "round": 2, )" + told("print('PASS')");
  const auto path = folder.write("two.jsonl", recorded);
  program_run first{folder.path(), race({"--workers", "1", "--max-iters", "1", "--events", "off"}, "two.jsonl")};
  BOOST_TEST(first.wait() == 4, first.err());
  const auto resume = [&](int expected) {
    program_run again{folder.path(), {regatta_program(), "resume", "latest", "--max-iters", "2", "--events", "off",
                                      "--python", "/usr/bin/python3"}};
    BOOST_TEST(again.wait() == expected, again.err());
    return again.err();
  };
  fs::rename(path, path + ".away");
  const auto gone = resume(2);
  BOOST_TEST(has(gone, "the race's recording is gone: " + path), gone);
  folder.write("two.jsonl", recorded + "\n");
  const auto changed = resume(2);
  BOOST_TEST(has(changed, "the race's recording " + path + " has changed: got SHA-256 "), changed);
  BOOST_TEST(has(changed, "give --replay FILE to go on from another one"), changed);
  fs::rename(path + ".away", path);
  resume(0);
}

BOOST_AUTO_TEST_CASE(a_run_that_was_recorded_is_replayed_to_the_same_winner) {
  const scratch_folder first;
  program_run original{first.path(), race({"--workers", "4"}, toy_recording())};
  BOOST_REQUIRE(original.wait() == 0);
  program_run record{first.path(), {regatta_program(), "record", "latest", "-o", "again.jsonl"}};
  BOOST_TEST(record.wait() == 0, record.err());
  BOOST_TEST(record.out() == "");
  BOOST_TEST(has(record.err(), " replies"), record.err());
  program_run to_stdout{first.path(), {regatta_program(), "record", "latest"}};
  BOOST_TEST(to_stdout.wait() == 0);
  BOOST_TEST(to_stdout.out() == read_file(first / "again.jsonl"));

  const scratch_folder second;
  program_run replayed{second.path(), race({"--workers", "4"}, first / "again.jsonl")};
  BOOST_TEST(replayed.wait() == 0, replayed.err());
  for (const auto* key : {"winner_worker_id", "winner_round", "winner_digest", "reason"}) {
    BOOST_TEST(value_of(summary_in(first), key) != "", key);
    BOOST_TEST(value_of(summary_in(first), key) == value_of(summary_in(second), key));
  }
}

BOOST_AUTO_TEST_CASE(gc_says_what_would_go_and_then_takes_it) {
  const scratch_folder folder;
  program_run original{folder.path(), race({}, toy_recording())};
  BOOST_REQUIRE(original.wait() == 0);
  program_run plan{folder.path(), {regatta_program(), "gc", "--keep-size", "1KiB", "--dry-run"}};
  BOOST_TEST(plan.wait() == 0, plan.err());
  BOOST_TEST(has(plan.out(), "would remove 1 race and "), plan.out());
  BOOST_TEST(summary_in(folder) != "");
  program_run nothing{folder.path(), {regatta_program(), "gc", "--older-than", "30d"}};
  BOOST_TEST(nothing.wait() == 0, nothing.err());
  BOOST_TEST(has(nothing.out(), "removed 0 races"), nothing.out());
  program_run planned{folder.path(), {regatta_program(), "gc", "--keep-size", "1KiB", "--dry-run", "--json"}};
  BOOST_TEST(planned.wait() == 0, planned.err());
  BOOST_TEST(planned.out().starts_with(R"({"schema_version":1,"is_dry_run":true,"races":[{"run_id":"run_)"),
             planned.out());
  BOOST_TEST(has(planned.out(), R"("kept_ended":0,"kept_running":0,"kept_resumable":0,"failures":[]})" "\n"),
             planned.out());
  BOOST_TEST(std::ranges::count(planned.out(), '\n') == 1);
  program_run none{folder.path(), {regatta_program(), "gc", "--older-than", "30d", "--json"}};
  BOOST_TEST(none.wait() == 0, none.err());
  BOOST_TEST(none.out().starts_with(R"({"schema_version":1,"is_dry_run":false,"races":[],"leftovers":)"), none.out());
  BOOST_TEST(has(none.out(), R"("kept_ended":1,)"), none.out());
  program_run gc{folder.path(), {regatta_program(), "gc", "--keep-size", "1KiB"}};
  BOOST_TEST(gc.wait() == 0, gc.err());
  BOOST_TEST(has(gc.out(), "removed 1 race and 0 leftovers"), gc.out());
  BOOST_TEST(summary_in(folder) == "");
  program_run list{folder.path(), {regatta_program(), "list"}};
  BOOST_TEST(list.wait() == 0);
  BOOST_TEST(list.out() == "");
}

BOOST_AUTO_TEST_CASE(gc_and_record_name_what_they_cannot_take) {
  const scratch_folder folder;
  for (const auto& [option, value] : {std::pair{"--older-than", "30"}, std::pair{"--older-than", "-1d"},
                                      std::pair{"--keep-size", "many"}}) {
    program_run gc{folder.path(), {regatta_program(), "gc", std::string{option} + "=" + value}};
    BOOST_TEST(gc.wait() == 2, gc.err());
    BOOST_TEST(has(gc.err(), std::string{option} + ": got \"" + value + "\", allowed: "), gc.err());
  }
  program_run record{folder.path(), {regatta_program(), "record", "latest"}};
  BOOST_TEST(record.wait() != 0);
  BOOST_TEST(has(record.err(), "no store at"), record.err());
  BOOST_TEST(!fs::exists(folder / ".regatta"));
}

}  // namespace regatta::test
