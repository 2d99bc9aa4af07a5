// SPDX-License-Identifier: Apache-2.0
#include "cli/race_plan.hpp"

#include "messages/error.hpp"

#include <boost/test/unit_test.hpp>

namespace regatta::cli {

namespace {

settings values_of(const flag_values& flags) {
  return *settings::resolve(flags, {}, {});
}

provider_choice replay() {
  provider_choice out;
  out.provider.name = "replay";
  out.model = "recorded";
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(race_plans)

BOOST_AUTO_TEST_CASE(workers_take_models_temperatures_seeds_and_variants_in_turn) {
  const auto values =
      values_of({{"workers", {"5"}}, {"models", {"a,b"}}, {"temperature", {"0,0.5,1"}}, {"seed", {"7"}}});
  const auto workers = plan_workers(values, replay(), 4);
  BOOST_REQUIRE(workers.size() == 5U);
  BOOST_TEST(workers[0].worker.text == "worker_01");
  BOOST_TEST(workers[4].number == 5U);
  BOOST_TEST(workers[0].choice.model == "a");
  BOOST_TEST(workers[1].choice.model == "b");
  BOOST_TEST(workers[4].choice.model == "a");
  BOOST_TEST(*workers[1].choice.temperature == 0.5);
  BOOST_TEST(*workers[3].choice.temperature == 0.0);
  BOOST_TEST(*workers[4].choice.seed == 7);
  BOOST_TEST(workers[3].variant == 3U);
  BOOST_TEST(workers[4].variant == 0U);
  BOOST_TEST(workers[0].choice.provider == "replay");
}

BOOST_AUTO_TEST_CASE(a_race_is_made_of_its_settings) {
  const auto values = values_of({{"rounds", {"9"}},
                                 {"max-iters", {"3"}},
                                 {"run-timeout-s", {"7"}},
                                 {"keep", {"x", "y"}},
                                 {"device", {"cpu"}},
                                 {"on-duplicate", {"retire"}},
                                 {"deadline", {"2m"}},
                                 {"limit-memory", {"1GiB"}}});
  stage_spec stage;
  stage.variants = {"v1", "v2"};
  const auto spec = plan_race(values, replay(), stage, {}, race_id{"run_x"}, "/s");
  BOOST_TEST(spec.rounds == 3U);
  BOOST_TEST(spec.limits.wall.count() == 7'000);
  BOOST_TEST(spec.limits.memory == GiB);
  BOOST_TEST(spec.keep.size() == 2U);
  BOOST_TEST((spec.device == device_need::cpu));
  BOOST_TEST((spec.on_duplicate == duplicate_policy::retire));
  BOOST_TEST(spec.deadline.count() == 120);
  BOOST_TEST(spec.run_dir == "/s/run_x");
  BOOST_TEST(!spec.workers[0].choice.temperature.has_value());
}

BOOST_AUTO_TEST_CASE(run_ids_have_kernelagents_form) {
  const auto id = make_run_id(std::chrono::system_clock::time_point{}, 0xAB).text;
  BOOST_TEST(id.size() == std::string{"run_20260101_000000_000000ab"}.size());
  BOOST_TEST(id.starts_with("run_19"));
  BOOST_TEST(id.ends_with("_000000ab"));
}

BOOST_AUTO_TEST_CASE(clashes_and_what_is_not_there_yet_are_refused_by_name) {
  const auto error = [](const flag_values& flags) { return text_of(check_settings(values_of(flags)).error()); };
  BOOST_TEST(error({{"accept", {"verified"}}}).starts_with("--accept: got \"verified\", allowed: claimed"));
  BOOST_TEST(error({{"json", {"true"}}, {"quiet", {"true"}}}) == "got --json and --quiet, allowed: one of them");
  BOOST_TEST(error({{"model", {"a"}}, {"models", {"b"}}}) == "got --model and --models, allowed: one of them");
  BOOST_TEST(error({{"events", {"udp://x"}}}).starts_with("--events: got \"udp://x\""));
  BOOST_TEST(static_cast<bool>(check_settings(values_of({}))));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::cli
