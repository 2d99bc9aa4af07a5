// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ready_rules.hpp"
#include "sandbox/warm_rules.hpp"

#include <boost/test/unit_test.hpp>

namespace regatta::sandbox {

namespace {

using namespace std::chrono_literals;

const ready_book::clock::time_point start{1'000'000s};

run_spec gpu_run(const std::string& node = "/dev/nvidia0", std::uint32_t ready = 2) {
  run_spec out;
  out.argv = {"/usr/bin/python3", "-s", "main.py", "--x"};
  out.files = {{"main.py", "print()"}};
  out.preload = {"torch"};
  out.devices = {"/dev/nvidiactl", node};
  out.limits.wall = 10s;
  out.ready = ready;
  return out;
}

struct book_with_runs : ready_book {
  using ready_book::ready_book;
  std::string run(const run_spec& what, clock::time_point now = start) {
    const auto key = ready_key_of(what);
    want(key, what, now);
    return key;
  }
  /// Starts what is due; the ids.
  std::vector<id> start_due(clock::time_point now = start) {
    std::vector<id> made;
    for (const auto& key : due(now).to_start) {
      on_started(++last, key, now);
      made.push_back(last);
    }
    return made;
  }
  id last = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(ready_rules)

BOOST_AUTO_TEST_CASE(program_files_streams_and_wall_limit_come_later_and_all_else_makes_the_key) {
  const auto base = gpu_run();
  auto other = base;
  other.argv = {"/usr/bin/python3", "-s", "other.py"};
  other.files = {{"other.py", "x"}};
  other.limits.wall = 99s;
  other.standard_in = std::make_shared<unique_fd>();
  BOOST_TEST(ready_key_of(base) == ready_key_of(other));
  for (const auto change : {+[](run_spec& x) { x.devices = {"/dev/nvidiactl", "/dev/nvidia1"}; },
                            +[](run_spec& x) { x.environment["A"] = "1"; }, +[](run_spec& x) { x.limits.memory = 1; },
                            +[](run_spec& x) { x.preload = {"numpy"}; },
                            +[](run_spec& x) { x.readable = {{"/opt", false}}; },
                            +[](run_spec& x) { x.argv[1] = "-I"; }, +[](run_spec& x) { x.kernel_target = "cuda:90"; }}) {
    auto changed = base;
    change(changed);
    BOOST_TEST(ready_key_of(base) != ready_key_of(changed));
  }
}

BOOST_AUTO_TEST_CASE(no_process_waits_for_runs_without_a_device_or_that_are_alone_or_cold) {
  for (const auto change : {+[](run_spec& x) { x.devices.clear(); }, +[](run_spec& x) { x.ready = 0; },
                            +[](run_spec& x) { x.is_alone = true; }, +[](run_spec& x) { x.preload.reset(); },
                            +[](run_spec& x) { x.is_interactive = true; }}) {
    auto changed = gpu_run();
    change(changed);
    BOOST_TEST(ready_key_of(changed).empty());
  }
}

BOOST_AUTO_TEST_CASE(a_waiting_process_has_nothing_of_the_run_that_it_was_modelled_on) {
  auto like = gpu_run();
  like.keep = {"x"};
  const auto made = waiting_spec(like);
  BOOST_TEST(made.files.empty());
  BOOST_TEST(made.keep.empty());
  BOOST_TEST(made.waits);
  BOOST_TEST(made.limits.wall.count() == 0);
  BOOST_TEST(made.argv.back() == "(waiting)");
  BOOST_TEST(made.argv.size() == 3U);
  std::string why;
  BOOST_TEST((zygote_key_of(made, why) == zygote_key_of(like, why)));
}

BOOST_AUTO_TEST_CASE(as_many_as_wished_come_up_and_each_serves_once) {
  book_with_runs book;
  const auto key = book.run(gpu_run());
  BOOST_TEST(book.take(key) == 0U);
  const auto made = book.start_due();
  BOOST_TEST(made.size() == 2U);
  BOOST_TEST(book.start_due().empty());
  BOOST_TEST(book.take(key) == 0U);
  book.on_ready(made[1]);
  BOOST_TEST(book.take(key) == made[1]);
  BOOST_TEST(book.take(key) == 0U);
  BOOST_TEST(book.start_due().size() == 1U);
}

BOOST_AUTO_TEST_CASE(they_are_bounded_together_and_in_coming_up) {
  ready_limits limits;
  limits.most = 5;
  book_with_runs book{limits};
  book.run(gpu_run("/dev/nvidia0", 4));
  book.run(gpu_run("/dev/nvidia1", 4));
  std::size_t all = 0;
  for (int i = 0; i < 6; ++i) {
    const auto made = book.start_due();
    BOOST_TEST(made.size() <= 4U);
    for (const auto id : made) {
      book.on_ready(id);
    }
    all += made.size();
  }
  BOOST_TEST(all == 5U);
}

BOOST_AUTO_TEST_CASE(nobody_waits_any_more_when_no_run_came_for_a_while) {
  book_with_runs book;
  const auto key = book.run(gpu_run());
  for (const auto id : book.start_due()) {
    book.on_ready(id);
  }
  BOOST_TEST(book.due(start + 59s).to_end.empty());
  book.run(gpu_run(), start + 59s);
  BOOST_TEST(book.due(start + 118s).to_end.empty());
  BOOST_TEST(book.due(start + 119s).to_end.size() == 2U);
  BOOST_TEST(book.due(start + 119s).to_start.empty());
  BOOST_TEST(book.take(key) == 0U);
}

BOOST_AUTO_TEST_CASE(one_that_does_not_come_up_is_ended_and_the_next_one_waits_longer_each_time) {
  book_with_runs book;
  auto now = start;
  for (const auto pause : {10s, 20s, 40s}) {
    const auto key = book.run(gpu_run("/dev/nvidia0", 1), now);
    const auto made = book.start_due(now);
    BOOST_TEST(made.size() == 1U);
    BOOST_TEST(book.due(now + 29s).to_end.empty());
    now += 30s;
    BOOST_TEST(book.due(now).to_end == made, boost::test_tools::per_element());
    book.on_end(made[0], now);
    book.run(gpu_run("/dev/nvidia0", 1), now + pause - 1s);
    BOOST_TEST(book.start_due(now + pause - 1s).empty());
    now += pause;
  }
}

BOOST_AUTO_TEST_CASE(whoever_is_alone_on_a_gpu_ends_those_that_wait_there_and_no_others) {
  book_with_runs book;
  const auto one = book.run(gpu_run("/dev/nvidia0", 1)), two = book.run(gpu_run("/dev/nvidia1", 1));
  const auto made = book.start_due();
  for (const auto id : made) {
    book.on_ready(id);
  }
  const std::vector<std::string> claimed{"/dev/nvidiactl", "/dev/nvidia0"};
  book.claim_alone(claimed);
  BOOST_TEST(book.on(claimed).size() == 1U);
  BOOST_TEST(book.due(start).to_end.size() == 1U);
  BOOST_TEST(book.take(one) == 0U);
  BOOST_TEST(book.take(two) != 0U);
  book.on_end(book.due(start).to_end[0], start);
  BOOST_TEST(book.on(claimed).empty());
  BOOST_TEST(book.start_due().size() == 1U);
  book.leave_alone(claimed);
  BOOST_TEST(book.start_due().size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::sandbox
