// SPDX-License-Identifier: Apache-2.0
/// \file
/// A real sandbox, an actor system with real threads, and somebody who hears what the evaluator says.
#pragma once

#include "messages/node_handles.hpp"
#include "node/evaluator_actor.hpp"
#include "node/sandbox_launcher.hpp"
#include "sandbox/interpreter.hpp"
#include "sandbox/runner.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regatta::test {

inline std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Says so aloud; a failure if REGATTA_REQUIRE names the feature.
inline void skip(const std::string& feature, const std::string& why) {
  std::cerr << "SKIPPED: " << boost::unit_test::framework::current_test_case().p_name.get() << ": " << why << "\n";
  BOOST_TEST(("," + environment("REGATTA_REQUIRE") + ",").find(feature) == std::string::npos,
             "REGATTA_REQUIRE names " << feature << ", and: " << why);
}

/// What the evaluator said, for a test that waits in another thread.
class heard_runs {
public:
  void add(run_ended x) {
    const std::lock_guard lock{mutex_};
    ended_.push_back(std::move(x));
    changed_.notify_all();
  }
  void add(const run_progress& x) {
    const std::lock_guard lock{mutex_};
    progress_.push_back(x);
    changed_.notify_all();
  }
  /// 60 s: python and torch on a machine that does other things, too.
  bool wait_for_ends(std::size_t count) {
    return wait([&] { return ended_.size() >= count; });
  }
  bool wait_for_starts(std::size_t count) {
    return wait([&] {
      return static_cast<std::size_t>(
                 std::ranges::count_if(progress_, [](const run_progress& x) { return x.has_started; })) >= count;
    });
  }
  std::vector<run_ended> ended() {
    const std::lock_guard lock{mutex_};
    return ended_;
  }

private:
  bool wait(const std::function<bool()>& is_true) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, std::chrono::seconds{60}, is_true);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<run_ended> ended_;
  std::vector<run_progress> progress_;
};

inline run_sink_actor::behavior_type listener(run_sink_actor::pointer, std::shared_ptr<heard_runs> out) {
  return {
      [=](const run_progress& x) { out->add(x); },
      [=](const run_ended& x) { out->add(x); },
  };
}

class sandbox_house {
public:
  sandbox_house() : sink_{system.spawn(listener, heard)} { open("/usr/bin/python3"); }
  sandbox_house(const sandbox_house&) = delete;
  sandbox_house& operator=(const sandbox_house&) = delete;
  ~sandbox_house() {
    end(evaluator);
    end(sink_);
  }

  template <class Handle>
  static void end(const Handle& actor) {
    if (actor) {
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    }
  }

  /// False, and said so, if this host has no sandbox or not this interpreter.
  bool open(const std::string& executable) {
    sandbox::runner_config config;
    std::string error;
    runner = sandbox::runner::open(config, sandbox::probe(), error);
    if (runner == nullptr) {
      skip("sandbox", error);
      return false;
    }
    const auto found = sandbox::inspect_interpreter(executable, {}, error);
    if (!found) {
      skip("python", error);
      return false;
    }
    python = *found;
    return true;
  }
  bool is_open() const { return runner != nullptr && !python.executable.empty(); }

  void start_evaluator(std::uint32_t cpus, std::vector<gpu> gpus = {}, evaluator_timing timing = {}) {
    evaluator_config config;
    config.node = node_id{"here"};
    config.sink = sink_;
    config.runner = runner;
    config.python = python;
    config.host_environment = host_environment;
    config.gpus = std::move(gpus);
    config.cpu_slots = cpus;
    auto launcher = std::make_shared<sandbox_launcher>(runner, python, host_environment);
    evaluator = spawn_evaluator_on(system, std::move(config), std::move(launcher), timing);
  }

  template <class Answer, class Handle, class Message>
  caf::expected<Answer> ask(const Handle& to, Message msg) {
    caf::scoped_actor self{system};
    caf::expected<Answer> result{caf::sec::request_timeout};
    self->request(to, std::chrono::seconds{60}, std::move(msg))
        .receive([&](Answer& x) { result = std::move(x); }, [&](caf::error& e) { result = std::move(e); });
    return result;
  }

  /// Runs one candidate to its end.
  evaluation evaluate(run what) {
    const auto before = heard->ended().size();
    BOOST_REQUIRE(ask<accepted>(evaluator, std::move(what)));
    BOOST_REQUIRE(heard->wait_for_ends(before + 1));
    return heard->ended().back().result;
  }

  std::shared_ptr<heard_runs> heard = std::make_shared<heard_runs>();
  std::shared_ptr<sandbox::runner> runner;
  sandbox::interpreter python;
  std::map<std::string, std::string> host_environment{{"PATH", "/usr/bin:/bin"}};
  caf::actor_system_config system_config;
  caf::actor_system system{system_config};

private:
  run_sink_actor sink_;

public:
  evaluator_actor evaluator;
};

inline run candidate(std::string code, std::uint32_t worker = 1, const std::string& race = "race") {
  run x;
  x.race = race_id{race};
  x.worker = make_worker_id(worker);
  x.round = 1;
  x.attempt = 1;
  x.code = std::move(code);
  x.digest = source_digest{"digest-" + std::to_string(worker)};
  x.problem = "answer = 42\n";
  x.limits.wall = std::chrono::seconds{60};
  return x;
}

}  // namespace regatta::test
