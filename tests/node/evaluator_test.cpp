// SPDX-License-Identifier: Apache-2.0
#include "node/evaluator_actor.hpp"
#include "tests/node/scripted_launcher.hpp"
#include "tests/support/deterministic_system.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace regatta;
using namespace std::chrono_literals;

struct heard {
  std::vector<run_progress> progress;
  std::vector<run_ended> ended;
};

run_sink_actor::behavior_type listener(run_sink_actor::pointer, std::shared_ptr<heard> out) {
  return {
      [=](const run_progress& x) { out->progress.push_back(x); },
      [=](const run_ended& x) { out->ended.push_back(x); },
  };
}

run make_run(const std::string& race, std::uint32_t number, device_need need = device_need::any) {
  run x;
  x.race = race_id{race};
  x.worker = make_worker_id(number);
  x.round = 1;
  x.attempt = 1;
  x.code = "print('PASS')\n";
  x.digest = source_digest{"digest"};
  x.device = need;
  x.limits.wall = 60s;
  return x;
}

struct fixture {
  void open(std::uint32_t cpus, std::vector<std::string> gpus = {}, std::uint32_t gpu_slots = 1) {
    sink = system.spawn(listener, log);
    evaluator_config config;
    config.node = node_id{"here"};
    config.sink = sink;
    config.cpu_slots = cpus;
    config.gpu_slots = gpu_slots;
    config.free_gpu_memory = free_gpu_memory;
    for (const auto& uuid : gpus) {
      config.gpus.push_back({uuid, "Fake", 0, 0, "8.6", {}});
    }
    evaluator = spawn_evaluator_on(system.sys, std::move(config), launcher);
    system.sched.run();
  }
  ~fixture() {
    caf::anon_send_exit(evaluator, caf::exit_reason::user_shutdown);
    system.sched.run();
  }
  bool ask(const run& x) { return static_cast<bool>(system.ask<accepted>(evaluator, x)); }
  void end(candidate_launcher::handle number, outcome how, claim said = claim::none, const std::string& words = {}) {
    launcher->end(number, how, said, words);
    system.sched.run();
  }

