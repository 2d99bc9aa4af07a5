// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/charge.hpp"

#include "actors/llm/prices.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <string>
#include <vector>

using namespace regatta;

namespace {

constexpr token_prices dear{2'500'000'000, 1'250'000'000, 10'000'000'000};

token_usage used(std::uint64_t input, std::uint64_t output) {
  token_usage x;
  x.input_tokens = input;
  x.output_tokens = output;
  return x;
}

}  // namespace

BOOST_TEST_DONT_PRINT_LOG_VALUE(try_reach)

BOOST_AUTO_TEST_SUITE(charges)

BOOST_AUTO_TEST_CASE(a_price_is_rounded_up_once_and_exact) {
  BOOST_TEST(price_of(dear, {1'000'000, 0, 0, 0}) == 2'500'000'000);
  BOOST_TEST(price_of(dear, {1'000, 400, 0, 200}) == 2'500 * 600 + 1'250 * 400 + 10'000 * 200);
  BOOST_TEST(price_of({1, 1, 1}, {1, 0, 0, 1}) == 1, "two millionths of a nano-unit are one nano-unit");
  BOOST_TEST(price_of(dear, {0, 0, 0, 0}) == 0);
  BOOST_TEST(price_of(dear, {10, 1'000, 0, 0}) == 12'500, "no more can come from the cache than there was");
}

BOOST_AUTO_TEST_CASE(input_that_is_written_to_a_cache_has_a_price_of_its_own) {
  auto prices = dear;
  BOOST_TEST(price_of(prices, {1'000, 0, 300, 0}) == 2'500 * 1'000, "without one it costs what input costs");
  prices.cache_write = 3'125'000'000;
  BOOST_TEST(price_of(prices, {1'000, 400, 300, 200}) == 2'500 * 300 + 1'250 * 400 + 3'125 * 300 + 10'000 * 200);
  BOOST_TEST(price_of(prices, {10, 1'000, 1'000, 0}) == 3'125 * 10, "no more is written than there was");
  BOOST_TEST(largest_price_of(prices, 1'000, 1) == 3'125 * 1'000 + 10'000);
  auto usage = used(1'000, 0);
  usage.cache_written_tokens = 1'000;
  const auto got = charge_of(try_reach::whole_reply, usage, &prices, {1'000, 0, largest_price_of(prices, 1'000, 0)});
  BOOST_TEST(got.cost == 3'125 * 1'000);
  BOOST_TEST(!got.is_above_bound, "it was reserved for");
  BOOST_TEST(price_digest(&prices, "USD") != price_digest(&dear, "USD"));
}

BOOST_AUTO_TEST_CASE(a_lying_usage_never_wraps_a_sum) {
  constexpr auto largest = std::numeric_limits<std::uint64_t>::max();
  constexpr auto most = std::numeric_limits<nano_units>::max();
  BOOST_TEST(price_of({most, most, most}, {largest, 0, 0, largest}) == most);
  BOOST_TEST(add_money(most, most) == most);
  BOOST_TEST(add_tokens(largest, 2) == largest);
  const auto got = charge_of(try_reach::whole_reply, used(largest, largest), &dear, {10, 10, 10});
  BOOST_TEST(got.cost == most);
  BOOST_TEST(got.tokens == largest);
  BOOST_TEST(got.is_above_bound);
}

BOOST_AUTO_TEST_CASE(the_bound_counts_bytes_overhead_and_the_cap_that_is_sent) {
  prompt ask;
  ask.system = "sys";
  ask.user = "h\xC3\xBC";
  ask.choice.model = "m";
  provider_config provider;
  provider.max_output_tokens = 100;
  provider.prices["*"] = dear;
  provider.prices["m"] = {1'000'000, 9'000'000, 2'000'000};
  auto got = bound_of(ask, provider);
  BOOST_TEST(got.input_tokens == 6 + 64);
  BOOST_TEST(got.output_tokens == 100U);
  BOOST_TEST(got.price == 9 * 70 + 2 * 100, "the cache is the dearer one here");
  ask.choice.max_output_tokens = 7;
  ask.choice.model = "other";
  got = bound_of(ask, provider);
  BOOST_TEST(got.tokens() == 77U);
  BOOST_TEST(got.price == 2'500 * 70 + 10'000 * 7);
}

BOOST_AUTO_TEST_CASE(how_far_a_try_got_is_told_by_status_end_and_outcome) {
  using enum try_reach;
  using out = llm_outcome;
  struct row {
    llm_outcome outcome;
    std::uint32_t status;
    exchange_end how;
    bool is_settled;
    try_reach expected;
  };
  const std::vector<row> table{
      {out::replied, 200, exchange_end::complete, false, whole_reply},
      {out::replied, 200, exchange_end::cancelled, true, whole_reply},
      {out::truncated, 200, exchange_end::complete, true, whole_reply},
      {out::empty, 200, exchange_end::complete, true, whole_reply},
      {out::refused, 200, exchange_end::complete, true, whole_reply},
      {out::replied, 200, exchange_end::cut, false, may_have_run},
      {out::replied, 200, exchange_end::cancelled, false, may_have_run},
      {out::transport_failed, 200, exchange_end::cut, false, may_have_run},
      {out::rate_limited, 200, exchange_end::complete, true, may_have_run},
      {out::malformed, 200, exchange_end::too_large, true, may_have_run},
      {out::transport_failed, 0, exchange_end::cut, false, may_have_run},
      {out::timed_out, 0, exchange_end::cancelled, false, may_have_run},
      {out::overloaded, 408, exchange_end::complete, true, may_have_run},
      {out::overloaded, 500, exchange_end::complete, true, may_have_run},
      {out::overloaded, 502, exchange_end::complete, true, may_have_run},
      {out::overloaded, 504, exchange_end::complete, true, may_have_run},
      {out::overloaded, 503, exchange_end::complete, true, refused},
      {out::overloaded, 529, exchange_end::complete, true, refused},
      {out::rate_limited, 429, exchange_end::complete, true, refused},
      {out::unauthorized, 401, exchange_end::cut, true, refused},
      {out::refused, 400, exchange_end::complete, true, refused},
      {out::bad_request, 302, exchange_end::complete, true, refused},
      {out::transport_failed, 0, exchange_end::connect_failed, false, not_asked},
      {out::transport_failed, 0, exchange_end::refused_by_tls, false, not_asked},
      {out::transport_failed, 0, exchange_end::misconfigured, false, not_asked},
  };
  for (const auto& x : table) {
    BOOST_TEST((reach_of(x.outcome, x.status, x.how, x.is_settled) == x.expected), to_string(x.outcome)
                                                                                       << " " << x.status);
  }
  BOOST_TEST((reach_of(program_end::not_started) == not_asked));
  BOOST_TEST((reach_of(program_end::lost) == may_have_run));
}

BOOST_AUTO_TEST_CASE(what_is_charged_follows_from_how_far_the_try_got) {
  const call_bound bound{1'000, 500, price_of(dear, {1'000, 0, 0, 500})};
  for (const auto reach : {try_reach::not_asked, try_reach::refused}) {
    const auto got = charge_of(reach, used(10, 10), &dear, bound);
    BOOST_TEST(got.cost == 0);
    BOOST_TEST(got.tokens == 0U);
    BOOST_TEST(got.basis == charge_basis::none);
  }
  auto got = charge_of(try_reach::may_have_run, used(10, 10), &dear, bound);
  BOOST_TEST(got.cost == bound.price);
  BOOST_TEST(got.tokens == 1'500U);
  BOOST_TEST(got.basis == charge_basis::reserved);
  got = charge_of(try_reach::whole_reply, {}, &dear, bound);
  BOOST_TEST(got.cost == bound.price, "it never says what it used");
  got = charge_of(try_reach::whole_reply, used(10, 20), &dear, bound);
  BOOST_TEST(got.cost == 25'000 + 200'000);
  BOOST_TEST(got.tokens == 30U);
  BOOST_TEST(got.basis == charge_basis::usage);
  BOOST_TEST(!got.is_above_bound);
  token_usage half;
  half.output_tokens = 20;
  got = charge_of(try_reach::whole_reply, half, &dear, bound);
  BOOST_TEST(got.tokens == 1'020U);
  BOOST_TEST(got.basis == charge_basis::reserved);
  got = charge_of(try_reach::whole_reply, used(10, 20), nullptr, bound);
  BOOST_TEST(got.cost == 0);
  BOOST_TEST(got.tokens == 30U);
}

BOOST_AUTO_TEST_CASE(usage_above_the_bound_is_charged_in_full_and_told) {
  const call_bound bound{1'000, 500, price_of(dear, {1'000, 0, 0, 500})};
  const auto got = charge_of(try_reach::whole_reply, used(100, 9'000), &dear, bound);
  BOOST_TEST(got.cost == price_of(dear, {100, 0, 0, 9'000}));
  BOOST_TEST(got.is_above_bound);
  BOOST_TEST(charge_of(try_reach::whole_reply, used(10, 760), &dear, bound).is_above_bound,
             "fewer tokens than reserved, but of the dearer kind");
}

BOOST_AUTO_TEST_SUITE_END()
