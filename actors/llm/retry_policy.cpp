// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/retry_policy.hpp"

#include "actors/llm/provider_queue.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <string_view>

namespace regatta {

namespace {

using std::chrono::milliseconds;

/// A reset given as a plain number below this is a duration in seconds, above it a point in Unix time.
constexpr double smallest_unix_time = 1e9;
/// No header is believed past a day: the cap is far below it, and larger numbers would overflow.
constexpr double longest_wait_s = 86'400;

/// A provider that keeps saying "at once" and keeps refusing is not believed a fourth time.
constexpr std::uint32_t believed_short_waits = 3;

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  const auto last = text.find_last_not_of(" \t");
  return first == text.npos ? std::string_view{} : text.substr(first, last - first + 1);
}

std::string_view header(const header_list& headers, std::string_view name) {
  const auto it = std::find_if(headers.begin(), headers.end(), [&](const auto& x) { return x.first == name; });
  return it == headers.end() ? std::string_view{} : trim(it->second);
}

/// A number and what follows it.
std::optional<std::pair<double, std::string_view>> leading_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || !(number >= 0)) {
    return std::nullopt;
  }
  return std::pair{number, text.substr(static_cast<std::size_t>(end - text.data()))};
}

std::optional<double> whole_number(std::string_view text) {
  const auto number = leading_number(text);
  return number && number->second.empty() ? std::optional{number->first} : std::nullopt;
}

milliseconds from_seconds(double seconds) {
  return milliseconds{static_cast<std::int64_t>(std::clamp(seconds, 0.0, longest_wait_s) * 1000)};
}

/// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110); not strptime, which follows the locale.
std::optional<std::int64_t> http_date(std::string_view text) {
  static constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || !text.ends_with(" GMT")) {
    return std::nullopt;
  }
  const auto number = [&](std::size_t from, std::size_t size) {
    int out = -1;
    std::from_chars(text.data() + from, text.data() + from + size, out);
    return out;
  };
  const auto month = std::find(months.begin(), months.end(), text.substr(8, 3));
  std::tm date{};
  date.tm_mday = number(5, 2);
  date.tm_mon = static_cast<int>(month - months.begin());
  date.tm_year = number(12, 4) - 1900;
  date.tm_hour = number(17, 2);
  date.tm_min = number(20, 2);
  date.tm_sec = number(23, 2);
  const bool is_good = month != months.end() && date.tm_mday > 0 && date.tm_year > 0 && date.tm_hour >= 0 &&
                       date.tm_min >= 0 && date.tm_sec >= 0;
  return is_good ? std::optional{static_cast<std::int64_t>(timegm(&date))} : std::nullopt;
}

std::optional<milliseconds> seconds_or_date(const header_list& headers, std::string_view name, std::int64_t utc_s) {
  const auto text = header(headers, name);
  if (const auto seconds = whole_number(text)) {
    return from_seconds(*seconds);
  }
  if (const auto date = http_date(text)) {
    // By the server's own clock where it tells it: ours may be wrong.
    const auto now = http_date(header(headers, "date")).value_or(utc_s);
    return from_seconds(static_cast<double>(*date - now));
  }
  return std::nullopt;
}

/// "2026-11-30T12:00:05Z" (RFC 3339, in UTC): how Anthropic tells a reset.
std::optional<std::int64_t> utc_timestamp(std::string_view text) {
  if (text.size() < 20 || text[10] != 'T' || !text.ends_with('Z')) {
    return std::nullopt;
  }
  std::tm date{};
  const auto number = [&](std::size_t from, std::size_t size, int& out) {
    const auto [end, error] = std::from_chars(text.data() + from, text.data() + from + size, out);
    return error == std::errc{} && end == text.data() + from + size;
  };
  const bool is_good = number(0, 4, date.tm_year) && number(5, 2, date.tm_mon) && number(8, 2, date.tm_mday) &&
                       number(11, 2, date.tm_hour) && number(14, 2, date.tm_min) && number(17, 2, date.tm_sec);
  date.tm_year -= 1900;
  date.tm_mon -= 1;
  return is_good ? std::optional{static_cast<std::int64_t>(timegm(&date))} : std::nullopt;
}

