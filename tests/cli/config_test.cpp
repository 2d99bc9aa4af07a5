// SPDX-License-Identifier: Apache-2.0
#include "cli/config.hpp"

#include "cli/settings.hpp"
#include "cli/text_file.hpp"
#include "messages/error.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>

namespace regatta::cli {

namespace {

std::string error_in(const std::string& toml) {
  const auto file = parse_config(toml, "/etc/r.toml");
  return file ? "" : text_of(file.error());
}

environment env_of(std::initializer_list<std::pair<const char*, const char*>> values) {
  environment out;
  for (const auto& [name, value] : values) {
    out[name] = {value, "environment"};
  }
  return out;
}

std::vector<config_file> files_of(std::initializer_list<std::pair<const char*, const char*>> texts) {
  std::vector<config_file> out;
  for (const auto& [path, text] : texts) {
    out.push_back(*parse_config(text, path));
  }
  return out;
}

/// For the command line or a person's own choice rather than a file.
bool is_left_out(std::string_view name) {
  return name == "model" || name == "base-url" || name == "replay" || name == "command" || name == "target-platform" ||
         name == "allow-unsandboxed";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(configuration)

BOOST_AUTO_TEST_CASE(values_come_with_file_and_line) {
  const auto file = parse_config(
      "events = \"off\"\n[race]\nworkers = 8\n[llm]\ntemperature = [0, 0.7]\n"
      "[run]\nlimit_memory = \"2GiB\"\n[output]\njson = true\n",
      "/etc/r.toml");
  BOOST_REQUIRE(file);
  BOOST_TEST(file->values.at("workers").texts.front() == "8");
  BOOST_TEST(file->values.at("workers").source == "/etc/r.toml:3");
  BOOST_TEST(file->values.at("temperature").texts.size() == 2U);
  BOOST_TEST(file->values.at("temperature").texts.back() == "0.7");
  BOOST_TEST(file->values.at("limit-memory").texts.front() == "2GiB");
  BOOST_TEST(file->values.at("events").texts.front() == "off");
  BOOST_TEST(file->values.at("json").texts.front() == "true");
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_said_with_file_line_key_got_and_allowed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[race]\nwrokers = 4\n", "/etc/r.toml:2: unknown key: got race.wrokers (did you mean race.workers?), allowed: "},
      {"[rase]\nworkers = 4\n", "unknown key: got rase.workers"},
      {"wrkrs = 1\n", "/etc/r.toml:1: unknown key: got wrkrs"},
      {"[race]\nworkers = 0\n", "/etc/r.toml:2: race.workers: got 0, allowed: a whole number from 1 to 10000"},
      {"[race]\nworkers = \"4\"\n", "race.workers: got \"4\", allowed: a whole number"},
      {"[race]\nworkers = 4.5\n", "race.workers: got 4.5"},
      {"[race]\nworkers = [4]\n", "race.workers: got an array"},
      {"[output]\nstream = \"most\"\n", "output.stream: got \"most\", allowed: all, winner, none"},
      {"[output]\njson = 1\n", "output.json: got 1, allowed: true, false"},
      {"race = 3\n", "/etc/r.toml:1: race: got 3, allowed: a table [race]"},
      {"rase = 3\n", "unknown key: got rase"},
      {"[judge.tolerances.float32]\natol = 2\n", "/etc/r.toml:2: judge.tolerances.float32.atol: got 2, allowed: "},
      {"[judge.tolerances.float32]\natol = \"x\"\n", "judge.tolerances.float32.atol: got \"x\", allowed: "},
      {"[judge.tolerances.float31]\natol = 0.1\n", "judge.tolerances.float31.atol: got 0.1, allowed: DTYPE.KEY=X with DTYPE one of float64, "},
      {"[judge.tolerances]\nfloat32 = 0.1\n", "judge.tolerances.float32: got 0.1, allowed: a table of atol, rtol, norm"},
      {"[judge]\ntrials = 1\n", "judge.trials: got 1, allowed: a whole number from 2 to 64"},
      {"[judge]\narchitectures = [\"sm_1\"]\n", "judge.architectures: got \"sm_1\", allowed: sm_75, "},
      {"[race\n", "/etc/r.toml:1: not TOML: "},
      {"[[[", "/etc/r.toml:1: not TOML: "},
      {"[\n", "/etc/r.toml:1: not TOML: "},
      {"[[\n", "/etc/r.toml:1: not TOML: "},
      {"providers = 3\n", "providers: got a value"},
      {"[providers.x]\nkidn = \"chat\"\n", "got providers.x.kidn (did you mean providers.x.kind?)"},
      {"[providers.x]\nkind = \"smoke\"\n",
       "providers.x.kind: got \"smoke\", allowed: responses, chat, anthropic, relay, command, replay"},
      {"[providers.x.prices.\"m\"]\ninput = -1\n", "providers.x.prices.\"m\".input: got -1, allowed: "},
      {"[providers.x.prices.\"m\"]\ninput = nan\n", "providers.x.prices.\"m\".input: got "},
      {"[providers.x.prices.\"m\"]\nprice = 1\n", "got price, allowed: input, output, cached_input, cache_write"},
      {"[providers.x.prices]\nm = 1\n", "got 1, allowed: a table of input, output, cached_input, cache_write"},
      {"[providers.x]\napi_key = \"sk-1\"\n", "a key must not stand in this file; allowed: api_key_env"},
      {"[providers.x.headers]\nAuthorization = \"Bearer sk-1\"\n", "a key must not stand in this file"},
  };
  for (const auto& [toml, expected] : cases) {
    const auto text = error_in(toml);
    BOOST_TEST_INFO(text);
    BOOST_TEST(text.find(expected) != std::string::npos);
    BOOST_TEST(text.find("sk-1") == std::string::npos);
    BOOST_TEST(text.find('\n') == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(tolerances_are_a_table_for_each_type) {
  const auto file = parse_config("[judge.tolerances.float32]\natol = 1e-3\nnorm = 0\n[judge.tolerances.bfloat16]\nrtol = 1\n", "/etc/r.toml");
  BOOST_REQUIRE(file);
  const auto texts = file->values.at("tolerance").texts;
  BOOST_TEST(texts == (std::vector<std::string>{"bfloat16.rtol=1", "float32.atol=0.001", "float32.norm=0"}),
             boost::test_tools::per_element());
  BOOST_TEST(to_tolerance("float32.atol=0.001").value == 0.001);
}

// In toml++ 3.3 the answer to "is this white space?" was undefined for most letters; the sanitizers see it.
BOOST_AUTO_TEST_CASE(letters_outside_of_strings_are_an_error_with_its_line) {
  for (const auto* letter : {"\xC3\xA9", "\xEF\xB3\xBF", "\xE2\x80\xA8", "\xF0\x9F\x99\x82"}) {
    BOOST_TEST(error_in("[race]\n" + std::string{letter} + "x = 1\n").starts_with("/etc/r.toml:2: "));
    BOOST_TEST(error_in("[race]\nworkers = 4 " + std::string{letter} + "\n").starts_with("/etc/r.toml:2: "));
  }
}

BOOST_AUTO_TEST_CASE(the_stronger_source_wins_at_every_step) {
  const auto files =
      files_of({{"given.toml", "[race]\nworkers = 5\n"},
                {"regatta.toml", "[race]\nworkers = 6\nmax_iters = 7\n"},
                {"xdg.toml", "[race]\nworkers = 8\nmax_iters = 9\ndeadline_s = 60\n[llm]\nmodel = \"m0\"\n"}});
  const auto env = env_of({{"REGATTA_WORKERS", "4"}, {"OPENAI_MODEL", "m1"}, {"REGATTA_QUIET", ""}});
  const auto value = [&](const flag_values& flags, const environment& from, const char* name) {
    return settings::resolve(flags, from, files)->at(name);
  };
  BOOST_TEST(value({{"workers", {"3"}}}, env, "workers").values.front() == "3");
  BOOST_TEST(value({{"workers", {"3"}}}, env, "workers").source == "--workers");
  BOOST_TEST(value({}, env, "workers").values.front() == "4");
  BOOST_TEST(value({}, env, "workers").source == "REGATTA_WORKERS");
  BOOST_TEST(value({}, {}, "workers").values.front() == "5");
  BOOST_TEST(value({}, {}, "workers").source == "given.toml:2");
  BOOST_TEST(value({}, {}, "max-iters").values.front() == "7");
  BOOST_TEST(value({}, {}, "deadline").values.front() == "60");
  BOOST_TEST(value({}, env, "model").values.front() == "m1");
  BOOST_TEST(value({}, env_of({{"OPENAI_MODEL", "m1"}, {"REGATTA_MODEL", "m2"}}), "model").values.front() == "m2");
  BOOST_TEST(value({}, {}, "model").values.front() == "m0");
  BOOST_TEST(value({}, env, "stage").source == "default");
  BOOST_TEST(value({}, env, "quiet").source == "default");
}

BOOST_AUTO_TEST_CASE(a_bad_flag_or_variable_is_named_with_got_and_allowed) {
  const auto error = [](const flag_values& flags, const environment& env) {
    return text_of(settings::resolve(flags, env, {}).error());
  };
  BOOST_TEST(error({{"workers", {"many"}}}, {}) == "--workers: got \"many\", allowed: a whole number from 1 to 10000");
  BOOST_TEST(error({}, env_of({{"REGATTA_STREAM", "most"}})) ==
             "REGATTA_STREAM: got \"most\", allowed: all, winner, none");
  BOOST_TEST(error({{"temperature", {"0.2,hot"}}}, {}) == "--temperature: got \"hot\", allowed: a number from 0 to 2");
  BOOST_TEST(error({{"python", {""}}}, {}) == "--python: got \"\", allowed: a text that is not empty");
}

BOOST_AUTO_TEST_CASE(an_env_file_is_read_only_if_it_is_private) {
  const test::scratch_folder folder;
  const auto path = folder.write(".env", "# keys\nexport OPENAI_API_KEY=\"sk-2\"\r\nA = 'b c'\nNOISE\n=x\nHERE=late\n");
  auto env = env_of({{"HERE", "first"}});
  std::string warning;
  BOOST_REQUIRE(add_env_file(env, path, warning));
  BOOST_TEST(warning == "");
  BOOST_TEST(value_of(env, "OPENAI_API_KEY") == "sk-2");
  BOOST_TEST(env.at("OPENAI_API_KEY").source == path);
  BOOST_TEST(value_of(env, "A") == "b c");
  BOOST_TEST(value_of(env, "HERE") == "first");
  BOOST_TEST(env.size() == 3U);

  const auto open = folder.write("open.env", "OPENAI_API_KEY=sk-3\n", 0644);
  environment none;
  BOOST_REQUIRE(add_env_file(none, open, warning));
  BOOST_TEST(none.empty());
  BOOST_TEST(warning.find("chmod 600 " + open) != std::string::npos);
  BOOST_TEST(warning.find("0644") != std::string::npos);
  BOOST_TEST(static_cast<bool>(add_env_file(none, folder / "absent", warning)));
}

BOOST_AUTO_TEST_CASE(a_given_file_must_exist_and_the_others_need_not) {
  const test::scratch_folder folder;
  const auto env = env_of({{"XDG_CONFIG_HOME", folder.path().c_str()}});
  BOOST_TEST(!read_config_files(folder / "absent.toml", env).engaged());
  folder.write("regatta/config.toml", "[race]\nworkers = 2\n");
  const auto given = folder.write("given.toml", "[race]\nworkers = 3\n");
  const auto files = read_config_files(given, env);
  BOOST_REQUIRE(files.engaged());
  BOOST_REQUIRE(files->size() >= 2U);
  BOOST_TEST(files->front().path == given);
  BOOST_TEST(files->back().path == folder / "regatta/config.toml");
}

BOOST_AUTO_TEST_CASE(the_example_configuration_is_valid_and_says_the_defaults) {
  const auto* source = std::getenv("REGATTA_SOURCE_DIR");
  BOOST_REQUIRE_MESSAGE(source != nullptr, "REGATTA_SOURCE_DIR is not set: run through ctest");
  const auto path = std::string{source} + "/cluster-configs/single-host.toml";
  auto text = *read_text_file(path, 1 << 20);
  const auto file = parse_config(text, path);
  BOOST_REQUIRE_MESSAGE(file, (file ? "" : text_of(file.error())));
  const auto plain = *settings::resolve({}, {}, {});
  for (const auto& [name, value] : file->values) {
    const auto& fallback = plain.at(name);
    BOOST_TEST_INFO(name);
    BOOST_TEST((fallback.values.empty() || fallback.values == value.texts));
  }
  // Every key of the table is explained, and the lines that are commented out are valid, too.
  for (const auto& entry : all_options()) {
    const auto key = entry.toml.substr(entry.toml.rfind('.') + 1);
    const bool is_output = entry.toml.starts_with("output.");
    BOOST_TEST_INFO(entry.toml);
    BOOST_TEST((is_output || key.empty() || is_left_out(entry.name) ||
                text.find(std::string{key} + " = ") != std::string::npos));
  }
  std::string open;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    auto line = text.substr(at, end - at);
    const bool is_value = line.starts_with("# ") && line.find(" = ") != std::string::npos && line[2] != '`';
    open += (is_value || line.starts_with("# [providers.") ? line.substr(2) : line) + "\n";
    at = end + 1;
  }
  const auto whole = parse_config(open, path);
  BOOST_REQUIRE_MESSAGE(whole, (whole ? "" : text_of(whole.error())));
  BOOST_TEST(whole->providers.size() == 4U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::cli
