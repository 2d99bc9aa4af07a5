// SPDX-License-Identifier: Apache-2.0
// The same actors on CAF's own scheduler: a race ends, and its actor system is gone although timers were armed.
#include "tests/support/race_house.hpp"

#include <boost/test/unit_test.hpp>

#include <future>

using namespace regatta;
using namespace regatta::test;
using namespace std::chrono_literals;

namespace {

event_sink_actor::behavior_type promising_sink(event_sink_actor::pointer self,
                                               std::shared_ptr<std::promise<race_closed>> to) {
  return {[](const event&) {},
          [self, to](const race_closed& x) {
            to->set_value(x);
            self->quit();
          }};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(real_threads)

BOOST_AUTO_TEST_CASE(sixteen_workers_race_and_everything_ends) {
  const auto closed = std::make_shared<std::promise<race_closed>>();
  auto is_closed = closed->get_future();
  const auto began = std::chrono::steady_clock::now();
  {
    caf::actor_system_config options;
    caf::actor_system sys{options};
    const auto llm = std::make_shared<llm_script>();
    llm->answer = [](const prompt& x) {
      return x.worker == make_worker_id(7) ? says_code("x = 'pass'")
                                           : says_code("hang = '" + to_string(x.worker) + "'");
    };
    const auto runs = std::make_shared<evaluator_log>();
    auto store = sys.spawn(fake_store, 0U);
    coordinator_config setup;
    setup.store = store;
    setup.sinks = {sys.spawn(promising_sink, closed)};
    setup.make_gateway = [llm](caf::actor_system& s, prompt_sink_actor to) -> llm_gateway_actor {
      return s.spawn(scripted_llm, llm, to);
    };
    setup.nodes = {{node_id{"local"}, [runs](caf::actor_system& s, uplink_actor up) {
                      node_agent_config agent{node_id{"local"}, std::move(up), {}, s.spawn(fake_checker, 0U)};
                      agent.make_evaluator = [runs](caf::actor_system& s2, run_sink_actor to) -> evaluator_actor {
                        return s2.spawn(fake_evaluator, runs, to);
                      };
                      return spawn_node_agent(s, std::move(agent));
                    }}};
    auto coordinator = spawn_coordinator(sys, std::move(setup));
    race_spec spec;
    spec.race = race_id{"run_1"};
    spec.stage.variants = {"v"};
    for (std::uint32_t i = 1; i <= 16; ++i) {
      spec.workers.push_back({make_worker_id(i), i, 0, {}, {}});
    }
    caf::anon_send(coordinator, start_race{spec, {}});
    BOOST_REQUIRE(is_closed.wait_for(30s) == std::future_status::ready);
    caf::anon_send_exit(coordinator, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(store, caf::exit_reason::user_shutdown);
  }
  const auto end = is_closed.get().ended;
  BOOST_TEST((end.end == race_end::won));
  BOOST_TEST(end.unconfirmed_nodes.empty());
  BOOST_TEST((std::chrono::steady_clock::now() - began < 15s), "an armed silence timer must not hold the end back");
}

BOOST_AUTO_TEST_SUITE_END()
