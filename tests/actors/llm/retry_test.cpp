// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/provider_queue.hpp"
#include "actors/llm/retry_policy.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace regatta;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t noon = 784'111'777;  // Sun, 06 Nov 1994 08:49:37 GMT

std::int64_t told(const header_list& headers) {
  const auto wait = told_wait(headers, noon);
  return wait ? wait->count() : -1;
}

failed_try failed(llm_outcome outcome, std::uint32_t status) {
  failed_try x;
  x.outcome = outcome;
  x.http_status = status;
  x.seed = 1;
  return x;
}

const provider_queue::time_point t0{1h};

}  // namespace

BOOST_AUTO_TEST_SUITE(retry)

BOOST_AUTO_TEST_CASE(a_wait_is_read_from_every_header_that_names_one) {
  BOOST_TEST(told({{"retry-after", "30"}}) == 30'000);
  BOOST_TEST(told({{"retry-after", " 1.5 "}}) == 1'500);
  BOOST_TEST(told({{"retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"}}) == 30'000);
  BOOST_TEST(told({{"date", "Sun, 06 Nov 1994 08:50:00 GMT"}, {"retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"}}) ==
             7'000);
  BOOST_TEST(told({{"retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"}}) == 0);
  BOOST_TEST(told({{"retry-after", "5"}, {"retry-after-ms", "250"}}) == 250);
  BOOST_TEST(told({{"llm_provider-retry-after", "7"}}) == 7'000);
  BOOST_TEST(told({{"retry-after", "soon"}}) == -1);
  BOOST_TEST(told({{"retry-after", "-5"}}) == -1);
  BOOST_TEST(told({{"retry-after", "1e400"}}) == -1);
  BOOST_TEST(told({{"retry-after", "99999999999999999999"}}) == 86'400'000);
  BOOST_TEST(told({}) == -1);
}

BOOST_AUTO_TEST_CASE(a_limits_reset_counts_if_that_limit_is_exhausted) {
  const auto reset = [](const std::string& left, const std::string& when) {
    return told({{"x-ratelimit-remaining-tokens", left}, {"x-ratelimit-reset-tokens", when}});
  };
  BOOST_TEST(reset("0", "6m0s") == 360'000);
  BOOST_TEST(reset("0", "1h2m3.5s") == 3'723'500);
  BOOST_TEST(reset("0", "20ms") == 20);
  BOOST_TEST(reset("0", "12") == 12'000);
  const auto unix_time =
      told_wait({{"x-ratelimit-remaining-requests", "0"}, {"x-ratelimit-reset-requests", "1700000009"}}, 1'700'000'000);
  BOOST_TEST(unix_time.value().count() == 9'000);
  BOOST_TEST(reset("5", "6m0s") == -1);
  BOOST_TEST(reset("0", "6 minutes") == -1);
}

BOOST_AUTO_TEST_CASE(anthropics_resets_are_times_and_count_the_same_way) {
  const auto reset = [](const std::string& kind, const std::string& left, const std::string& when) {
    return told({{"anthropic-ratelimit-" + kind + "-remaining", left}, {"anthropic-ratelimit-" + kind + "-reset", when}});
  };
  // The tests' now is Sun, 06 Nov 1994 08:49:37 GMT.
  for (const auto* kind : {"requests", "tokens", "input-tokens", "output-tokens"}) {
    BOOST_TEST(reset(kind, "0", "1994-11-06T08:49:42Z") == 5'000);
  }
  BOOST_TEST(reset("tokens", "0", "1994-11-06T08:49:42.250Z") == 5'000);
  BOOST_TEST(reset("tokens", "0", "1994-11-06T08:00:00Z") == 0);
  BOOST_TEST(reset("tokens", "900", "1994-11-06T08:49:42Z") == -1);
  BOOST_TEST(reset("tokens", "0", "1994-11-06Tab:49:42Z") == -1);
}

BOOST_AUTO_TEST_CASE(a_providers_wait_wins_up_to_the_cap) {
  const header_list half_minute{{"retry-after", "30"}};
  const header_list hour{{"retry-after", "3600"}};
  auto x = failed(llm_outcome::rate_limited, 429);
  x.headers = &half_minute;
  BOOST_TEST(decide_retry(x, {}).wait.count() == 30'000);
  x.headers = &hour;
  BOOST_TEST(decide_retry(x, {}).wait.count() == 60'000);
}

BOOST_AUTO_TEST_CASE(without_one_the_wait_doubles_to_the_cap_and_is_jittered) {
  auto x = failed(llm_outcome::overloaded, 500);
  retry_limits limits;
  limits.tries = 100;
  std::int64_t full = 1'000;
  for (x.counted = 1; x.counted < 100; ++x.counted, full = std::min<std::int64_t>(full * 2, 60'000)) {
    const auto wait = decide_retry(x, limits).wait.count();
    BOOST_TEST(wait >= full / 2);
    BOOST_TEST(wait <= full);
  }
  x.counted = 5;
  const auto one = decide_retry(x, limits).wait;
  BOOST_TEST(one.count() == decide_retry(x, limits).wait.count(), "the same question has the same answer");
  x.seed = 2;
  BOOST_TEST(one.count() != decide_retry(x, limits).wait.count());
}

BOOST_AUTO_TEST_CASE(a_429_uses_no_try_up_but_patience) {
  auto x = failed(llm_outcome::rate_limited, 429);
  x.counted = 1'000;
  BOOST_TEST(decide_retry(x, {}).is_again);
  x.throttled = 30min;
  BOOST_TEST(!decide_retry(x, {}).is_again);
}

BOOST_AUTO_TEST_CASE(a_provider_that_says_at_once_for_ever_is_not_believed) {
  const header_list at_once{{"retry-after", "0"}};
  auto x = failed(llm_outcome::rate_limited, 429);
  x.headers = &at_once;
  BOOST_TEST(decide_retry(x, {}).wait.count() == 0);
  x.streak = 4;
  BOOST_TEST(decide_retry(x, {}).wait.count() >= 4'000);
}

BOOST_AUTO_TEST_CASE(only_what_may_mend_is_tried_again_and_not_for_ever) {
  using enum llm_outcome;
  for (const auto outcome : {replied, truncated, empty, refused, context_too_long, bad_request, unauthorized, timed_out,
                             malformed, program_failed, recording_ended, budget_exhausted, cancelled}) {
    BOOST_TEST(!decide_retry(failed(outcome, 200), {}).is_again, to_string(outcome));
  }
  auto x = failed(transport_failed, 0);
  BOOST_TEST(decide_retry(x, {}).is_again);
  BOOST_TEST(!decide_retry(x, {}).is_shared);
  x.counted = 5;
  BOOST_TEST(!decide_retry(x, {}).is_again);
  x.counted = 1;
  x.is_permanent = true;
  BOOST_TEST(!decide_retry(x, {}).is_again);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(queue)

BOOST_AUTO_TEST_CASE(calls_go_out_in_order_within_the_concurrency) {
  provider_queue queue{2};
  for (call_id id = 1; id <= 4; ++id) {
    queue.push(id);
  }
  BOOST_TEST(queue.next(t0).value() == 1U);
  BOOST_TEST(queue.next(t0).value() == 2U);
  BOOST_TEST(!queue.next(t0));
  queue.on_ended(3);
  queue.on_ended(1);
  BOOST_TEST(queue.next(t0).value() == 4U);
}

BOOST_AUTO_TEST_CASE(after_a_back_off_one_call_tries_before_the_others) {
  provider_queue queue{8};
  for (call_id id = 1; id <= 3; ++id) {
    queue.push(id);
  }
  queue.throttle(t0 + 1s, t0, t0, "429");
  BOOST_TEST(!queue.next(t0 + 1s - 1ns));
  BOOST_TEST(queue.next(t0 + 1s).value() == 1U);
  BOOST_TEST(!queue.next(t0 + 1s), "the probe is out");
  queue.on_success();
  BOOST_TEST(queue.next(t0 + 1s).value() == 2U);
  BOOST_TEST(queue.next(t0 + 1s).value() == 3U);
}

BOOST_AUTO_TEST_CASE(refusals_that_were_under_way_do_not_lengthen_the_back_off) {
  provider_queue queue{8};
  BOOST_TEST(queue.streak_for(t0) == 1U);
  queue.throttle(t0 + 2s, t0, t0 + 1s, "429");
  BOOST_TEST(queue.streak_for(t0) == 1U, "sent before the back-off began");
  queue.throttle(t0 + 2s, t0, t0 + 1s, "429");
  BOOST_TEST(queue.streak_for(t0 + 2s) == 2U);
  queue.on_success();
  BOOST_TEST(queue.streak_for(t0 + 3s) == 1U);
}

BOOST_AUTO_TEST_CASE(a_probe_that_is_withdrawn_lets_the_next_one_try) {
  provider_queue queue{8};
  queue.push(1);
  queue.push(2);
  queue.throttle(t0, t0, t0, "429");
  BOOST_TEST(queue.next(t0).value() == 1U);
  BOOST_TEST(!queue.next(t0));
  queue.on_ended(1);
  BOOST_TEST(queue.next(t0).value() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
