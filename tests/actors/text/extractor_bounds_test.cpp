// SPDX-License-Identifier: Apache-2.0
#include "messages/limits.hpp"
#include "tests/actors/text/extractor_support.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <ctime>

using namespace regatta;
using namespace regatta::tests;

namespace {

std::string repeated(std::string_view text, std::size_t bytes = MiB / 2) {
  std::string out;
  while (out.size() + text.size() <= bytes) {
    out += text;
  }
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(extractor_bounds)

// CPU time, not wall time: the machine may be busy. 512 KiB of each take 0.01 to 0.15 s optimised, under 0.5 s in a
// debug build; a quadratic step takes minutes.
BOOST_AUTO_TEST_CASE(work_grows_with_the_reply_and_not_with_its_square) {
  for (const auto* pattern : {"`",         "``` ",       "```\n",     "```python\n", "![[]()",
                              "* ",        "> ",         "- - - \n",  "\n",          "<?",
                              "<!A ",      "[a](",       "*a _b",     "`a``b",       "[a]: b\n",
                              "~",         "~~~\n```\n", "    a\n\n", "<a x='\n",    "```python\nx\n```\n",
                              "> ```py\n", "1. ",        "\t",        "&#1",         "</",
                              "<div>\n",   "# ",         "===\n"}) {
    const auto reply = repeated(pattern);
    const auto before = std::clock();
    const auto found = find_code(reply, false);
    const auto seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    BOOST_TEST(seconds < 5.0, "pattern " << pattern << ": " << seconds << " s");
    BOOST_TEST(found.options.size() <= 64U);
  }
}

BOOST_AUTO_TEST_CASE(the_longest_reply_of_nothing_but_backticks_is_no_burden) {
  const auto before = std::clock();
  const auto found = find_code(repeated("`", reply_bytes), false);
  BOOST_TEST(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC < 2.0);
  BOOST_TEST(found.problem == extraction::no_code);
}

BOOST_AUTO_TEST_CASE(nested_containers_followed_by_many_lines_stay_cheap) {
  const auto before = std::clock();
  find_code(repeated("* ") + "x" + std::string(MiB, '\n'), false);
  BOOST_TEST(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC < 5.0);
}

BOOST_AUTO_TEST_CASE(never_more_than_64_options_and_2_mib_are_checked) {
  std::string reply;
  for (int i = 0; i < 200; ++i) {
    reply += "```python\nx" + std::to_string(i) + " = \"\"\"\n```\nmore\n";
  }
  const auto found = find_code(reply, false);
  BOOST_TEST(found.options.size() == 64U);
  BOOST_TEST(found.options.front().block == found.blocks);
  std::string large;
  for (int i = 0; i < 8; ++i) {
    large += "```python\n" + std::string(400 * KiB, '#') + "\n```\n";
  }
  std::size_t bytes = 0;
  for (const auto& option : find_code(large, false).options) {
    bytes += option.text.size();
  }
  BOOST_TEST(bytes <= 2 * MiB);
}

BOOST_AUTO_TEST_CASE(facts_that_are_missing_are_not_guessed) {
  const auto found = find_code("```python\nx = 1\n```\n", false);
  const auto chosen = choose_code(found, {}, {}, false);
  BOOST_TEST(chosen.result == extraction::no_code);
  BOOST_TEST(chosen.code.empty());
}

BOOST_AUTO_TEST_CASE(a_long_error_is_cut_between_characters) {
  const auto found = find_code("```python\nx = 1\n```\n", false);
  std::string error;
  while (error.size() < 2000) {
    error += "\xC3\xA4";
  }
  const auto chosen = choose_code(found, {{false, "y" + error, {}, false}}, {}, false);
  BOOST_TEST(chosen.note.size() < 600U);
  BOOST_TEST(chosen.note.ends_with("\xC3\xA4"));
}

BOOST_AUTO_TEST_CASE(a_foreign_tag_is_quoted_as_plain_text_even_if_its_cut_halves_a_character) {
  const auto found = find_code("```" + std::string(31, 'A') + "\xC3\xBC\nx\n```\n```x\x1B[2J\ny\n```\n", false);
  BOOST_REQUIRE_EQUAL(found.options.size(), 2U);
  BOOST_TEST(found.options[0].tag == "x?[2j");
  BOOST_TEST(found.options[1].tag == std::string(31, 'a') + "?");
}

BOOST_AUTO_TEST_SUITE_END()
