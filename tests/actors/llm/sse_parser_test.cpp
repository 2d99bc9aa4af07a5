// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/sse_parser.hpp"

#include "actors/llm/utf8_text.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace regatta;

namespace {

std::vector<sse_event> parse_in_pieces(std::string_view bytes, std::size_t size) {
  sse_parser parser;
  std::vector<sse_event> out;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    for (auto& event : parser.feed(bytes.substr(at, size))) {
      out.push_back(event);
    }
  }
  for (auto& event : parser.finish()) {
    out.push_back(event);
  }
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sse)

BOOST_AUTO_TEST_CASE(pieces_of_any_size_give_the_same_events) {
  const std::string stream =
      "\xEF\xBB\xBF: comment\r\nevent: a\r\ndata: one\r\ndata: t\xC3\xBCwo\r\n\r\nid: 7\ndata:three\n\n"
      ":\n\ndata\r\rdata: last";
  const std::vector<sse_event> wanted{{"a", "one\nt\xC3\xBCwo"}, {"", "three"}, {"", ""}, {"", "last"}};
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    BOOST_TEST((parse_in_pieces(stream, size) == wanted), "in pieces of " << size);
  }
}

BOOST_AUTO_TEST_CASE(an_event_without_data_is_none) {
  BOOST_TEST(parse_in_pieces("event: ping\n\n: nothing\n\nretry: 3\n\n", 4).empty());
}

BOOST_AUTO_TEST_CASE(a_name_belongs_to_its_event_only) {
  const auto events = parse_in_pieces("event: error\ndata: a\n\ndata: b\n\n", 100);
  BOOST_REQUIRE(events.size() == 2U);
  BOOST_TEST(events[0].name == "error");
  BOOST_TEST(events[1].name.empty());
}

BOOST_AUTO_TEST_CASE(an_endless_line_is_refused_at_the_limit) {
  sse_parser parser{16};
  BOOST_TEST(parser.feed("data: 012345678").empty());
  BOOST_TEST(!parser.is_overflown());
  parser.feed("9abcdef");
  BOOST_TEST(parser.is_overflown());
  BOOST_TEST(parser.feed("\n\ndata: x\n\n").empty());
}

BOOST_AUTO_TEST_CASE(an_endless_event_of_short_lines_is_refused_too) {
  sse_parser parser{16};
  for (int i = 0; i < 10; ++i) {
    parser.feed("data: abc\n");
  }
  BOOST_TEST(parser.is_overflown());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(utf8)

BOOST_AUTO_TEST_CASE(bytes_that_are_no_characters_are_replaced) {
  const std::string r = "\xEF\xBF\xBD";
  BOOST_TEST(repair_utf8("a\xC3\xBC\xF0\x9F\x99\x82z") == "a\xC3\xBC\xF0\x9F\x99\x82z");
  BOOST_TEST(repair_utf8("a\xFF"
                         "b") == "a" + r + "b");
  BOOST_TEST(repair_utf8("\xF0\x9F\x99") == r);
  BOOST_TEST(repair_utf8("\xED\xA0\x80") == r + r + r, "a surrogate");
  BOOST_TEST(repair_utf8("\xC0\xAF") == r + r, "an overlong form");
  BOOST_TEST(repair_utf8(std::string("a\0b", 3)) == std::string("a\0b", 3));
}

BOOST_AUTO_TEST_CASE(a_prefix_never_ends_inside_a_character) {
  const std::string smile = "x\xF0\x9F\x99\x82";
  BOOST_TEST(whole_characters(smile) == 5U);
  BOOST_TEST(whole_characters(smile.substr(0, 4)) == 1U);
  BOOST_TEST(whole_characters(smile.substr(0, 2)) == 1U);
  BOOST_TEST(whole_characters("x\xFF") == 2U, "what can never become a character does not wait");
  BOOST_TEST(whole_characters("") == 0U);
}

BOOST_AUTO_TEST_CASE(a_secret_is_found_whole_begun_and_cut) {
  const std::string secret = "abcabd";
  BOOST_TEST(without_secret("abcabcabdx", secret) == "abc[redacted]x");
  BOOST_TEST(without_secret("abcabdabcabd", secret) == "[redacted][redacted]");
  BOOST_TEST(without_secret("cabab", secret) == "cabab", "less than half of it, and less than a word");
  BOOST_TEST(without_secret("x 0123456", "0123456789") == "x [redacted]");
  BOOST_TEST(without_secret("pass", "pass") == "pass", "no key is that short");
  BOOST_TEST(before_secret("xyabcabc", secret) == 5U, "a later beginning waits, too");
  BOOST_TEST(before_secret("xyabcab", secret) == 2U);
  BOOST_TEST(before_secret("abcabdab", secret) == 6U);
  BOOST_TEST(before_secret("abcabd", secret) == 6U);
  BOOST_TEST(before_secret("", secret) == 0U);
}

BOOST_AUTO_TEST_CASE(error_texts_lose_secrets_and_control_sequences) {
  BOOST_TEST(presentable("key sk-12345678 bad\x1B[2J\n", "sk-12345678") == "key [redacted] bad [2J ");
  BOOST_TEST(presentable(std::string(5'000, 'x'), "").size() == 2'000U);
}

BOOST_AUTO_TEST_SUITE_END()
