// SPDX-License-Identifier: Apache-2.0
#include "cli/race_plan.hpp"

#include "cli/run_claim.hpp"
#include "messages/error.hpp"
#include "messages/limits.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>

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
  const auto workers = plan_workers(values, {replay(), {}}, 4);
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
  const auto spec = plan_race(values, {replay(), {}}, stage, {}, race_id{"run_x"}, "/s");
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

BOOST_AUTO_TEST_CASE(an_id_whose_folder_is_there_is_another_races) {
  const test::scratch_folder folder;
  std::filesystem::create_directory(folder / "run_1");
  std::uint32_t made = 0;
  const auto make = [&] { return race_id{"run_" + std::to_string(++made)}; };
  const auto id = unused_run_id(folder.path(), make);
  BOOST_TEST(id.text == "run_2");
  BOOST_TEST(!claim_run_folder(folder / id.text));
  // A second program that had chosen the same one at the same moment.
  const auto error = claim_run_folder(folder / id.text);
  BOOST_TEST((code_of(error) == ec::refused));
  BOOST_TEST(text_of(error) == (folder / id.text) + ": another race has this folder; start again");
  BOOST_TEST((code_of(claim_run_folder(folder / "absent/run_3")) == ec::io_failed));
  const auto same = unused_run_id(folder.path(), [] { return race_id{"run_1"}; });
  BOOST_TEST(same.text == "run_1");
}

BOOST_AUTO_TEST_CASE(clashes_and_what_is_not_there_yet_are_refused_by_name) {
  const auto error = [](const flag_values& flags) { return text_of(check_settings(values_of(flags)).error()); };
  BOOST_TEST(error({{"json", {"true"}}, {"quiet", {"true"}}}) == "got --json and --quiet, allowed: one of them");
  BOOST_TEST(error({{"model", {"a"}}, {"models", {"b"}}}) == "got --model and --models, allowed: one of them");
  BOOST_TEST(error({{"events", {"udp://x"}}}).starts_with("--events: got \"udp://x\""));
  BOOST_TEST(static_cast<bool>(check_settings(values_of({}))));
}

BOOST_AUTO_TEST_CASE(only_names_below_the_candidates_folder_can_be_kept) {
  const auto error = [](const std::vector<std::string>& names) {
    const auto checked = check_settings(values_of({{"keep", names}}));
    return checked ? std::string{} : text_of(checked.error());
  };
  for (const auto* bad : {"../x", "/etc/passwd", "a/../../x", ".", "..", "a//b", "a/", "./a", "a\nb"}) {
    BOOST_TEST(error({"out.bin", bad}).starts_with("--keep: got \"" + std::string{bad} + "\", allowed: "));
  }
  for (const auto* good : {"out.bin", "logs/a.txt", "..a", "a..", ".hidden", "-x", "é"}) {
    BOOST_TEST(error({good}) == "");
  }
  BOOST_TEST(error(std::vector<std::string>(artifact_files, "a")) == "");
  BOOST_TEST(error(std::vector<std::string>(artifact_files + 1, "a")) == "--keep: got 65 names, allowed: at most 64");
}

BOOST_AUTO_TEST_CASE(a_base_url_that_is_none_is_refused_even_where_nobody_asks_it) {
  const auto error = [](const flag_values& flags, const environment& env = {}) {
    const auto values = settings::resolve(flags, env, {});
    BOOST_REQUIRE(values);
    const auto checked = check_settings(*values);
    return checked ? std::string{} : text_of(checked.error());
  };
  for (const auto* bad : {"ftp://h", "h:8000/v1", "http://", "http:///v1", "http://h:0", "http://h:65536", "http://h:x",
                          "https://a b", "http://[::1", "http://[::1]x", "http://h\x1b"}) {
    const auto text = error({{"base-url", {bad}}, {"replay", {"r.jsonl"}}});
    BOOST_TEST(text.starts_with("--base-url: got \"" + std::string{bad} + "\" ("), text);
    BOOST_TEST(text.find("allowed: http://HOST") != std::string::npos);
  }
  for (const auto* good :
       {"http://h", "https://h/v1", "http://127.0.0.1:8000/v1", "http://[::1]:65535/", "http://u@h"}) {
    BOOST_TEST(error({{"base-url", {good}}}) == "");
  }
  BOOST_TEST(error({{"replay", {"r.jsonl"}}}, {{"OPENAI_BASE_URL", {"nonsense", "environment"}}}) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::cli
