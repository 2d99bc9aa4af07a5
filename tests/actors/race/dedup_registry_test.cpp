// SPDX-License-Identifier: Apache-2.0
#include "actors/dedup_registry.hpp"

#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

using namespace regatta;

namespace {

struct one_registry {
  reservation ask(const worker_id& who, std::uint32_t round = 1) {
    return rules.on_reserve({race, who, round, 1, digest});
  }
  const race_id race{"run_1"};
  const source_digest digest{"c0ffee"};
  const worker_id w1{"worker_01"};
  const worker_id w2{"worker_02"};
  const worker_id w3{"worker_03"};
  const verdict failed{outcome::exited_nonzero, claim::none, judgement::not_judged};
  dedup_registry_rules rules;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(dedup_registry, one_registry)

BOOST_AUTO_TEST_CASE(the_first_holds_it_and_asking_again_is_no_rival) {
  const auto first = ask(w1);
  BOOST_TEST(first.state == reservation_state::granted);
  BOOST_TEST(first.duplicate == duplicate::unique);
  BOOST_TEST(first.owner == w1);
  BOOST_TEST(ask(w1).state == reservation_state::granted);
}

BOOST_AUTO_TEST_CASE(a_rival_waits_and_hears_the_verdict_that_the_holder_got) {
  ask(w1, 4);
  const auto second = ask(w2);
  BOOST_TEST(second.state == reservation_state::pending);
  BOOST_TEST(second.duplicate == duplicate::duplicate_cross_worker);
  BOOST_TEST(second.owner == w1);
  BOOST_TEST(second.owner_round == 4U);
  ask(w2);
  const auto told = rules.on_settle({race, w1, digest, failed, "RUN_FAIL: x"});
  BOOST_REQUIRE(told);
  BOOST_REQUIRE_EQUAL(told->size(), 1U);
  BOOST_TEST(told->at(0).worker == w2);
  BOOST_TEST(told->at(0).result.state == reservation_state::settled);
  BOOST_TEST(told->at(0).result.feedback == "RUN_FAIL: x");
  BOOST_TEST(ask(w3).state == reservation_state::settled);
  BOOST_TEST(ask(w1, 5).duplicate == duplicate::duplicate_same_worker);
}

BOOST_AUTO_TEST_CASE(the_longest_waiter_is_granted_when_the_holder_gives_up) {
  ask(w1);
  ask(w2);
  ask(w3);
  const auto told = rules.on_release({race, w1, {}});
  BOOST_REQUIRE_EQUAL(told.size(), 1U);
  BOOST_TEST(told[0].worker == w2);
  BOOST_TEST(told[0].result.state == reservation_state::granted);
  BOOST_TEST(rules.on_release({race, w2, digest}).at(0).worker == w3);
  BOOST_TEST(ask(w1).state == reservation_state::pending);
  BOOST_TEST(rules.on_release({race, w1, digest}).empty(), "a waiter that leaves grants nobody");
  BOOST_TEST(rules.on_release({race, w3, digest}).empty(), "and nobody waits any more");
}

BOOST_AUTO_TEST_CASE(only_the_holder_may_settle_and_the_first_verdict_stands) {
  ask(w1);
  ask(w2);
  BOOST_TEST(code_of(rules.on_settle({race, w2, digest, failed, ""}).error()) == ec::not_holder);
  BOOST_TEST(code_of(rules.on_settle({race_id{"x"}, w1, digest, failed, ""}).error()) == ec::not_holder);
  BOOST_REQUIRE(rules.on_settle({race, w1, digest, failed, "first"}));
  BOOST_REQUIRE(rules.on_settle({race, w1, digest, failed, "second"}));
  BOOST_TEST(ask(w2).feedback == "first");
}

BOOST_AUTO_TEST_CASE(a_released_candidate_is_unique_again_and_a_forgotten_race_leaves_nothing) {
  ask(w1);
  BOOST_TEST(rules.on_release({race, w1, digest}).empty());
  BOOST_TEST(ask(w2).duplicate == duplicate::unique);
  rules.on_forget_race({race});
  BOOST_TEST(rules.race_count() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
