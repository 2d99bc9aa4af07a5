// SPDX-License-Identifier: Apache-2.0
/// \file
/// A coordinator, its nodes and everything around them: the real actors of a race, doubles for LLM, sandbox, store.
#pragma once

#include "coordinator/coordinator.hpp"
#include "node/node_agent.hpp"
#include "tests/support/deterministic_system.hpp"
#include "tests/support/fake_evaluator.hpp"
#include "tests/support/scripted_llm.hpp"
#include "tests/support/wire_relay.hpp"

#include <caf/actor_registry.hpp>
#include <caf/scheduled_actor.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regatta::test {

/// How messages travel between coordinator and nodes.
enum class path : std::uint8_t { direct, codec };

struct sink_log {
  std::vector<event> events;
  std::vector<race_closed> closed;
};

inline event_sink_actor::behavior_type recording_sink(event_sink_actor::pointer, std::shared_ptr<sink_log> log) {
  return {
      [log](const event& x) { log->events.push_back(x); },
      [log](const race_closed& x) { log->closed.push_back(x); },
  };
}

struct fake_store_state {
  fake_store_state() {}
  static inline const char* name = "fake-store";
};

inline store_actor::behavior_type fake_store(store_actor::stateful_pointer<fake_store_state>, std::uint32_t) {
  return {
      [](const event&) {},
      [](const commit& x) {
        return committed{x.race, x.seq, "/runs/result.tar.gz"};
      },
  };
}

class race_house : public deterministic_system {
public:
  explicit race_house(path way, std::uint32_t nodes = 2) : way_{way} {
    llm->answer = [](const prompt&) { return holds(); };
    store = sys.spawn(fake_store, 0U);
    sink = sys.spawn(recording_sink, log);
    coordinator_config setup{store, {sink}, {}, {}, [] { return std::int64_t{1'000'000}; }};
    setup.make_gateway = [this](caf::actor_system& system, prompt_sink_actor to) {
      return gateway = system.spawn(scripted_llm, llm, to);
    };
    for (std::uint32_t i = 1; i <= nodes; ++i) {
      setup.nodes.push_back(entry_of(node_id{"n" + std::to_string(i)}));
    }
    coordinator = spawn_coordinator(sys, std::move(setup));
    sched.run();
  }
  ~race_house() {
    caf::anon_send_exit(coordinator, caf::exit_reason::user_shutdown);
    sched.run();
    // Whatever a test has broken: all of it must be gone when the clock says so.
    for (int i = 0; i < 30 && living() > 0; ++i) {
      advance(std::chrono::seconds{1});
    }
    caf::anon_send_exit(store, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(sink, caf::exit_reason::user_shutdown);
    sched.run();
  }

  race_spec spec(std::uint32_t workers, std::uint32_t rounds = 3) const {
    race_spec out;
    out.race = race_id{"run_1"};
    out.stage.name = "kernel";
    out.stage.system = "be brief";
    out.stage.variants = {"variant one", "variant two"};
    out.stage.body = "write a kernel";
    out.problem = {"p", "/p.py", "class Model: pass\n", "d1"};
    out.rounds = rounds;
    for (std::uint32_t i = 1; i <= workers; ++i) {
      out.workers.push_back({make_worker_id(i), i, i - 1, {"scripted", "m", {}, {}, 0, ""}, {}});
    }
    return out;
  }

  caf::expected<accepted> start(race_spec x) { return ask<accepted>(coordinator, start_race{std::move(x), {}}); }

  /// Runs pending jobs, at most so many, in an order drawn from `seed`.
  void run_shuffled(std::uint32_t seed, std::uint32_t most = 1'000'000) {
    std::mt19937 draw{seed};
    while (sched.has_job() && most-- > 0) {
      const auto at = std::uniform_int_distribution<std::size_t>{0, sched.jobs.size() - 1}(draw);
      std::swap(sched.jobs[0], sched.jobs[at]);
      sched.run_once();
    }
  }
  /// Runs until an actor of this name has its `nth` turn (from 0) and ends it in place of that turn. False if there
  /// is no such turn.
  bool end_at_turn(std::string_view name, std::uint32_t nth) {
    while (sched.has_job()) {
      auto* actor = dynamic_cast<caf::scheduled_actor*>(sched.jobs.front());
      if (actor != nullptr && name == actor->name() && nth-- == 0) {
        const auto victim = caf::actor_cast<caf::actor>(actor->ctrl());
        // Not `kill`: CAF passes that on through links as `kill`, and no handler sees it.
        caf::anon_send_exit(victim, caf::exit_reason::unhandled_exception);
        sched.run_once();
        return true;
      }
      sched.run_once();
    }
    return false;
  }
  /// Actors that live besides the doubles of store and sink.
  std::size_t living() { return sys.registry().running() - 2; }
  /// In steps shorter than any period of ours.
  void pass(std::chrono::seconds time) {
    for (auto i = std::chrono::seconds{0}; i < time; ++i) {
      advance(std::chrono::seconds{1});
    }
  }

  template <class T>
  std::vector<T> facts() const {
    std::vector<T> out;
    for (const auto& x : log->events) {
      if (const auto* body = std::get_if<T>(&x.body)) {
        out.push_back(*body);
      }
    }
    return out;
  }
  template <class T>
  std::vector<T> facts_of(const worker_id& worker) const {
    auto out = facts<T>();
    std::erase_if(out, [&](const T& x) { return x.worker != worker; });
    return out;
  }

  std::shared_ptr<llm_script> llm = std::make_shared<llm_script>();
  std::shared_ptr<evaluator_log> runs = std::make_shared<evaluator_log>();
  std::shared_ptr<sink_log> log = std::make_shared<sink_log>();
  std::shared_ptr<relay_log> relayed = std::make_shared<relay_log>();
  llm_gateway_actor gateway;
  std::map<node_id, caf::actor> evaluators;  ///< The last one made on each node.
  std::map<node_id, node_actor> agents;
  std::map<node_id, source_checker_actor> checkers;
  store_actor store;
  event_sink_actor sink;
  coordinator_actor coordinator;

private:
  node_entry entry_of(const node_id& id) {
    const auto make_agent = [this, id](caf::actor_system& system, uplink_actor uplink) {
      checkers[id] = system.spawn(fake_checker, 0U);
      node_agent_config setup{id, std::move(uplink), {}, checkers[id]};
      setup.make_evaluator = [this, id](caf::actor_system& s, run_sink_actor to) {
        auto made = s.spawn(fake_evaluator, runs, to);
        evaluators[id] = caf::actor_cast<caf::actor>(made);
        return made;
      };
      return agents[id] = spawn_node_agent(system, std::move(setup));
    };
    if (way_ == path::direct) {
      return {id, make_agent};
    }
    return {id, [this, make_agent](caf::actor_system& system, uplink_actor uplink) -> node_actor {
              return system.spawn(wire_relay, std::move(uplink), relayed, make_agent);
            }};
  }

  path way_;
};

}  // namespace regatta::test
