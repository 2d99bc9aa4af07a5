// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_codes.hpp"

#include <boost/test/unit_test.hpp>

namespace regatta::cli {

namespace {

int code(race_end end, const std::string& artifact = "/x/result.tar.gz", const std::string& failure = "",
         bool is_budget_spent = false) {
  race_closed closed;
  closed.ended.end = end;
  closed.artifact_path = artifact;
  closed.commit_failure = failure;
  return static_cast<int>(exit_code_of(closed, is_budget_spent));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(exit_codes)

BOOST_AUTO_TEST_CASE(each_end_of_a_race_has_its_number) {
  BOOST_TEST(code(race_end::won) == 0);
  BOOST_TEST(code(race_end::won, "") == 6);
  BOOST_TEST(code(race_end::won, "/x", "disk full") == 6);
  BOOST_TEST(code(race_end::no_passing_solution, "") == 4);
  BOOST_TEST(code(race_end::deadline, "") == 4);
  BOOST_TEST(code(race_end::cancelled, "") == 5);
  BOOST_TEST(code(race_end::llm_failed, "") == 3);
  BOOST_TEST(code(race_end::llm_failed, "", "", true) == 8);
  BOOST_TEST(code(race_end::sandbox_failed, "") == 1);
  BOOST_TEST(code(race_end::internal, "") == 9);
}

BOOST_AUTO_TEST_CASE(an_error_before_the_race_has_its_number) {
  const auto of = [](ec x) { return static_cast<int>(exit_code_of(fail(x, "x"))); };
  BOOST_TEST(of(ec::invalid_config) == 2);
  BOOST_TEST(of(ec::unknown_provider) == 2);
  BOOST_TEST(of(ec::sandbox_refused) == 7);
  BOOST_TEST(of(ec::io_failed) == 1);
  BOOST_TEST(of(ec::store_full) == 1);
  BOOST_TEST(of(ec::internal) == 9);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::cli