/// "6m0s", "1h2m", "20ms", "1.5s"; a plain number of seconds, a Unix time or an RFC 3339 time.
std::optional<milliseconds> reset_duration(std::string_view text, std::int64_t utc_s) {
  if (const auto number = whole_number(text)) {
    const bool is_time = *number >= smallest_unix_time;
    return from_seconds(is_time ? *number - static_cast<double>(utc_s) : *number);
  }
  if (const auto time = utc_timestamp(text)) {
    return from_seconds(static_cast<double>(*time - utc_s));
  }
  double seconds = 0;
  if (text.empty()) {
    return std::nullopt;
  }
  while (!text.empty()) {
    const auto number = leading_number(text);
    if (!number) {
      return std::nullopt;
    }
    const auto unit = number->second.substr(0, number->second.find_first_of("0123456789"));
    const double scale = unit == "ms" ? 0.001 : unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : -1;
    if (scale < 0) {
      return std::nullopt;
    }
    seconds += number->first * scale;
    text = number->second.substr(unit.size());
  }
  return from_seconds(seconds);
}

/// splitmix64's last steps: neighbouring seeds give unrelated numbers.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

/// Doubled each time, then 50 to 100 % of it, so that many callers do not come back in step.
milliseconds own_backoff(std::uint32_t failures, const retry_limits& limits, std::uint64_t seed) {
  const auto doublings = std::min<std::uint32_t>(failures == 0 ? 0 : failures - 1, 20);
  const auto full = std::min(limits.backoff_cap, limits.backoff_first * (1U << doublings));
  return full / 2 +
         milliseconds{static_cast<std::int64_t>(mixed(seed) % static_cast<std::uint64_t>(full.count() / 2 + 1))};
}

std::string in_seconds(milliseconds wait) {
  const auto tenths = (wait.count() + 50) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace

/// Only of a limit that is exhausted: the others' resets say nothing about this refusal.
std::optional<milliseconds> exhausted_reset(const header_list& headers, std::int64_t utc_s) {
  std::optional<milliseconds> out;
  const auto take = [&](const std::string& remaining, const std::string& reset) {
    if (whole_number(header(headers, remaining)) == 0.0) {
      const auto wait = reset_duration(header(headers, reset), utc_s);
      out = wait ? std::max(out.value_or(milliseconds{0}), *wait) : out;
    }
  };
  for (const std::string kind : {"requests", "tokens"}) {
    take("x-ratelimit-remaining-" + kind, "x-ratelimit-reset-" + kind);
  }
  for (const std::string kind : {"requests", "tokens", "input-tokens", "output-tokens"}) {
    take("anthropic-ratelimit-" + kind + "-remaining", "anthropic-ratelimit-" + kind + "-reset");
  }
  return out;
}

std::optional<milliseconds> told_wait(const header_list& headers, std::int64_t utc_s) {
  if (const auto ms = whole_number(header(headers, "retry-after-ms"))) {
    return from_seconds(*ms / 1000);
  }
  for (const auto* name : {"retry-after", "llm_provider-retry-after"}) {
    if (const auto wait = seconds_or_date(headers, name, utc_s)) {
      return wait;
    }
  }
  return exhausted_reset(headers, utc_s);
}

retry_decision decide_retry(const failed_try& x, const retry_limits& limits) {
  const bool is_limit = x.outcome == llm_outcome::rate_limited;
  const bool may_mend = is_limit || x.outcome == llm_outcome::overloaded || x.outcome == llm_outcome::transport_failed;
  // 503 and 529 speak of the whole service; a 500 or a cut stream may be this call's alone.
  const bool is_outage = x.is_unreachable || x.http_status == 503 || x.http_status == 529;
  const bool is_away = is_outage && x.is_heard;
  const bool is_spent = is_limit  ? x.throttled >= limits.rate_limit_patience
                        : is_away ? x.down >= limits.down_patience
                                  : x.counted >= limits.tries;
  if (!may_mend || x.is_permanent || is_spent) {
    return {};
  }
  retry_decision out;
  out.is_again = true;
  const bool is_down = !is_limit && x.streak >= provider_queue::down_after;
  out.is_shared = is_limit || is_outage || is_down;
  out.is_counted = !is_limit && !is_away;
  const auto told = x.headers == nullptr ? std::nullopt : told_wait(*x.headers, x.utc_s);
  const auto own = own_backoff(out.is_shared ? x.streak : x.counted, limits, x.seed);
  out.wait = told ? std::min(*told, limits.backoff_cap) : own;
  if (x.streak > believed_short_waits) {
    out.wait = std::max(out.wait, own);
  }
  out.why = is_down ? x.provider + " is down: " : std::string{};
  out.why += x.is_unreachable ? "no connection" : x.http_status == 0 ? to_string(x.outcome) : std::to_string(x.http_status);
  out.why += is_down ? ", " + std::to_string(x.streak) + " failures in a row; probing again in "
             : told  ? ", told to wait "
                     : ", waiting ";
  out.why += in_seconds(out.wait);
  return out;
}

}  // namespace regatta
