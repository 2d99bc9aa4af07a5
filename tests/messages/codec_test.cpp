// SPDX-License-Identifier: Apache-2.0
#include "messages/codec.hpp"
#include "messages/coordinator_handles.hpp"
#include "messages/event_codec.hpp"
#include "messages/node_handles.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <random>

using namespace regatta;
using namespace std::chrono_literals;

namespace regatta {

/// `run_progress` as a later version might send it.
struct newer {
  std::string note = "n";
  std::uint32_t round = 4;
  REGATTA_FIELDS(note, round);
};

struct wrong {
  std::int64_t round = -1;
  REGATTA_FIELDS(round);
};

}  // namespace regatta

BOOST_AUTO_TEST_SUITE(codec)

BOOST_AUTO_TEST_CASE(a_message_survives_the_round_trip) {
  prompt sent{race_id{"r"}, worker_id{"worker_01"}, 2, 1, {}, "sys", "user ✓", 0, {}};
  sent.choice.temperature = 0.25;
  const auto got = decode<prompt>(encode(sent));
  BOOST_REQUIRE(got);
  BOOST_TEST(got->user == sent.user);
  BOOST_TEST(got->choice.temperature.value() == 0.25);
  BOOST_TEST(!got->choice.seed);
  BOOST_TEST(encode(*got) == encode(sent));
}

BOOST_AUTO_TEST_CASE(a_report_carries_its_fact_by_kind) {
  report sent{race_id{"r"}, worker_id{"worker_02"}, 1, {}};
  candidate_evaluated body;
  body.result.outcome = outcome::timed_out;
  body.result.elapsed = 1500ms;
  body.result.kept.push_back({"a", "b", ""});
  sent.body = body;
  const auto got = decode<report>(encode(sent));
  BOOST_REQUIRE(got);
  const auto* fact = std::get_if<candidate_evaluated>(&got->body);
  BOOST_REQUIRE(fact);
  BOOST_TEST(fact->result.outcome == outcome::timed_out);
  BOOST_TEST(fact->result.elapsed.count() == 1'500'000);
  BOOST_TEST(fact->result.kept.at(0).content == "b");
}

BOOST_AUTO_TEST_CASE(events_are_one_flat_map) {
  event sent{1, 7, 42, race_id{"run_x"}, round_failed{worker_id{"worker_01"}, 3, "why", "ctx"}};
  BOOST_TEST(topic_of(sent) == "race.run_x.round_failed");
  const auto json = event_to_json(sent);
  BOOST_TEST(json == R"({"schema_version":1,"seq":7,"at_us":42,"race":"run_x","kind":"round_failed",)"
                     R"("worker":"worker_01","round":3,"why":"why","error_context":"ctx"})");
  const auto got = decode_event(encode_event(sent));
  BOOST_REQUIRE(got);
  BOOST_TEST(got->seq == 7U);
  BOOST_TEST(std::get<round_failed>(got->body).why == "why");
}

BOOST_AUTO_TEST_CASE(unknown_keys_are_skipped_and_missing_ones_keep_their_default) {
  const auto got = decode<run_progress>(encode(newer{}));
  BOOST_REQUIRE(got);
  BOOST_TEST(got->round == 4U);
  BOOST_TEST(!got->has_started);
}

BOOST_AUTO_TEST_CASE(every_truncation_and_trailing_byte_is_refused) {
  const auto good = encode(spawn_worker{});
  for (std::size_t n = 0; n < good.size(); ++n) {
    BOOST_TEST(!decode<spawn_worker>(std::string_view{good}.substr(0, n)), "cut at " << n);
  }
  BOOST_TEST(!decode<spawn_worker>(good + "x"));
}

BOOST_AUTO_TEST_CASE(length_prefixes_are_not_believed) {
  using namespace std::string_literals;
  for (const auto& bytes : {"\xdd\x40\x00\x00\x00"s, "\xdf\xff\xff\xff\xff"s, "\xdb\x7f\xff\xff\xff"s,
                            "\xc6\x7f\xff\xff\xff"s, "\xc9\x00\x00\x00\x00\x01"s, std::string(100'000, '\x91'),
                            std::string(100'000, '\x81'), "\xc1"s, ""s}) {
    BOOST_TEST(!decode<prompt>(bytes));
  }
}

/// As newer versions of msgpack-cxx write 1e19 and -2.0.
BOOST_AUTO_TEST_CASE(a_float_may_come_as_an_integer) {
  double got = 0;
  BOOST_TEST(wire::get(wire::object{std::uint64_t{10'000'000'000'000'000'000U}}, got));
  BOOST_TEST(got == 1e19);
  BOOST_TEST(wire::get(wire::object{std::int64_t{-2}}, got));
  BOOST_TEST(got == -2.0);
  BOOST_TEST(!wire::get(wire::object{true}, got));
}

BOOST_AUTO_TEST_CASE(wrong_types_and_ranges_are_errors) {
  const auto got = decode<run_progress>(encode(wrong{}));
  BOOST_REQUIRE(!got);
  BOOST_TEST(code_of(got.error()) == ec::malformed_frame);
}

BOOST_AUTO_TEST_CASE(random_mutations_neither_throw_nor_crash) {
  std::mt19937 random{20'261'130};
  const auto good = encode(report{race_id{"r"}, worker_id{"w"}, 1, race_started{}});
  std::size_t accepted_count = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto bytes = good;
    for (int k = 0; k < 3; ++k) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    accepted_count += decode<report>(bytes) ? 1 : 0;
  }
  BOOST_TEST(accepted_count < 20'000U);
}

BOOST_AUTO_TEST_CASE(errors_keep_code_and_text) {
  const auto e = fail(ec::io_failed, "cannot write \"/x\"");
  BOOST_TEST(code_of(e) == ec::io_failed);
  BOOST_TEST(text_of(e) == "cannot write \"/x\"");
  BOOST_TEST(describe(e) == "io_failed: cannot write \"/x\"");
}

BOOST_AUTO_TEST_SUITE_END()
