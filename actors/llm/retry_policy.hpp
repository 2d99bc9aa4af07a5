// SPDX-License-Identifier: Apache-2.0
/// \file
/// RETRY POLICY: a failed try -> wait and try again, or give up. Pure: the same question has the same answer.
#pragma once

#include "actors/llm/reply.hpp"
#include "actors/llm/transport.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace regatta {

struct retry_limits {
  std::uint32_t tries = 5;
  std::chrono::milliseconds backoff_first{1'000};
  std::chrono::milliseconds backoff_cap{60'000};
  std::chrono::milliseconds rate_limit_patience{1'800'000};
  std::chrono::milliseconds down_patience{1'800'000};
};

struct failed_try {
  llm_outcome outcome = llm_outcome::transport_failed;
  std::uint32_t http_status = 0;
  bool is_permanent = false;
  const header_list* headers = nullptr;
  std::uint32_t counted = 1;              ///< Tries of this call that count, this one included.
  std::uint32_t streak = 1;               ///< Failures in a row of the provider, this one included.
  std::chrono::milliseconds throttled{};  ///< How long this call has already waited out 429s.
  std::chrono::milliseconds down{};       ///< How long it has already waited for a provider that is down.
  bool is_unreachable = false;            ///< No connection: nothing was asked.
  bool is_heard = false;                  ///< The provider has answered well before, so it is not misconfigured.
  std::string provider;                   ///< Its name, for people.
  std::int64_t utc_s = 0;                 ///< Now, for dates in headers.
  std::uint64_t seed = 0;
};

struct retry_decision {
  bool is_again = false;
  std::chrono::milliseconds wait{};
  bool is_shared = false;  ///< The whole provider waits, not only this call.
  bool is_counted = true;  ///< It uses a try of the call up.
  std::string why;         ///< "429, told to wait 30 s".
};

/// 429s use no tries up, a limit per minute is not the call's fault; nor does a provider that has been there and is
/// away (no connection, 503, 529). These are waited out with patience instead.
retry_decision decide_retry(const failed_try& x, const retry_limits& limits);

/// When a limit that is exhausted says to be whole again (x-ratelimit-*): of a good answer, too. Empty: none is.
std::optional<std::chrono::milliseconds> exhausted_reset(const header_list& headers, std::int64_t utc_s);

/// What the provider asks for, uncapped: retry-after-ms, retry-after (seconds or date), llm_provider-retry-after,
/// else `exhausted_reset`. Empty if it names nothing.
std::optional<std::chrono::milliseconds> told_wait(const header_list& headers, std::int64_t utc_s);

}  // namespace regatta
