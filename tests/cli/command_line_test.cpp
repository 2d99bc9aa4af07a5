// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.hpp"

#include <boost/test/unit_test.hpp>

namespace regatta::cli {

namespace {

using texts = std::vector<std::string>;

bool is_one_line(const std::string& text) {
  return !text.empty() && text.find('\n') == text.size() - 1;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(command_lines)

BOOST_AUTO_TEST_CASE(a_race_keeps_the_texts_of_its_flags) {
  const auto line = parse_command_line({"race", "p.py", "--workers", "7", "--rounds=3", "--keep", "a", "--keep", "b",
                                        "--json", "-v", "--config", "c.toml"});
  BOOST_REQUIRE(line.command.has_value());
  const auto& x = *line.command;
  BOOST_TEST((x.kind == command_kind::race));
  BOOST_TEST(x.problem == "p.py");
  BOOST_TEST(x.config_file == "c.toml");
  BOOST_TEST((x.flags.at("workers") == texts{"7"}));
  // Under the name that was typed, so that an error can say it.
  BOOST_TEST((x.flags.at("rounds") == texts{"3"}));
  BOOST_TEST((x.flags.at("keep") == texts{"a", "b"}));
  BOOST_TEST((x.flags.at("json") == texts{"true"}));
  BOOST_TEST((x.flags.at("verbose") == texts{"true"}));
}

BOOST_AUTO_TEST_CASE(a_list_option_does_not_swallow_the_problem) {
  const auto line = parse_command_line({"race", "--keep", "a", "p.py"});
  BOOST_REQUIRE(line.command.has_value());
  BOOST_TEST(line.command->problem == "p.py");
}

BOOST_AUTO_TEST_CASE(wrong_usage_is_one_line_and_exit_code_2) {
  const std::vector<std::pair<texts, std::string>> cases = {
      {{}, "no command; allowed: race, resume, show, list"},
      {{"rcae", "p.py"}, "got rcae"},
      {{"race"}, "usage: regatta race PROBLEM.py"},
      {{"race", "p.py", "--wrokers", "4"}, "did you mean --workers?"},
      {{"race", "p.py", "q.py"}, "got q.py"},
      {{"race", "p.py", "--deny-network"}, "no candidate ever has a network"},
      {{"race", "p.py", "--problem=q.py"}, "the problem is an argument"},
      {{"race", "p.py", "--workers"}, "--workers"},
      {{"race", "p.py", "--workers", "1", "--workers", "2"}, "--workers"},
      {{"show", "latest", "--round", "0"}, "--round"},
      {{"show"}, "an argument is missing"},
  };
  for (const auto& [arguments, expected] : cases) {
    const auto line = parse_command_line(arguments);
    BOOST_TEST_INFO(line.text);
    BOOST_TEST(!line.command.has_value());
    BOOST_TEST(line.exit_code == 2);
    BOOST_TEST(is_one_line(line.text));
    BOOST_TEST((line.text.find(expected) != std::string::npos), line.text);
  }
}

BOOST_AUTO_TEST_CASE(help_names_every_option_and_every_exit_code) {
  const auto line = parse_command_line({"race", "--help"});
  BOOST_TEST(line.exit_code == 0);
  for (const auto& entry : all_options()) {
    BOOST_TEST(line.text.find("--" + std::string{entry.name}) != std::string::npos);
  }
  for (const auto* code : {"0 won", "2 wrong usage", "5 cancelled", "7 sandbox", "9 internal"}) {
    BOOST_TEST(line.text.find(code) != std::string::npos);
  }
  BOOST_TEST(parse_command_line({"--version"}).text.starts_with("regatta "));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::cli
