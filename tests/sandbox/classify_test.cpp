// SPDX-License-Identifier: Apache-2.0
#include "sandbox/classify.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

using namespace regatta;
using regatta::sandbox::claim_matcher;

namespace {

/// In pieces of every size: the result must not depend on where the stream was cut.
claim claim_of(std::string_view text) {
  claim_matcher whole;
  whole.feed(text);
  const auto expected = whole.finish();
  for (std::size_t size = 1; size < text.size(); ++size) {
    claim_matcher pieces;
    for (std::size_t at = 0; at < text.size(); at += size) {
      pieces.feed(text.substr(at, size));
    }
    BOOST_TEST((pieces.finish() == expected), "cut every " << size << " bytes: " << text);
  }
  return expected;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(claim_rule)

BOOST_AUTO_TEST_CASE(the_word_pass_is_found_at_its_borders) {
  for (const char* text : {"PASS", "PASS\n", "test PASS", "[PASS]", "PASS.", "x PASS\ny", "1. PASS!", "-PASS-",
                           "NOT PASS", "PAS PASS", "PASSED then PASS", "ALL_TESTS_PASSED PASS"}) {
    BOOST_TEST((claim_of(text) == claim::run_tests), text);
  }
}

BOOST_AUTO_TEST_CASE(pass_inside_a_word_is_none) {
  for (const char* text : {"", "PAS", "PASSED", "BYPASS", "_PASS", "PASS_", "PASS1", "9PASS", "pass", "P ASS",
                           "PASSPASS", "PPASS", "PASS\xC3\xA9"}) {
    BOOST_TEST((claim_of(text) == claim::none), text);
  }
}

BOOST_AUTO_TEST_CASE(borders_are_unicodes) {
  BOOST_TEST((claim_of("éPASS") == claim::none));
  BOOST_TEST((claim_of("PASSé") == claim::none));
  BOOST_TEST((claim_of("合格PASS") == claim::none));
  BOOST_TEST((claim_of("٣PASS") == claim::none));  // an Arabic digit
  BOOST_TEST((claim_of("✅PASS") == claim::run_tests));
  BOOST_TEST((claim_of("✅ PASS ✅") == claim::run_tests));
  BOOST_TEST((claim_of("PASS✅") == claim::run_tests));
  BOOST_TEST((claim_of("“PASS”") == claim::run_tests));
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_utf8_are_no_letters) {
  BOOST_TEST((claim_of("\xFFPASS\xFF") == claim::run_tests));
  BOOST_TEST((claim_of("\xC3PASS") == claim::run_tests));          // cut sequence
  BOOST_TEST((claim_of("PASS\xE2\x9C") == claim::run_tests));      // cut at the very end
  BOOST_TEST((claim_of("\xC1\xA1PASS") == claim::run_tests));      // overlong letter
  BOOST_TEST((claim_of("\xED\xA0\x80PASS") == claim::run_tests));  // surrogate
}

BOOST_AUTO_TEST_CASE(the_sentinel_counts_without_borders_and_after_pass) {
  BOOST_TEST((claim_of("ALL_TESTS_PASSED") == claim::sentinel));
  BOOST_TEST((claim_of("xALL_TESTS_PASSEDx") == claim::sentinel));
  BOOST_TEST((claim_of("ALL_TESTS_PALL_TESTS_PASSED") == claim::sentinel));
  BOOST_TEST((claim_of("AALL_TESTS_PASSED") == claim::sentinel));
  BOOST_TEST((claim_of("ALL_TESTS_FAILED") == claim::none));
  BOOST_TEST((claim_of("ALL_TESTS_PASS") == claim::none));
}

BOOST_AUTO_TEST_CASE(a_mark_behind_a_megabyte_is_seen) {
  claim_matcher matcher;
  matcher.feed(std::string(3'000'000, 'x'));
  matcher.feed("\nPA");
  matcher.feed("SS\n");
  matcher.feed(std::string(3'000'000, 'y'));
  BOOST_TEST((matcher.finish() == claim::run_tests));
}

BOOST_AUTO_TEST_SUITE_END()
