// SPDX-License-Identifier: Apache-2.0
#include "actors/file_batch.hpp"

#include "actors/run_log.hpp"
#include "tests/actors/store/scratch_folder.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace regatta;
using namespace regatta::test;

BOOST_AUTO_TEST_SUITE(file_batches)

BOOST_AUTO_TEST_CASE(the_last_put_before_a_flush_wins_and_logs_grow) {
  scratch_folder root;
  file_batch batch{root.path};
  batch.put("a/b.txt", "old");
  batch.put("a/b.txt", "new", file_care::lasting);
  batch.append("log", "1\n");
  batch.append("log", "2\n");
  BOOST_TEST(batch.pending().size() == 2U);
  BOOST_TEST(!batch.flush());
  batch.append("log", "3\n");
  BOOST_TEST(!batch.flush());
  BOOST_TEST(read_file(root.path + "/a/b.txt") == "new");
  BOOST_TEST(read_file(root.path + "/log") == "1\n2\n3\n");
  BOOST_TEST(batch.pending().empty());
}

BOOST_AUTO_TEST_CASE(what_fails_waits_and_is_written_by_a_later_flush) {
  scratch_folder root;
  std::filesystem::create_directories(root.path + "/a.txt/in the way");
  file_batch batch{root.path};
  batch.put("a.txt", "content");
  batch.put("b.txt", "other");
  const auto error = batch.flush();
  BOOST_TEST(code_of(error) == ec::io_failed);
  BOOST_TEST(text_of(error).find("/a.txt\"") != std::string::npos, text_of(error));
  BOOST_TEST(read_file(root.path + "/b.txt") == "other");
  BOOST_TEST(batch.pending().size() == 1U);
  std::filesystem::remove_all(root.path + "/a.txt");
  BOOST_TEST(!batch.flush());
  BOOST_TEST(files_below(root.path).size() == 2U, "no temporary file is left");
}

BOOST_AUTO_TEST_CASE(a_folder_that_was_taken_away_is_made_again) {
  scratch_folder root;
  file_batch batch{root.path};
  batch.put("a/b/c.txt", "1");
  batch.append("a/log", "1\n");
  BOOST_TEST(!batch.flush());
  std::filesystem::remove_all(root.path + "/a");
  batch.put("a/b/c.txt", "2");
  batch.append("a/log", "2\n");
  BOOST_TEST(!batch.flush());
  BOOST_TEST(read_file(root.path + "/a/b/c.txt") == "2");
  BOOST_TEST(read_file(root.path + "/a/log") == "2\n");
}

BOOST_AUTO_TEST_CASE(two_writers_of_one_path_never_mix_their_bytes) {
  scratch_folder root;
  std::atomic<int> failures = 0;
  const auto write = [&](char c) {
    for (int i = 0; i < 200; ++i) {
      file_batch batch{root.path};
      batch.put("shared.json", std::string(20'000, c));
      failures += batch.flush() ? 1 : 0;
    }
  };
  std::thread other{[&] { write('b'); }};
  write('a');
  for (int i = 0; i < 200; ++i) {
    const auto text = read_file(root.path + "/shared.json");
    BOOST_REQUIRE(text.size() == 20'000U);
    BOOST_REQUIRE(text.find_first_not_of(text.front()) == std::string::npos);
  }
  other.join();
  BOOST_TEST(failures == 0, "nobody is in the other's way");
  BOOST_TEST(files_below(root.path).size() == 1U, "no temporary file is left");
}

BOOST_AUTO_TEST_CASE(a_safe_component_is_short_plain_and_unique) {
  BOOST_TEST(safe_component("worker_01") == "worker_01");
  BOOST_TEST(safe_component("a/b") != safe_component("a_b"));
  BOOST_TEST(safe_component("..").starts_with("_"));
  for (const auto& text : std::vector<std::string>{"", ".", "..", "/", "a\nb", "\xFF\xFE", std::string(5'000, 'x')}) {
    const auto name = safe_component(text);
    BOOST_TEST(stays_below(name), name);
    BOOST_TEST(name.size() <= 120U);
    BOOST_TEST(name.find('/') == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(only_paths_below_the_root_are_paths) {
  for (const std::string good : {"a", "a/b.txt", "..a/b"}) {
    BOOST_TEST(stays_below(good), good);
  }
  for (const std::string bad : {"", "/a", "a/", "a//b", "../a", "a/..", "a/../b", "./a"}) {
    BOOST_TEST(!stays_below(bad), bad);
  }
}

BOOST_AUTO_TEST_CASE(log_lines_stay_lines) {
  BOOST_TEST(one_line("a\nb\x1b[0m\tc") == "a b [0m c");
  const auto cut = one_line(std::string(499, 'x') + "\xC3\xA4 and more");
  BOOST_TEST(cut == std::string(499, 'x') + " ...");
  BOOST_TEST(utc_text(1'796'079'082'000'042) == "2026-11-30T22:51:22.000042Z");
}

BOOST_AUTO_TEST_SUITE_END()
