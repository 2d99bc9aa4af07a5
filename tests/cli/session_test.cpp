// SPDX-License-Identifier: Apache-2.0
#include "cli/session.hpp"

#include "cli/config_report.hpp"
#include "cli/event_queue.hpp"
#include "cli/python_discovery.hpp"
#include "cli/race_display.hpp"
#include "messages/error.hpp"
#include "tests/cli/has.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>

namespace regatta::cli {

namespace {

session open(const test::scratch_folder& folder, environment env, flag_values flags = {}) {
  command_line line;
  line.flags = std::move(flags);
  env["XDG_CONFIG_HOME"] = {folder.path(), "environment"};
  auto out = open_session(line, env);
  BOOST_REQUIRE_MESSAGE(out, (out ? "" : text_of(out.error())));
  return *out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sessions)

BOOST_AUTO_TEST_CASE(the_report_shows_values_with_sources_and_no_secret) {
  const test::scratch_folder folder;
  const auto env_file = folder.write("keys", "LOCAL_KEY=sk-secret\n");
  folder.write("regatta/config.toml",
               "[race]\nworkers = 6\n[providers.local]\nkind = \"chat\"\n"
               "base_url = \"http://h/v1\"\nmodel = \"m\"\napi_key_env = \"LOCAL_KEY\"\n");
  const auto x =
      open(folder, {{"REGATTA_MAX_ITERS", {"3", "environment"}}}, {{"env-file", {env_file}}, {"seed", {"1,2"}}});
  const auto text = config_report(x);
  for (const auto& part : {std::string{"config.toml:2"}, std::string{"REGATTA_MAX_ITERS"}, std::string{"1, 2"},
                           "set, from " + env_file, std::string{"local (chat)"}, std::string{"--seed"}}) {
    BOOST_TEST_INFO(part << "\n" << text);
    BOOST_TEST(has(text, part));
  }
  BOOST_TEST(!has(text, "sk-secret"));
}

BOOST_AUTO_TEST_CASE(an_env_file_that_was_named_must_be_there_and_private) {
  const test::scratch_folder folder;
  command_line line;
  line.flags["env-file"] = {folder / "absent"};
  BOOST_TEST(has(text_of(open_session(line, {}).error()), "--env-file"));
  line.flags["env-file"] = {folder.write("open", "A=b\n", 0644)};
  BOOST_TEST(has(text_of(open_session(line, {}).error()), "chmod 600"));
}

BOOST_AUTO_TEST_CASE(the_state_folder_is_absolute_and_has_no_slash_at_its_end) {
  const test::scratch_folder folder;
  BOOST_TEST(state_dir_of(open(folder, {}, {{"state-dir", {"/a/b/../c/"}}})) == "/a/c");
  BOOST_TEST(state_dir_of(open(folder, {})) == (std::filesystem::current_path() / ".regatta").string());
}

BOOST_AUTO_TEST_CASE(pythons_are_tried_in_order) {
  const test::scratch_folder folder;
  environment env;
  env["VIRTUAL_ENV"] = {"/venv", "environment"};
  env["CONDA_PREFIX"] = {"/conda", "environment"};
  env["XDG_DATA_HOME"] = {"/data", "environment"};
  folder.write("bin/python3", "", 0700);
  env["PATH"] = {"/nowhere:" + (folder / "bin"), "environment"};
  const auto values = *settings::resolve({}, env, {});
  const auto all = python_candidates(values, env);
  BOOST_REQUIRE(all.size() == 5U);
  BOOST_TEST(all[0].path == "/venv/bin/python");
  BOOST_TEST(all[1].path == "/conda/bin/python");
  BOOST_TEST(all[2].source == "./.venv");
  BOOST_TEST(all[3].path == "/data/regatta/venv/bin/python");
  BOOST_TEST(all[4].path == folder / "bin/python3");
  BOOST_TEST(choose_python(all, [](const auto& x) { return x.starts_with("/conda"); })->source == "CONDA_PREFIX");
  const auto asked = python_candidates(*settings::resolve({{"python", {"/gone"}}}, env, {}), env);
  BOOST_TEST(choose_python(asked, [](const auto&) { return false; })->path == "/gone");
}

BOOST_AUTO_TEST_CASE(modules_are_found_below_the_prefixes) {
  const test::scratch_folder folder;
  folder.write("lib/python3.11/site-packages/torch/__init__.py", "");
  folder.write("lib/python3.11/site-packages/torch-2.13.0+cpu.dist-info/METADATA", "");
  folder.write("shared/triton/__init__.py", "");
  const std::vector<std::string> prefixes{"/absent", folder.path()};
  BOOST_TEST(module_version("torch", prefixes, "3.11.7", {}) == "2.13.0+cpu");
  BOOST_TEST(module_version("torch", prefixes, "3.12.1", {}) == "");
  BOOST_TEST(module_version("triton", prefixes, "3.11.7", {folder / "shared"}) == "?");
}

BOOST_AUTO_TEST_CASE(the_display_fits_where_its_output_leads) {
  const auto mode = [](display_choice x) { return mode_for(x); };
  BOOST_TEST((mode({.is_terminal = true, .term = "xterm"}) == display_mode::live));
  BOOST_TEST((mode({.is_terminal = true, .term = "dumb"}) == display_mode::plain));
  BOOST_TEST((mode({.is_terminal = true, .term = ""}) == display_mode::plain));
  BOOST_TEST((mode({.is_terminal = false, .term = "xterm"}) == display_mode::plain));
  BOOST_TEST((mode({.is_json = true, .is_terminal = true, .term = "xterm"}) == display_mode::json));
  BOOST_TEST((mode({.is_quiet = true, .is_terminal = true, .term = "xterm"}) == display_mode::none));
  BOOST_TEST(has_color({.is_terminal = true, .term = "xterm"}));
  BOOST_TEST(!has_color({.is_terminal = true, .term = "xterm", .no_color = "1"}));
  BOOST_TEST(!has_color({.is_terminal = false, .term = "xterm"}));
}

BOOST_AUTO_TEST_CASE(a_queue_drops_deltas_when_full_and_facts_never) {
  event_queue queue;
  event delta;
  delta.body = reply_delta{};
  for (int i = 0; i < 100'010; ++i) {
    queue.push(delta);
  }
  event fact;
  fact.body = runner_up{};
  queue.push(fact);
  queue.push(race_closed{});
  const auto news = queue.take();
  BOOST_TEST(news.size() == 100'002U);
  BOOST_TEST(std::holds_alternative<race_closed>(news.back()));
  BOOST_TEST(queue.take().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::cli
