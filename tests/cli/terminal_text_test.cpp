// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal_text.hpp"

#include <boost/test/unit_test.hpp>

namespace regatta::cli {

BOOST_AUTO_TEST_SUITE(terminal_texts)

BOOST_AUTO_TEST_CASE(control_sequences_never_reach_a_terminal) {
  BOOST_TEST(clean_text("a\x1B[31mred\x1B[0m") == "ared");
  BOOST_TEST(clean_text("\x1B]0;title\aok") == "ok");
  BOOST_TEST(clean_text("\x1B]8;;http://x\x1B\\link") == "link");
  BOOST_TEST(clean_text("\x1BPq#\x1B\\x") == "x");
  BOOST_TEST(clean_text("a\rb\bc\x07"
                        "d\x7F"
                        "e") == "abcde");
  BOOST_TEST(clean_text("\xC2\x9B"
                        "31m") == "31m");
  BOOST_TEST(clean_text("\x1B") == "");
  BOOST_TEST(clean_text("\x1B[") == "");
  BOOST_TEST(clean_text("\xE2\x80\xAE"
                        "evil") == "evil");
}

BOOST_AUTO_TEST_CASE(text_cannot_hide_behind_a_sequence_that_never_ends) {
  BOOST_TEST(clean_text("\x1B]0;all of this stays") == "0;all of this stays");
  BOOST_TEST(clean_text("\x1B[12\nnext") == "12\nnext");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_utf8_are_replaced) {
  BOOST_TEST(clean_text("a\xFFz") == "a\xEF\xBF\xBDz");
  BOOST_TEST(clean_text("\xC3") == "\xEF\xBF\xBD");
  BOOST_TEST(clean_text("\xC0\x80").find('\0') == std::string::npos);
  BOOST_TEST(clean_text("ж漢🙂") == "ж漢🙂");
}

BOOST_AUTO_TEST_CASE(a_line_is_one_line) {
  BOOST_TEST(clean_line("  a\n\n\tb \r\n") == "a b");
}

BOOST_AUTO_TEST_CASE(columns_are_counted_and_cut) {
  BOOST_TEST(columns_of("漢字") == 4U);
  BOOST_TEST(columns_of("e\xCC\x81") == 1U);
  BOOST_TEST(cut_to("abcdef", 4) == "abc…");
  BOOST_TEST(cut_to("abcd", 4) == "abcd");
  BOOST_TEST(cut_to("漢字漢字", 4) == "漢…");
  BOOST_TEST(fit_to("ab", 4) == "ab  ");
  BOOST_TEST(columns_of(fit_to("漢字漢字", 6)) == 6U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::cli
