// SPDX-License-Identifier: Apache-2.0
#include "cli/budgets.hpp"

#include "cli/race_models.hpp"
#include "cli/race_plan.hpp"
#include "messages/error.hpp"

#include <boost/test/unit_test.hpp>

namespace regatta::cli {

namespace {

caf::expected<settings> resolved(const flag_values& flags, const std::string& toml = "") {
  std::vector<config_file> files;
  if (!toml.empty()) {
    auto file = parse_config(toml, "r.toml");
    if (!file) {
      return file.error();
    }
    files.push_back(std::move(*file));
  }
  return settings::resolve(flags, {}, files);
}

constexpr auto two_providers = R"(
[providers.first]
kind = "chat"
base_url = "http://127.0.0.1:1/v1"
model = "a"
[providers.first.prices."a"]
input = 2.5
output = 10
[providers.second]
kind = "chat"
base_url = "http://127.0.0.1:2/v1"
models = ["b", "c"]
)";

struct chosen {
  explicit chosen(const flag_values& flags) {
    auto file = parse_config(two_providers, "r.toml");
    BOOST_REQUIRE(file);
    files.push_back(std::move(*file));
    auto all = flags;
    all["provider"] = {"first"};
    auto got = settings::resolve(all, {}, files);
    BOOST_REQUIRE(got);
    values = std::move(*got);
  }
  caf::expected<race_models> models() const { return choose_models(values, files, {}); }

  std::vector<config_file> files;
  settings values;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cli_budgets)

BOOST_AUTO_TEST_CASE(amounts_are_exact_from_flags_and_files) {
  const auto flags = resolved({{"budget", {"0.1"}}, {"budget-tokens", {"5000"}}, {"budget-day", {"1000000000"}}});
  BOOST_REQUIRE(flags);
  const auto got = budgets_of(*flags);
  BOOST_TEST(got.race.money == 100'000'000);
  BOOST_TEST(got.race.tokens == 5'000U);
  BOOST_TEST(got.day.money == 1'000'000'000 * nano_per_unit);
  BOOST_TEST(got.process.money == 0);
  const auto file = resolved({}, "[budget]\nrace = 0.000000001\nprocess = \"12.50\"\nday = 3\nday_tokens = 7\n");
  BOOST_REQUIRE(file);
  BOOST_TEST(budgets_of(*file).race.money == 1);
  BOOST_TEST(budgets_of(*file).process.money == 12'500'000'000);
  BOOST_TEST(budgets_of(*file).day.money == 3'000'000'000);
  BOOST_TEST(budgets_of(*file).day.tokens == 7U);
}

BOOST_AUTO_TEST_CASE(what_is_no_amount_is_refused_by_name) {
  for (const auto* text : {"-1", "0", "0.0", "1e3", "nan", "inf", "", "1.", ".5", "1,5", "0.0000000001", "1000000001",
                           "99999999999", "0x10", "1 ", "+1", "five"}) {
    const auto got = resolved({{"budget", {text}}});
    BOOST_REQUIRE_MESSAGE(!got, text);
    BOOST_TEST(text_of(got.error()) == std::string{"--budget: got \""} + text +
                                           "\", allowed: an amount above 0 and up to 1000000000, with at most nine "
                                           "digits behind the point");
  }
  BOOST_TEST(!resolved({{"budget-tokens", {"-1"}}}));
  BOOST_TEST(!resolved({{"budget-tokens", {"0"}}}));
  BOOST_TEST(!resolved({{"budget-tokens", {"1.5"}}}));
  BOOST_TEST(!resolved({}, "[budget]\nrace = -1\n"));
}

BOOST_AUTO_TEST_CASE(a_fallback_is_a_model_or_a_provider_and_a_model) {
  const chosen x{{{"fallback-model", {"qwen3:8b", "second:b"}}, {"temperature", {"0.5"}}}};
  const auto got = x.models();
  BOOST_REQUIRE(got);
  BOOST_REQUIRE(got->fallbacks.size() == 2U);
  BOOST_TEST(got->fallbacks[0].provider.name == "first");
  BOOST_TEST(got->fallbacks[0].model == "qwen3:8b", "no provider is called qwen3");
  BOOST_TEST(got->fallbacks[1].provider.name == "second");
  BOOST_TEST(got->fallbacks[1].model == "b");
  BOOST_TEST(providers_of(*got).size() == 2U);
  const auto workers = plan_workers(x.values, *got, 1);
  BOOST_REQUIRE(workers[0].fallbacks.size() == 2U);
  BOOST_TEST(workers[0].choice.model == "a");
  BOOST_TEST(workers[0].fallbacks[1].provider == "second");
  BOOST_TEST(*workers[0].fallbacks[1].temperature == 0.5);
}

BOOST_AUTO_TEST_CASE(a_fallback_that_its_provider_does_not_have_is_refused) {
  const auto got = chosen{{{"fallback-model", {"second:z"}}}}.models();
  BOOST_REQUIRE(!got);
  BOOST_TEST(text_of(got.error()) ==
             "--fallback-model: provider second: got model \"z\", allowed by its `models`: b, c");
  const chosen nameless{{{"fallback-model", {"second:"}}}};
  BOOST_TEST(!nameless.models());
}

BOOST_AUTO_TEST_CASE(a_budget_in_money_wants_the_price_of_every_model_that_may_be_asked) {
  const chosen x{{{"fallback-model", {"second:b"}}, {"budget-day", {"1"}}}};
  const auto models = x.models();
  BOOST_REQUIRE(models);
  const auto workers = plan_workers(x.values, *models, 1);
  const auto got = check_prices(budgets_of(x.values), workers, providers_of(*models));
  BOOST_REQUIRE(!got);
  BOOST_TEST((code_of(got.error()) == ec::invalid_config));
  BOOST_TEST(text_of(got.error()) ==
             "a budget in money needs prices, and model \"b\" of provider second has none: add "
             "[providers.second.prices.\"b\"] with input and output (per million tokens), or give --budget-tokens "
             "instead");
  budgets tokens_only;
  tokens_only.race.tokens = 1;
  BOOST_TEST(!!check_prices(tokens_only, workers, providers_of(*models)));
  const chosen priced{{{"budget", {"1"}}}};
  BOOST_TEST(!!check_prices(budgets_of(priced.values), plan_workers(priced.values, *priced.models(), 1),
                            providers_of(*priced.models())));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::cli
