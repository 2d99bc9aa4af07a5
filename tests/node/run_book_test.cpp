// SPDX-License-Identifier: Apache-2.0
#include "node/run_book.hpp"

#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

namespace {

using namespace regatta;
using namespace std::chrono_literals;

const run_entry::time_point start{};

run make_run(const std::string& race, std::uint32_t number, const std::string& digest = "d",
             device_need need = device_need::any) {
  run x;
  x.race = race_id{race};
  x.worker = make_worker_id(number);
  x.round = 1;
  x.attempt = 1;
  x.digest = source_digest{digest};
  x.device = need;
  x.limits.wall = 10s;
  return x;
}

run_book_config slots(std::uint32_t cpus, std::uint32_t gpus = 0, std::uint32_t per_gpu = 1) {
  return {node_id{"here"}, cpus, gpus, per_gpu, 5s};
}

run make_timing(const std::string& race, std::uint32_t number) {
  auto x = make_run(race, number);
  x.is_timing = true;
  return x;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(run_book_rules)

BOOST_AUTO_TEST_CASE(runs_start_while_there_are_slots_and_wait_after_that) {
  run_book book{slots(2)};
  for (std::uint32_t i = 1; i <= 3; ++i) {
    BOOST_TEST(book.admit(make_run("r", i), start)->is_new);
  }
  BOOST_TEST(book.place(start).size() == 2U);
  BOOST_TEST(book.place(start).empty());
  BOOST_TEST(book.finish(1)->held->slot == "cpu-0");
  const auto next = book.place(start + 1s);
  BOOST_TEST(next.size() == 1U);
  BOOST_TEST(book.find(next[0])->what.worker.text == "worker_03");
  BOOST_TEST(book.find(next[0])->held->slot == "cpu-0");
}

BOOST_AUTO_TEST_CASE(a_node_without_a_fitting_slot_refuses_by_name) {
  run_book book{slots(1)};
  const auto refused = book.admit(make_run("r", 1, "d", device_need::gpu), start);
  BOOST_TEST(code_of(refused.error()) == ec::refused);
  BOOST_TEST(text_of(refused.error()) == "node here has no slot for device need gpu");
}

BOOST_AUTO_TEST_CASE(a_full_gpu_does_not_hold_up_runs_that_need_a_cpu) {
  run_book book{slots(1, 1)};
  book.admit(make_run("r", 1), start);
  book.admit(make_run("r", 2), start);
  book.admit(make_run("r", 3, "d", device_need::cpu), start);
  BOOST_TEST(book.place(start).size() == 2U);
  BOOST_TEST(!book.find(2)->held);
  BOOST_TEST(book.find(3)->held->slot == "cpu-0");
}

BOOST_AUTO_TEST_CASE(the_same_run_twice_is_one_run) {
  run_book book{slots(1)};
  BOOST_TEST(book.admit(make_run("r", 1), start)->is_new);
  BOOST_TEST(!book.admit(make_run("r", 1), start)->is_new);
  BOOST_TEST(book.place(start).size() == 1U);
  BOOST_TEST(!book.admit(make_run("r", 1), start)->is_new);
  BOOST_TEST(book.place(start).empty());
}

BOOST_AUTO_TEST_CASE(after_its_end_a_key_can_be_run_again) {
  run_book book{slots(1)};
  book.admit(make_run("r", 1), start);
  book.finish(book.place(start).at(0));
  BOOST_TEST(book.empty());
  BOOST_TEST(book.admit(make_run("r", 1), start)->is_new);
  BOOST_TEST(book.place(start).size() == 1U);
}

BOOST_AUTO_TEST_CASE(another_candidate_under_the_same_key_replaces_one_that_waits) {
  run_book book{slots(1)};
  book.admit(make_run("r", 1), start);
  book.place(start);
  book.admit(make_run("r", 2, "old"), start);
  const auto replaced = book.admit(make_run("r", 2, "new"), start);
  BOOST_TEST(replaced->is_new);
  BOOST_TEST(!replaced->to_kill);
  book.finish(1);
  const auto next = book.place(start);
  BOOST_TEST(next.size() == 1U);
  BOOST_TEST(book.find(next[0])->what.digest.text == "new");
}

BOOST_AUTO_TEST_CASE(another_candidate_under_the_same_key_condemns_one_that_runs) {
  run_book book{slots(2)};
  book.admit(make_run("r", 1, "old"), start);
  book.place(start);
  BOOST_TEST(*book.admit(make_run("r", 1, "new"), start)->to_kill == 1U);
  BOOST_TEST(book.place(start).size() == 1U);
  BOOST_TEST(book.progress().size() == 1U);
  BOOST_TEST((book.finish(1)->stop == stop_cause::superseded));
  BOOST_TEST(!book.admit(make_run("r", 1, "new"), start)->is_new);
}

BOOST_AUTO_TEST_CASE(cancel_drops_what_waits_and_condemns_what_runs_of_that_race_only) {
  run_book book{slots(2)};
  for (std::uint32_t i = 1; i <= 3; ++i) {
    book.admit(make_run("lost", i), start);
    book.admit(make_run("other", i), start);
  }
  BOOST_TEST(book.place(start).size() == 2U);
  const auto stopped = book.cancel(race_id{"lost"}, {});
  BOOST_TEST(stopped.to_kill.size() == 1U);
  BOOST_TEST(stopped.dropped.size() == 2U);
  BOOST_TEST(book.cancel(race_id{"lost"}, {}).to_kill.size() == 1U);
  BOOST_TEST(book.cancel(race_id{"lost"}, {}).dropped.empty());
  BOOST_TEST((book.finish(stopped.to_kill[0])->stop == stop_cause::cancelled));
  BOOST_TEST(book.cancel(race_id{"lost"}, {}).to_kill.empty());
  BOOST_TEST(book.place(start).size() == 1U);
}

BOOST_AUTO_TEST_CASE(cancelling_one_worker_spares_the_others_and_its_own_later_runs) {
  run_book book{slots(2)};
  for (std::uint32_t i = 1; i <= 3; ++i) {
    book.admit(make_run("r", i), start);
  }
  book.place(start);
  BOOST_TEST(book.cancel(race_id{"r"}, make_worker_id(1)).to_kill.size() == 1U);
  BOOST_TEST(book.cancel(race_id{"r"}, make_worker_id(3)).dropped.size() == 1U);
  BOOST_TEST((book.find(2)->stop == stop_cause::none));
  BOOST_TEST(book.admit(make_run("r", 1), start)->is_new);
  BOOST_TEST((book.finish(1)->stop == stop_cause::superseded));
}

BOOST_AUTO_TEST_CASE(a_run_of_a_cancelled_race_comes_too_late) {
  run_book book{slots(1)};
  book.cancel(race_id{"r"}, {});
  BOOST_TEST(code_of(book.admit(make_run("r", 1), start).error()) == ec::refused);
  BOOST_TEST(book.admit(make_run("other", 1), start)->is_new);
}

BOOST_AUTO_TEST_CASE(a_lease_lasts_the_wall_limit_and_the_grace_from_the_start_not_from_the_queue) {
  run_book book{slots(1)};
  book.admit(make_run("r", 1), start);
  book.place(start + 100s);
  BOOST_TEST(book.expire(start + 115s - 1ns).empty());
  BOOST_TEST(book.expire(start + 115s).size() == 1U);
  BOOST_TEST(book.expire(start + 116s).empty());
  book.admit(make_run("r", 2), start);
  BOOST_TEST(book.place(start + 200s).empty());
  BOOST_TEST((book.finish(1)->stop == stop_cause::lease_expired));
  BOOST_TEST(book.place(start + 200s).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_timing_waits_for_the_whole_gpu_and_holds_back_those_after_it) {
  run_book book{slots(1, 1, 2)};
  book.admit(make_run("r", 1), start);
  book.place(start);
  book.admit(make_timing("t", 1), start);
  book.admit(make_run("r", 2), start);
  BOOST_TEST(book.place(start).empty());
  BOOST_TEST(book.progress().size() == 3U);
  book.finish(1);
  BOOST_TEST(book.place(start) == std::vector<run_number>{2});
  BOOST_TEST(book.find(2)->held->is_exclusive);
  BOOST_TEST(book.find(2)->held->slot == "gpu-0");
  book.finish(2);
  BOOST_TEST(book.place(start) == std::vector<run_number>{3});
}

BOOST_AUTO_TEST_CASE(the_winner_of_a_cancelled_race_is_timed_and_may_be_cancelled_again) {
  run_book book{slots(2)};
  book.cancel(race_id{"r"}, {});
  BOOST_TEST(book.admit(make_timing("r", 1), start)->is_new);
  BOOST_TEST(book.place(start).size() == 1U);
  BOOST_TEST(book.cancel(race_id{"r"}, {}).to_kill.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_timing_that_is_cancelled_while_it_waits_gives_its_claim_back) {
  run_book book{slots(1, 1, 2)};
  book.admit(make_run("r", 1), start);
  book.place(start);
  book.admit(make_timing("t", 1), start);
  book.place(start);
  BOOST_TEST(book.cancel(race_id{"t"}, {}).dropped.size() == 1U);
  book.admit(make_run("r", 2), start);
  BOOST_TEST(book.place(start).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_run_that_had_neighbours_is_repeated_alone_and_once) {
  run_book book{slots(1, 1, 2)};
  book.admit(make_run("r", 1), start);
  book.admit(make_run("r", 2), start);
  BOOST_TEST(book.place(start).size() == 2U);
  BOOST_TEST(book.repeat_alone(1, "timed_out", start + 5s));
  BOOST_TEST(book.place(start + 5s).empty());
  book.finish(2);
  BOOST_TEST(book.place(start + 6s) == std::vector<run_number>{1});
  BOOST_TEST(book.find(1)->held->is_exclusive);
  BOOST_TEST(book.find(1)->first_end == "timed_out");
  BOOST_TEST(!book.repeat_alone(1, "timed_out", start + 7s));
}

BOOST_AUTO_TEST_CASE(a_run_without_neighbours_or_without_a_gpu_or_killed_by_us_is_not_repeated) {
  run_book book{slots(2, 1, 2)};
  book.admit(make_run("r", 1), start);
  book.place(start);
  BOOST_TEST(!book.repeat_alone(1, "timed_out", start));
  book.admit(make_run("r", 2, "d", device_need::cpu), start);
  book.admit(make_run("r", 3, "d", device_need::cpu), start);
  book.place(start);
  BOOST_TEST(!book.repeat_alone(2, "timed_out", start));
  book.admit(make_run("r", 4), start);
  book.place(start);
  book.cancel(race_id{"r"}, {});
  BOOST_TEST(!book.repeat_alone(4, "timed_out", start));
}

BOOST_AUTO_TEST_CASE(progress_tells_who_runs_where_and_how_many_are_ahead) {
  run_book book{slots(1)};
  for (std::uint32_t i = 1; i <= 3; ++i) {
    book.admit(make_run("r", i), start);
  }
  book.place(start);
  const auto told = book.progress();
  BOOST_TEST(told.size() == 3U);
  BOOST_TEST(told[0].has_started);
  BOOST_TEST(told[0].slot == "cpu-0");
  BOOST_TEST(told[1].ahead == 0U);
  BOOST_TEST(told[2].ahead == 1U);
  BOOST_TEST(!told[2].has_started);
  BOOST_TEST(told[2].slot.empty());
}

BOOST_AUTO_TEST_SUITE_END()
