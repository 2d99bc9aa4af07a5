// SPDX-License-Identifier: Apache-2.0
#include "sandbox/output_keeper.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using regatta::sandbox::output_keeper;

BOOST_AUTO_TEST_SUITE(output_kept)

BOOST_AUTO_TEST_CASE(all_is_kept_while_it_fits) {
  output_keeper keeper{4, 6};
  keeper.feed("0123");
  keeper.feed("456789");
  BOOST_TEST(keeper.text() == "0123456789");
  BOOST_TEST(keeper.total() == 10U);
}

BOOST_AUTO_TEST_CASE(the_gap_is_marked_with_its_exact_size) {
  output_keeper keeper{4, 6};
  for (const char* piece : {"01", "2345678", "9abc", "defghijklmnop", "q"}) {
    keeper.feed(piece);
  }
  // 27 bytes: 4 in front, 6 behind.
  BOOST_TEST(keeper.text() == "0123\n[regatta: 17 bytes left out here]\nlmnopq");
  BOOST_TEST(keeper.total() == 27U);
}

BOOST_AUTO_TEST_CASE(one_huge_piece_is_cut_the_same_way) {
  output_keeper keeper{4, 6};
  keeper.feed("abc\n" + std::string(1000, '.') + "012345");
  BOOST_TEST(keeper.text() == "abc\n[regatta: 1000 bytes left out here]\n012345");
}

BOOST_AUTO_TEST_CASE(memory_stays_bounded) {
  output_keeper keeper;
  const std::string piece(100'000, 'x');
  for (int i = 0; i < 100; ++i) {
    keeper.feed(piece);
  }
  BOOST_TEST(keeper.total() == 10'000'000U);
  BOOST_TEST(keeper.text().size() < 64 * 1024 + 1024 * 1024 + 100);
}

BOOST_AUTO_TEST_CASE(the_last_bytes_are_found_wherever_they_lie) {
  output_keeper keeper{4, 6};
  keeper.feed("ab");
  BOOST_TEST(keeper.last(10) == "ab");
  keeper.feed("cdefgh");
  BOOST_TEST(keeper.last(2) == "gh");
}

BOOST_AUTO_TEST_SUITE_END()
