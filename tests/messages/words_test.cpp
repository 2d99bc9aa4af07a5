// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE messages
#include "messages/digest.hpp"
#include "messages/ids.hpp"
#include "messages/outcome.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

using namespace regatta;

BOOST_AUTO_TEST_SUITE(words)

BOOST_AUTO_TEST_CASE(worker_ids_have_two_digits_at_least) {
  BOOST_TEST(make_worker_id(1).text == "worker_01");
  BOOST_TEST(make_worker_id(99).text == "worker_99");
  BOOST_TEST(make_worker_id(100).text == "worker_100");
}

BOOST_AUTO_TEST_CASE(canonical_form_is_kernelagents) {
  BOOST_TEST(canonical_source("").empty());
  BOOST_TEST(canonical_source("\n\n").empty());
  BOOST_TEST(canonical_source("\n\na \t\r\n\r\nb\n\n\n") == "a\n\nb\n");
  BOOST_TEST(canonical_source("a") == "a\n");
  BOOST_TEST(canonical_source(" a\n\tb") == " a\n\tb\n");
}

BOOST_AUTO_TEST_CASE(digests_ignore_line_ends_but_not_comments) {
  BOOST_TEST(digest_of_source("x = 1\r\n") == digest_of_source("\nx = 1  "));
  BOOST_TEST(digest_of_source("x = 1") != digest_of_source("x = 1  # one"));
  BOOST_TEST(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

BOOST_AUTO_TEST_CASE(only_a_clean_exit_with_a_claim_wins_by_claim) {
  for (const auto& [ended, name] : enum_names<outcome>::value) {
    for (const auto said : {claim::none, claim::run_tests, claim::sentinel}) {
      const bool wins = is_accepted({ended, said, judgement::not_judged}, accept_rule::claimed);
      BOOST_TEST(wins == (ended == outcome::exited && said != claim::none), name);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_claim_never_wins_where_verification_is_asked_for) {
  for (const auto& [found, name] : enum_names<judgement>::value) {
    const bool wins = is_accepted({outcome::exited, claim::run_tests, found}, accept_rule::verified);
    BOOST_TEST(wins == (found == judgement::correct), name);
  }
}

BOOST_AUTO_TEST_CASE(right_by_a_weak_oracle_is_unproven_and_never_wins) {
  const verdict right{outcome::exited, claim::none, judgement::weak_oracle};
  BOOST_TEST(is_unproven(right, accept_rule::verified));
  BOOST_TEST(!is_unproven(right, accept_rule::both));
  BOOST_TEST(is_unproven({outcome::exited, claim::sentinel, judgement::weak_oracle}, accept_rule::both));
  BOOST_TEST(!is_unproven(right, accept_rule::claimed));
  BOOST_TEST(!is_unproven({outcome::timed_out, claim::none, judgement::weak_oracle}, accept_rule::verified));
  BOOST_TEST(!is_unproven({outcome::exited, claim::none, judgement::correct}, accept_rule::verified));
  for (const auto rule : {accept_rule::claimed, accept_rule::verified, accept_rule::both}) {
    BOOST_TEST(!is_accepted(right, rule));
  }
}

BOOST_AUTO_TEST_CASE(names_and_values_map_one_to_one) {
  for (const auto& [value, name] : enum_names<llm_outcome>::value) {
    BOOST_TEST((from_name<llm_outcome>(name) == value));
  }
  BOOST_TEST(!from_name<outcome>("no such"));
}

BOOST_AUTO_TEST_SUITE_END()
