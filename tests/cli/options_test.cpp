// SPDX-License-Identifier: Apache-2.0
#include "cli/options.hpp"

#include "messages/limits.hpp"

#include <boost/test/unit_test.hpp>

#include <set>
#include <vector>

namespace regatta::cli {

BOOST_AUTO_TEST_SUITE(options)

BOOST_AUTO_TEST_CASE(every_default_is_allowed_by_its_own_rule) {
  for (const auto& entry : all_options()) {
    BOOST_TEST_INFO(entry.name);
    BOOST_TEST((entry.fallback.empty() || fits(entry.rule, entry.fallback)));
  }
}

BOOST_AUTO_TEST_CASE(no_name_key_or_variable_is_used_twice) {
  std::set<std::string> seen;
  for (const auto& entry : all_options()) {
    BOOST_TEST(seen.insert("--" + std::string{entry.name}).second);
    BOOST_TEST((entry.alias.empty() || seen.insert("--" + std::string{entry.alias}).second));
    BOOST_TEST((entry.toml.empty() || seen.insert(std::string{entry.toml}).second));
    BOOST_TEST(seen.insert(env_name(entry)).second);
  }
}

BOOST_AUTO_TEST_CASE(the_defaults_of_limits_are_those_of_the_limits_table) {
  const run_limits limits;
  const auto fallback = [](const char* name) { return find_option(name)->fallback; };
  BOOST_TEST(to_seconds(fallback("run-timeout-s")) * 1000 == limits.wall.count());
  BOOST_TEST(to_seconds(fallback("limit-cpu")) == limits.cpu.count());
  BOOST_TEST(to_bytes(fallback("limit-memory")) == limits.memory);
  BOOST_TEST(to_bytes(fallback("limit-disk")) == limits.disk);
  BOOST_TEST(to_bytes(fallback("limit-output")) == limits.output);
  BOOST_TEST(to_integer(fallback("limit-pids")) == limits.pids);
  BOOST_TEST(to_integer(fallback("limit-open-files")) == limits.open_files);
}

BOOST_AUTO_TEST_CASE(numbers_are_taken_whole_and_within_their_bounds) {
  const value_rule rule{value_kind::integer, 1, 10};
  for (const auto* good : {"1", "10"}) {
    BOOST_TEST(fits(rule, good));
  }
  for (const auto* bad : {"", "0", "11", "-1", "1.5", "1e0", " 1", "1 ", "0x1", "99999999999999999999", "one"}) {
    BOOST_TEST_INFO(bad);
    BOOST_TEST(!fits(rule, bad));
  }
  const value_rule fraction{value_kind::number, 0, 2};
  BOOST_TEST(fits(fraction, "0.7"));
  for (const auto* bad : {"nan", "inf", "", "2.1", "0,7", "0x1p0", "."}) {
    BOOST_TEST_INFO(bad);
    BOOST_TEST(!fits(fraction, bad));
  }
}

BOOST_AUTO_TEST_CASE(sizes_and_times_have_units) {
  BOOST_TEST(to_bytes("8GiB") == 8 * GiB);
  BOOST_TEST(to_bytes("64M") == 64 * MiB);
  BOOST_TEST(to_bytes("123") == 123U);
  BOOST_TEST(to_seconds("90") == 90);
  BOOST_TEST(to_seconds("2m") == 120);
  BOOST_TEST(to_seconds("1h") == 3600);
  const value_rule size{value_kind::size, 1};
  for (const auto* bad : {"8 GiB", "GiB", "-1M", "99999999999GiB", "1TiB", "1.5GiB"}) {
    BOOST_TEST_INFO(bad);
    BOOST_TEST(!fits(size, bad));
  }
}

BOOST_AUTO_TEST_CASE(a_slip_of_the_keyboard_finds_its_name) {
  const std::vector<std::string> known{"--workers", "--max-iters", "--model"};
  BOOST_TEST(nearest("--wrokers", known) == "--workers");
  BOOST_TEST(nearest("--max-iter", known) == "--max-iters");
  BOOST_TEST(nearest("--colour-of-money", known) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::cli
