// SPDX-License-Identifier: Apache-2.0
// Answers that no server means well with, and honest ones that arrive in awkward pieces.
#include "actors/llm/recording_codec.hpp"
#include "tests/actors/llm/answer.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace regatta;
using namespace regatta::test;

BOOST_AUTO_TEST_SUITE(hostile_answers)

BOOST_AUTO_TEST_CASE(a_byte_order_mark_may_come_in_pieces) {
  const std::string stream =
      "\xEF\xBB\xBF"
      "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n";
  for (const std::size_t piece : {1U, 2U, 3U, 100U}) {
    BOOST_TEST(chat.read(stream, piece).outcome == llm_outcome::replied);
  }
  // One that is none is somebody else's page.
  BOOST_TEST(chat.read("\xEF\xBB", 1).outcome == llm_outcome::malformed);
}

// The JSON library writes and copies values by recursion: so deep, it would run out of stack.
BOOST_AUTO_TEST_CASE(values_nested_without_end_are_no_json) {
  constexpr std::size_t depth = 30'000;
  const std::string nested = std::string(depth, '[') + std::string(depth, ']');
  answer x = chat;
  x.status = 400;
  BOOST_TEST(x.read("{\"detail\":" + nested + "}").error.starts_with("400: {\"detail\":[[["));
  BOOST_TEST(chat.read("data: {\"choices\":" + nested + "}\n\n").outcome == llm_outcome::malformed);
  // Brackets inside a string nest nothing.
  BOOST_TEST(x.read("{\"detail\":\"\\\"" + nested + "\"}").error.starts_with("400: \"[[["));
}

BOOST_AUTO_TEST_CASE(a_recording_nested_without_end_is_refused) {
  constexpr std::size_t depth = 100'000;
  const auto got = read_recording("{\"format\":\"regatta-recording/1\"}\n{\"worker\":1,\"round\":1,\"delay_ms\":" +
                                      std::string(depth, '[') + std::string(depth, ']') + "}\n",
                                  "r.jsonl");
  BOOST_REQUIRE(!got);
  BOOST_TEST(text_of(got.error()).starts_with("r.jsonl:2: line: got {"));
}

BOOST_AUTO_TEST_SUITE_END()
