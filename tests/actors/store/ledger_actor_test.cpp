// SPDX-License-Identifier: Apache-2.0
// The ledger as the gateway meets it: through the store's actor.
#include "tests/actors/store/ledger_bench.hpp"
#include "tests/actors/store/skip.hpp"
#include "tests/actors/store/state_folder.hpp"
#include "tests/actors/store/store_fixture.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/scoped_actor.hpp>

#include <cstring>
#include <fstream>

using namespace regatta;
using namespace regatta::test;

BOOST_FIXTURE_TEST_SUITE(ledger_actors, state_folder)

BOOST_AUTO_TEST_CASE(a_store_is_a_ledger_as_well) {
  running_store store{state};
  const store_actor as_store = store.actor();
  const ledger_actor as_ledger = store.actor();
  BOOST_TEST((as_store && as_ledger));
}

BOOST_AUTO_TEST_CASE(a_race_that_was_told_before_is_known_although_its_events_still_wait) {
  running_store store{state};
  scripted_race race{"run_1"};
  race.start();
  store.tell(race);
  const auto opened = store.ask(call_of("run_1", 1, 10));
  BOOST_REQUIRE_MESSAGE(opened, why(opened));
  BOOST_TEST(number("SELECT count(*) FROM llm_calls WHERE closed_us IS NULL") == 1, "on disk before the answer");
  BOOST_REQUIRE(store.ask(end_of(opened->call, llm_outcome::replied, 3)));
  BOOST_TEST(number("SELECT count(*) FROM llm_calls WHERE outcome = 'replied'") == 1);
  BOOST_TEST(failure(store.ask(call_of("run_2", 1, 10))) == ec::unknown_race);
}

BOOST_AUTO_TEST_CASE(a_thousand_workers_are_answered_from_a_few_transactions) {
  running_store store{state};
  scripted_race race{"run_1", 1'000};
  race.start();
  store.tell(race);
  BOOST_REQUIRE(store.ask(commit{race.spec.race, race.events.size()}));
  const auto written_before = number("SELECT count(*) FROM llm_calls");
  caf::scoped_actor self{store.system()};
  for (std::uint32_t i = 1; i <= 1'000; ++i) {
    self->send(caf::actor_cast<caf::actor>(store.actor()), call_of("run_1", i, 10));
  }
  std::size_t answers = 0;
  bool has_all = true;
  const auto started = std::chrono::steady_clock::now();
  while (answers < 1'000 && has_all) {
    self->receive([&](const call_opened&) { ++answers; }, [&](const caf::error&) { has_all = false; },
                  caf::after(std::chrono::seconds{20}) >> [&] { has_all = false; });
  }
  BOOST_TEST(answers == 1'000U);
  BOOST_TEST_MESSAGE("1,000 calls opened in " << (std::chrono::steady_clock::now() - started).count() / 1'000'000
                                              << " ms");
  BOOST_TEST(number("SELECT count(*) FROM llm_calls") == written_before + 1'000);
  BOOST_TEST(number("SELECT reserved FROM budget_totals WHERE scope = 'race'") == 10'000);
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_named_to_whoever_asks_the_ledger_and_nothing_is_lost) {
  std::filesystem::create_directories(state);
  const small_disk disk{state};
  if (disk.failure() != 0) {
    return skip("tmpfs", std::string{"cannot mount a small tmpfs: "} + std::strerror(disk.failure()));
  }
  {
    running_store store{state};
    scripted_race race{"run_1"};
    race.start();
    store.tell(race);
    const auto opened = store.ask(call_of("run_1", 1, 10));
    BOOST_REQUIRE_MESSAGE(opened, why(opened));
    {
      std::ofstream fill{state + "/ballast", std::ios::binary};
      while (fill.write(std::string(65'536, 'x').data(), 65'536) && fill.flush()) {
      }
    }
    auto reply = end_of(opened->call, llm_outcome::replied, 3);
    reply.ended.text = std::string(300'000, 'r');
    BOOST_TEST(failure(store.ask(reply)) == ec::store_full, why(store.ask(reply)));
    race.ask(1, 1, std::string(200'000, 'e'));
    store.tell(race);
    BOOST_TEST(failure(store.ask(reply)) == ec::store_full);
    std::filesystem::remove(state + "/ballast");
    BOOST_TEST(why(store.ask(reply)) == "");
    BOOST_TEST(why(store.ask(commit{race.spec.race, race.events.size()})) == "");
    BOOST_TEST(why(store.ask(call_of("run_1", 2, 10))) == "");
  }
  BOOST_TEST(number("SELECT length(reply) FROM llm_calls WHERE outcome = 'replied'") == 300'000);
  BOOST_TEST(number("SELECT count(*) FROM events WHERE kind = 'reply_ended'") == 1);
  BOOST_TEST(number("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") == 0);
  BOOST_TEST(number("SELECT cost FROM budget_totals WHERE scope = 'day'") == 3);
}

BOOST_AUTO_TEST_CASE(a_database_that_another_process_has_locked_keeps_a_question_waiting_and_loses_none) {
  running_store store{state};
  scripted_race race{"run_1"};
  race.start();
  store.tell(race);
  BOOST_REQUIRE(store.ask(commit{race.spec.race, race.events.size()}));
  auto other = database::open(state + "/regatta.db", database_access::read_write);
  BOOST_REQUIRE(other);
  BOOST_REQUIRE(!(*other)->script("BEGIN IMMEDIATE"));
  caf::scoped_actor self{store.system()};
  self->send(caf::actor_cast<caf::actor>(store.actor()), call_of("run_1", 1, 10));
  bool was_early = false;
  // Longer than the database itself waits for a lock.
  self->receive([&](const call_opened&) { was_early = true; }, [&](const caf::error&) { was_early = true; },
                caf::after(std::chrono::milliseconds{5'500}) >> [] {});
  BOOST_TEST(!was_early);
  BOOST_REQUIRE(!(*other)->script("COMMIT"));
  std::uint64_t call = 0;
  self->receive([&](const call_opened& x) { call = x.call; }, [](const caf::error&) {},
                caf::after(std::chrono::seconds{15}) >> [] {});
  BOOST_TEST(call != 0U);
}

BOOST_AUTO_TEST_SUITE_END()
