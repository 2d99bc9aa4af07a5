// SPDX-License-Identifier: Apache-2.0
#include "cli/providers.hpp"

#include "messages/error.hpp"
#include "tests/cli/has.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>

namespace regatta::cli {

namespace {

struct setup {
  flag_values flags{};
  std::map<std::string, std::string> env{};
  std::string toml{};

  caf::expected<provider_choice> choose() const {
    environment variables;
    for (const auto& [name, value] : env) {
      variables[name] = {value, "environment"};
    }
    std::vector<config_file> files;
    if (!toml.empty()) {
      files.push_back(*parse_config(toml, "r.toml"));
    }
    const auto values = settings::resolve(flags, variables, files);
    return values ? choose_provider(*values, files, variables) : caf::expected<provider_choice>{values.error()};
  }
  std::string error() const {
    const auto out = choose();
    return out ? "" : text_of(out.error());
  }
};

const std::string local = "[providers.local]\nkind = \"chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\n";

}  // namespace

BOOST_AUTO_TEST_SUITE(providers)

BOOST_AUTO_TEST_CASE(without_key_and_provider_one_error_says_what_to_set) {
  const auto text = setup{}.error();
  for (const auto* part : {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "LLM_RELAY_URL", "OPENAI_BASE_URL",
                           "[providers.NAME]", "--command", "--replay"}) {
    BOOST_TEST(has(text, part));
  }
  BOOST_TEST((setup{.env = {{"OPENAI_API_KEY", "your-api-key-here"}}}.error() == text));
}

BOOST_AUTO_TEST_CASE(openai_needs_a_key_and_other_servers_do_not) {
  const auto keyed = setup{.env = {{"OPENAI_API_KEY", "sk-1"}}}.choose();
  BOOST_REQUIRE(keyed);
  BOOST_TEST((keyed->provider.kind == provider_kind::responses));
  BOOST_TEST(keyed->provider.base_url == "https://api.openai.com/v1");
  BOOST_TEST(keyed->provider.api_key == "sk-1");
  BOOST_TEST(keyed->key_source == "OPENAI_API_KEY");
  BOOST_TEST(keyed->model == "gpt-5");
  const auto keyless = setup{.env = {{"OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"}, {"OPENAI_MODEL", "q"}}}.choose();
  BOOST_REQUIRE(keyless);
  BOOST_TEST(keyless->provider.base_url == "http://127.0.0.1:8000/v1");
  BOOST_TEST(keyless->provider.api_key == "");
  BOOST_TEST(keyless->model == "q");
  const auto chat = setup{.flags = {{"provider", {"chat"}}, {"base-url", {"http://h/v1"}}}}.choose();
  BOOST_REQUIRE(chat);
  BOOST_TEST((chat->provider.kind == provider_kind::chat));
  BOOST_TEST(has(setup{.flags = {{"provider", {"openai"}}}}.error(), "OPENAI_API_KEY is not set"));
  BOOST_TEST(has(setup{.flags = {{"base-url", {"ftp://h"}}}}.error(),
                 "got \"ftp://h\" (neither http:// nor https://), allowed: http://"));
}

BOOST_AUTO_TEST_CASE(anthropic_and_a_relay_are_known_by_their_variables) {
  const auto claude = setup{.flags = {{"model", {"claude-x"}}}, .env = {{"ANTHROPIC_API_KEY", "sk-a"}}}.choose();
  BOOST_REQUIRE(claude);
  BOOST_TEST((claude->provider.kind == provider_kind::anthropic));
  BOOST_TEST(claude->provider.base_url == "https://api.anthropic.com");
  BOOST_TEST(claude->provider.api_key == "sk-a");
  BOOST_TEST(claude->key_source == "ANTHROPIC_API_KEY");
  BOOST_TEST(claude->chosen_by == "ANTHROPIC_API_KEY");
  BOOST_TEST(claude->model == "claude-x");
  BOOST_TEST(has(setup{.env = {{"ANTHROPIC_API_KEY", "sk-a"}, {"OPENAI_MODEL", "gpt"}}}.error(), "has no model"));
  const auto relay =
      setup{.env = {{"LLM_RELAY_URL", "http://127.0.0.1:9/ask"}, {"LLM_RELAY_TIMEOUT_S", "42"}, {"REGATTA_MODEL", "m"}}}
          .choose();
  BOOST_REQUIRE(relay);
  BOOST_TEST((relay->provider.kind == provider_kind::relay));
  BOOST_TEST(relay->provider.base_url == "http://127.0.0.1:9/ask");
  BOOST_TEST(relay->provider.first_timeout.count() == 42'000);
  BOOST_TEST(relay->chosen_by == "LLM_RELAY_URL");
  BOOST_TEST(has(setup{.flags = {{"provider", {"relay"}}}}.error(), "LLM_RELAY_URL is not set"));
  BOOST_TEST(has(setup{.flags = {{"provider", {"anthropic"}}}}.error(), "ANTHROPIC_API_KEY is not set"));
  BOOST_TEST(has(setup{.env = {{"LLM_RELAY_URL", "http://h"}, {"LLM_RELAY_TIMEOUT_S", "soon"}}}.error(),
                 "LLM_RELAY_TIMEOUT_S: got \"soon\", allowed: "));
}

BOOST_AUTO_TEST_CASE(with_two_keys_the_model_says_who_is_asked) {
  const auto asked = [](const std::string& model, std::map<std::string, std::string> more = {}) {
    setup x{.flags = {{"model", {model}}}, .env = {{"OPENAI_API_KEY", "sk-o"}, {"ANTHROPIC_API_KEY", "sk-a"}}};
    x.env.merge(more);
    return x.choose()->provider.name;
  };
  BOOST_TEST(asked("gpt-5") == "openai");
  BOOST_TEST(asked("claude-x") == "anthropic");
  // A server of one's own that speaks OpenAI's wires may have any model.
  BOOST_TEST(asked("claude-x", {{"OPENAI_BASE_URL", "http://127.0.0.1:4000"}}) == "openai");
}

BOOST_AUTO_TEST_CASE(prices_become_whole_nano_units_per_million_tokens) {
  const auto out = setup{.toml = local +
                                 "requests_per_minute = 60\ntokens_per_minute = 90000\ncurrency = \"EUR\"\n"
                                 "[providers.local.prices.\"m-1.5\"]\ninput = 2.5\noutput = 10\n"
                                 "cached_input = 0.123456789\n[providers.local.prices.\"*\"]\n"
                                 "input = 1\noutput = 1234.56789\n"}
                       .choose();
  BOOST_REQUIRE(out);
  const auto& prices = out->provider.prices;
  BOOST_TEST(prices.at("m-1.5").input == 2'500'000'000);
  BOOST_TEST(prices.at("m-1.5").output == 10'000'000'000);
  BOOST_TEST(prices.at("m-1.5").cached_input == 123'456'789);
  BOOST_TEST(prices.at("*").cached_input == 1'000'000'000, "without a price of its own it costs what input costs");
  BOOST_TEST(prices.at("*").output == 1'234'567'890'000);
  BOOST_TEST(prices.at("*").cache_write.value() == 1'000'000'000, "no wire but Anthropic's tells what was written");
  BOOST_TEST(out->provider.requests_per_minute == 60U);
  BOOST_TEST(out->provider.tokens_per_minute == 90'000U);
  BOOST_TEST(out->provider.currency == "EUR");
  BOOST_TEST(has(setup{.toml = local + "[providers.local.prices.\"m\"]\ninput = 2.5\n"}.error(), "output is missing"));
  const auto claude = setup{.toml = "[providers.local]\nkind = \"anthropic\"\nbase_url = \"http://h\"\nmodel = \"a\"\n"
                                    "[providers.local.prices.\"a\"]\ninput = 5\noutput = 25\n"
                                    "[providers.local.prices.\"b\"]\ninput = 5\noutput = 25\ncache_write = 10\n"}
                          .choose();
  BOOST_REQUIRE(claude);
  BOOST_TEST(claude->provider.prices.at("a").cache_write.value() == 6'250'000'000);
  BOOST_TEST(claude->provider.prices.at("b").cache_write.value() == 10'000'000'000);
}

BOOST_AUTO_TEST_CASE(a_model_that_the_provider_has_not_is_refused_by_name) {
  const std::string listed =
      "[providers.local]\nkind = \"anthropic\"\nbase_url = \"http://h\"\nmodels = [\"a\", \"b\"]\n";
  BOOST_TEST(setup{.toml = listed}.choose()->model == "a");
  BOOST_TEST((setup{.flags = {{"models", {"b", "a"}}}, .toml = listed}.choose().engaged()));
  BOOST_TEST(has(setup{.flags = {{"model", {"c"}}}, .toml = listed}.error(),
                 "got model \"c\", allowed by its `models`: a, b"));
}

BOOST_AUTO_TEST_CASE(a_table_becomes_a_provider) {
  const test::scratch_folder folder;
  const auto key = folder.write("key", "sk-file\n");
  const auto out =
      setup{.flags = {{"llm-timeout-s", {"30"}}},
            .env = {{"OPENAI_BASE_URL", "http://elsewhere"}, {"OPENAI_MODEL", "gpt"}},
            .toml = local + "api_key_file = \"" + key +
                    "\"\nconcurrency = 7\ntotal_timeout_s = 90\n[providers.local.headers]\nX-Team = \"a\"\n"}
          .choose();
  BOOST_REQUIRE(out);
  BOOST_TEST((out->provider.kind == provider_kind::chat));
  BOOST_TEST(out->provider.base_url == "http://127.0.0.1:1/v1");
  BOOST_TEST(out->provider.api_key == "sk-file");
  BOOST_TEST(out->key_source == key);
  BOOST_TEST(out->provider.concurrency == 7U);
  BOOST_TEST(out->provider.idle_timeout.count() == 30'000);
  BOOST_TEST(out->provider.total_timeout.count() == 90'000);
  BOOST_TEST(out->provider.headers.at("X-Team") == "a");
  BOOST_TEST(out->model == "m");
  BOOST_TEST(out->chosen_by == "r.toml:1");
}

BOOST_AUTO_TEST_CASE(limits_and_order_of_a_provider_are_read) {
  const auto chosen = setup{.flags = {{"provider", {"local"}}},
                            .toml = local + "ordered = false\nconnect_timeout_s = 7\nrate_limit_patience_s = 60\n"}
                          .choose();
  BOOST_REQUIRE(chosen);
  BOOST_TEST(!chosen->provider.ordered);
  BOOST_TEST(chosen->provider.connect_timeout.count() == 7'000);
  BOOST_TEST(chosen->provider.rate_limit_patience.count() == 60'000);
}

BOOST_AUTO_TEST_CASE(a_key_file_that_others_can_read_is_refused) {
  const test::scratch_folder folder;
  const auto key = folder.write("key", "sk-file\n", 0640);
  const auto text = setup{.toml = local + "api_key_file = \"" + key + "\"\n"}.error();
  BOOST_TEST(has(text, "chmod 600 " + key));
  BOOST_TEST(!has(text, "sk-file"));
  BOOST_TEST(has(setup{.toml = local + "api_key_env = \"NOT_SET\"\n"}.error(), "NOT_SET, which is not set"));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_meant_is_refused_by_name) {
  const std::string two = local + "[providers.other]\nkind = \"command\"\nargv = [\"cat\"]\n";
  BOOST_TEST(has(setup{.toml = two}.error(), "local, other"));
  BOOST_TEST((setup{.flags = {{"provider", {"other"}}}, .toml = two}.choose().engaged()));
  BOOST_TEST(has(setup{.flags = {{"provider", {"nope"}}}, .toml = two}.error(),
                 "allowed: openai, responses, chat, anthropic, relay, local, other"));
  BOOST_TEST(has(setup{.flags = {{"replay", {"/dev/null"}}, {"command", {"cat"}}}}.error(), "allowed: one of them"));
  BOOST_TEST(has(setup{.flags = {{"replay", {"/absent"}}}}.error(), "got /absent (No such file or directory), allowed: a file that can be read"));
  BOOST_TEST(has(setup{.toml = "[providers.a]\nkind = \"command\"\n"}.error(), "needs argv"));
  BOOST_TEST(has(setup{.toml = "[providers.a]\nmodel = \"x\"\n"}.error(), "kind is missing"));
}

BOOST_AUTO_TEST_CASE(a_command_is_split_into_words_and_never_expanded) {
  const auto words = [](const char* text) { return *split_command(text); };
  BOOST_TEST((words("agent --print  'two words' \"a \\\" b\" $HOME `x`") ==
              std::vector<std::string>{"agent", "--print", "two words", "a \" b", "$HOME", "`x`"}));
  BOOST_TEST((words("a ''") == std::vector<std::string>{"a", ""}));
  BOOST_TEST(!split_command("  ").engaged());
  BOOST_TEST(!split_command("a 'b").engaged());
}

BOOST_AUTO_TEST_CASE(keys_are_listed_as_set_or_not_and_never_shown) {
  environment env;
  env["OPENAI_API_KEY"] = {"your-api-key-here", "environment"};
  env["LOCAL_KEY"] = {"sk-9", ".env"};
  const auto states = key_states({*parse_config(local + "api_key_env = \"LOCAL_KEY\"\n", "r.toml")}, env);
  BOOST_REQUIRE(states.size() == 3U);
  BOOST_TEST(states[0].variable == "ANTHROPIC_API_KEY");
  BOOST_TEST(states[1].variable == "LOCAL_KEY");
  BOOST_TEST(states[1].is_set);
  BOOST_TEST(states[1].source == ".env");
  BOOST_TEST(!states[2].is_set);
  BOOST_TEST(states[2].is_placeholder);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::cli
