// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/judge/scripted_side.hpp"

#include <boost/test/unit_test.hpp>

#include <poll.h>

#include <cstring>
#include <string>
#include <vector>

using namespace regatta::judge;
using regatta::to_string;
using regatta::judge::testing::frame_of;
using regatta::judge::testing::script_pipes;
using regatta::judge::testing::scripted_side;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds patient{10'000}, impatient{60};

std::string prefix_of(std::uint32_t head, std::uint64_t body) {
  std::string out(frame_prefix_bytes, '\0');
  std::memcpy(out.data(), &head, sizeof head);
  std::memcpy(out.data() + 4, &body, sizeof body);
  return out;
}

template <class Act>
session_end end_of(Act act) {
  try {
    act();
  } catch (const session_end& end) {
    return end;
  }
  return {ending::correct, "no end", {}, false};
}

/// What reading one frame of these bytes ends in; then the pipe is closed.
session_end end_of_bytes(const std::string& bytes, side who, milliseconds patience = patient) {
  scripted_side script{[&](script_pipes& pipes) { pipes.send(bytes); }};
  auto from = script.open(who, 1000);
  from.arm(patience);
  return end_of([&] {
    (void)from.read_head();
    from.skip_body();
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(channel_test)

BOOST_AUTO_TEST_CASE(frames_come_in_any_pieces) {
  const std::string bytes = frame_of("{\"a\":1}", "body") + frame_of("{}", "");
  scripted_side script{[&](script_pipes& pipes) {
    for (const char x : bytes) {
      pipes.send(std::string{x});
    }
  }};
  auto from = script.open(side::candidate);
  from.arm(patient);
  BOOST_TEST(from.read_head() == "{\"a\":1}");
  BOOST_TEST(from.body_left() == 4U);
  std::string body(4, '\0');
  from.read(std::as_writable_bytes(std::span{body}));
  BOOST_TEST(body == "body");
  BOOST_TEST(from.read_head() == "{}");
  BOOST_TEST(!from.is_broken());
}

BOOST_AUTO_TEST_CASE(hostile_sizes_are_refused_before_anything_is_allocated) {
  struct row {
    std::string bytes;
    side who;
    ending wanted;
  };
  const std::vector<row> table{
      {prefix_of(0xFFFFFFFF, 0), side::candidate, ending::contract_violation},
      {prefix_of((4U << 20) + 1, 0), side::candidate, ending::contract_violation},
      {prefix_of(0, 0), side::candidate, ending::contract_violation},
      {prefix_of(1, 0), side::candidate, ending::contract_violation},
      {prefix_of(2, 1001), side::candidate, ending::contract_violation},
      {prefix_of(2, 0xFFFFFFFFFFFFFFFF), side::candidate, ending::contract_violation},
      {prefix_of(2, 0xFFFFFFFFFFFFFFFF), side::reference, ending::too_large},
      {prefix_of(1, 0), side::reference, ending::problem_failed},
      {"", side::candidate, ending::candidate_gone},
      {"", side::reference, ending::reference_gone},
      {"\1\2\3", side::candidate, ending::candidate_gone},
      {prefix_of(10, 0) + "{}", side::candidate, ending::candidate_gone},
      {prefix_of(2, 10) + "{}abc", side::candidate, ending::candidate_gone},
  };
  for (std::size_t i = 0; i < table.size(); ++i) {
    BOOST_TEST_CONTEXT("row " << i) {
      const auto end = end_of_bytes(table[i].bytes, table[i].who);
      BOOST_TEST(to_string(end.judgement) == to_string(table[i].wanted), end.reason);
    }
  }
}

BOOST_AUTO_TEST_CASE(silence_ends_with_patience) {
  for (const std::string& bytes : {std::string{}, prefix_of(5, 0), prefix_of(2, 5) + "{}"}) {
    scripted_side script{[&](script_pipes& pipes) {
      pipes.send(bytes);
      pipes.stay_silent();
    }};
    auto from = script.open(side::candidate);
    from.arm(impatient);
    const auto end = end_of([&] {
      (void)from.read_head();
      from.skip_body();
    });
    BOOST_TEST(to_string(end.judgement) == "timed_out");
    BOOST_TEST(end.reason.find("60 ms") != std::string::npos, end.reason);
    BOOST_TEST(from.is_broken());
  }
}

BOOST_AUTO_TEST_CASE(a_side_that_sends_a_byte_now_and_then_gains_nothing) {
  scripted_side script{[&](script_pipes& pipes) {
    while (pipes.send("x")) {
      pollfd none{-1, 0, 0};
      ::poll(&none, 1, 10);
    }
  }};
  auto from = script.open(side::candidate, ~0ULL);
  from.arm(impatient);
  const auto start = std::chrono::steady_clock::now();
  const auto end = end_of([&] { (void)from.read_head(); });
  // "xxxx" is a head of 2 GB, so it is refused once the prefix is there, or the time is over before.
  BOOST_TEST((end.judgement == ending::timed_out || end.judgement == ending::contract_violation));
  BOOST_TEST((std::chrono::steady_clock::now() - start < milliseconds{5000}));
}

BOOST_AUTO_TEST_CASE(a_side_that_does_not_read_ends_with_patience) {
  scripted_side script{[](script_pipes& pipes) { pipes.stay_silent(); }};
  auto to = script.open(side::candidate);
  to.arm(impatient);
  const std::vector<std::byte> large(8 << 20);
  const auto end = end_of([&] {
    to.send_head("{}", large.size());
    to.send_body(large);
  });
  BOOST_TEST(to_string(end.judgement) == "timed_out");
}

BOOST_AUTO_TEST_CASE(a_side_that_ends_while_it_is_asked_is_gone) {
  scripted_side script{[](script_pipes&) {}};
  auto to = script.open(side::reference);
  to.arm(patient);
  const std::vector<std::byte> large(8 << 20);
  const auto end = end_of([&] {
    to.send_head("{}", large.size());
    to.send_body(large);
  });
  BOOST_TEST(to_string(end.judgement) == "reference_gone");
}

BOOST_AUTO_TEST_CASE(time_that_another_side_takes_is_not_counted) {
  scripted_side script{[](script_pipes& pipes) { pipes.send(frame_of("{}", "")); }};
  auto from = script.open(side::candidate);
  from.arm(impatient);
  pollfd none{-1, 0, 0};
  ::poll(&none, 1, 2 * static_cast<int>(impatient.count()));
  BOOST_TEST(from.read_head() == "{}");
}

BOOST_AUTO_TEST_SUITE_END()