  std::function<std::vector<std::uint64_t>()> free_gpu_memory;
  std::shared_ptr<heard> log = std::make_shared<heard>();
  std::shared_ptr<test::scripted_launcher> launcher = std::make_shared<test::scripted_launcher>();
  test::deterministic_system system;
  run_sink_actor sink;
  evaluator_actor evaluator;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(evaluator_shell, fixture)

BOOST_AUTO_TEST_CASE(a_run_is_accepted_at_once_and_ends_once_with_its_record) {
  open(1);
  const auto answer = system.ask<accepted>(evaluator, make_run("r", 1));
  BOOST_TEST(answer->by == "here");
  BOOST_TEST(log->ended.empty());
  end(1, outcome::exited, claim::run_tests);
  end(1, outcome::exited, claim::run_tests);
  BOOST_TEST(log->ended.size() == 1U);
  BOOST_TEST(log->ended[0].worker.text == "worker_01");
  BOOST_TEST(log->ended[0].result.claim == claim::run_tests);
  BOOST_TEST(log->ended[0].result.slot == "cpu-0");
  BOOST_TEST(log->ended[0].result.engine == "cpu");
}

BOOST_AUTO_TEST_CASE(the_same_run_again_is_accepted_and_not_run_again) {
  open(2);
  BOOST_TEST(ask(make_run("r", 1)));
  BOOST_TEST(ask(make_run("r", 1)));
  BOOST_TEST(launcher->started.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_gpu_run_is_refused_where_there_is_no_gpu) {
  open(2);
  const auto answer = system.ask<accepted>(evaluator, make_run("r", 1, device_need::gpu));
  BOOST_TEST(code_of(answer.error()) == ec::refused);
}

BOOST_AUTO_TEST_CASE(each_gpu_has_one_run_and_six_of_them_are_used_at_once) {
  open(1, {"GPU-0", "GPU-1", "GPU-2", "GPU-3", "GPU-4", "GPU-5"});
  for (std::uint32_t i = 1; i <= 60; ++i) {
    BOOST_TEST(ask(make_run("r", i)));
  }
  BOOST_TEST(launcher->running() == 6U);
  std::vector<std::string> used;
  for (const auto& each : launcher->started) {
    used.push_back(each.gpu_uuid);
  }
  BOOST_TEST(used == (std::vector<std::string>{"GPU-0", "GPU-1", "GPU-2", "GPU-3", "GPU-4", "GPU-5"}),
             boost::test_tools::per_element());
  end(3, outcome::exited_nonzero);
  BOOST_TEST(launcher->started.back().gpu_uuid == "GPU-2");
  BOOST_TEST(log->ended[0].result.gpu_uuid == "GPU-2");
  BOOST_TEST(log->ended[0].result.engine == "cuda-sm_86");
}

BOOST_AUTO_TEST_CASE(a_time_out_beside_others_on_a_gpu_counts_only_if_it_happens_again_alone) {
  open(1, {"GPU-0"}, 2);
  ask(make_run("r", 1));
  ask(make_run("r", 2));
  end(1, outcome::timed_out);
  BOOST_TEST(log->ended.empty());
  BOOST_TEST(launcher->started.size() == 2U);
  end(2, outcome::exited_nonzero, claim::none, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 80 GiB");
  BOOST_TEST(log->ended.empty());
  BOOST_REQUIRE(launcher->started.size() == 3U);
  BOOST_TEST(launcher->started[2].is_alone);
  end(3, outcome::timed_out);
  BOOST_TEST(log->ended.at(0).result.outcome == outcome::timed_out);
  BOOST_TEST(log->ended[0].result.reason.find("after timed_out beside others") != std::string::npos,
             log->ended[0].result.reason);
  end(4, outcome::exited, claim::run_tests);
  BOOST_TEST(log->ended.at(1).result.claim == claim::run_tests);
  ask(make_run("r", 3));
  BOOST_TEST(!launcher->started.back().is_alone);
  end(5, outcome::timed_out);
  BOOST_TEST(log->ended.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_gpu_whose_memory_is_used_up_takes_no_more_runs_until_there_is_room) {
  std::atomic<std::uint64_t> free{1 * GiB};
  std::atomic<int> asked{0};
  free_gpu_memory = [&] {
    ++asked;
    return std::vector<std::uint64_t>{free};
  };
  open(1, {"GPU-0"}, 3);
  const auto look = [&] {
    system.advance(progress_interval);
    // The answer comes from a thread of its own; after the second one the first has arrived.
    for (const int before = asked; asked < before + 2;) {
      system.advance(progress_interval);
      std::this_thread::yield();
    }
  };
  auto first = make_run("r", 1);
  first.limits.wall = 10h;
  ask(first);
  look();
  ask(make_run("r", 2));
  BOOST_TEST(launcher->started.size() == 1U);
  free = 6 * GiB;
  look();
  BOOST_TEST(launcher->started.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_cancel_ends_a_run_that_waits_to_be_repeated) {
  open(1, {"GPU-0"}, 2);
  ask(make_run("r", 1));
  ask(make_run("other", 1));
  end(1, outcome::timed_out);
  BOOST_TEST(system.ask<runs_signalled>(evaluator, cancel_runs{race_id{"r"}, {}})->queued == 1U);
  BOOST_TEST(log->ended.size() == 1U);
  end(2, outcome::exited);
  BOOST_TEST(launcher->started.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_small_race_is_not_starved_by_a_large_one) {
  open(1);
  for (std::uint32_t i = 1; i <= 1000; ++i) {
    ask(make_run("large", i));
  }
  ask(make_run("small", 1));
  end(1, outcome::exited_nonzero);
  end(2, outcome::exited_nonzero);
  BOOST_TEST(launcher->started.back().what.race.text == "small");
}

BOOST_AUTO_TEST_CASE(waiting_and_running_runs_are_heard_of_at_every_interval) {
  open(1);
  ask(make_run("r", 1));
  ask(make_run("r", 2));
  log->progress.clear();
  system.advance(progress_interval);
  BOOST_TEST(log->progress.size() == 2U);
  system.advance(progress_interval);
  BOOST_TEST(log->progress.size() == 4U);
  BOOST_TEST(log->progress[2].has_started);
  BOOST_TEST(!log->progress[3].has_started);
}

BOOST_AUTO_TEST_CASE(cancel_kills_before_it_answers_and_ends_follow_when_trees_are_gone) {
  open(1);
  ask(make_run("r", 1));
  ask(make_run("r", 2));
  ask(make_run("other", 1));
  const auto answer = system.ask<runs_signalled>(evaluator, cancel_runs{race_id{"r"}, {}});
  BOOST_TEST(answer->running == 1U);
  BOOST_TEST(answer->queued == 1U);
  BOOST_TEST(launcher->killed.size() == 1U);
  BOOST_TEST(log->ended.size() == 1U);
  BOOST_TEST(log->ended[0].worker.text == "worker_02");
  BOOST_TEST(log->ended[0].result.outcome == outcome::cancelled);
  BOOST_TEST(launcher->started.size() == 1U);
  end(1, outcome::cancelled);
  BOOST_TEST(log->ended.size() == 2U);
  BOOST_TEST(launcher->started.back().what.race.text == "other");
  BOOST_TEST(!ask(make_run("r", 3)));
}

// Kind B37: what does not die keeps its slot.
BOOST_AUTO_TEST_CASE(an_expired_lease_kills_its_run_and_keeps_the_slot_until_the_tree_is_gone) {
  open(1);
  ask(make_run("r", 1));
  ask(make_run("r", 2));
  for (auto t = 0s; t < 68s; t += progress_interval) {
    system.advance(progress_interval);
  }
  BOOST_TEST(launcher->killed.empty());
  system.advance(progress_interval);
  BOOST_TEST(launcher->killed.size() == 1U);
  BOOST_TEST(launcher->started.size() == 1U);
  end(1, outcome::cancelled);
  BOOST_TEST(log->ended.at(0).result.outcome == outcome::sandbox_failed);
  BOOST_TEST(launcher->started.size() == 2U);
}

BOOST_AUTO_TEST_CASE(another_candidate_under_the_same_key_is_the_only_one_whose_end_is_told) {
  open(2);
  ask(make_run("r", 1));
  auto other = make_run("r", 1);
  other.digest = source_digest{"other"};
  ask(other);
  BOOST_TEST(launcher->killed.size() == 1U);
  end(1, outcome::cancelled);
  BOOST_TEST(log->ended.empty());
  end(2, outcome::exited);
  BOOST_TEST(log->ended.size() == 1U);
  BOOST_TEST(log->ended[0].result.outcome == outcome::exited);
}

BOOST_AUTO_TEST_CASE(an_evaluator_that_ends_kills_its_runs) {
  open(2);
  ask(make_run("r", 1));
  ask(make_run("r", 2));
  caf::anon_send_exit(evaluator, caf::exit_reason::kill);
  system.sched.run();
  BOOST_TEST(launcher->killed.size() == 2U);
  end(1, outcome::cancelled);
  BOOST_TEST(log->ended.empty());
}

BOOST_AUTO_TEST_CASE(an_evaluator_ends_with_its_sink) {
  open(1);
  ask(make_run("r", 1));
  caf::anon_send_exit(sink, caf::exit_reason::kill);
  system.sched.run();
  BOOST_TEST(launcher->killed.size() == 1U);
  BOOST_TEST(!ask(make_run("r", 2)));
}

BOOST_AUTO_TEST_SUITE_END()
