// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/provider_error.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace regatta {

namespace {

std::string lower(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](auto word) { return text.find(word) != text.npos; });
}

/// Neither vLLM nor LiteLLM has a code of its own for it: the message is all there is.
bool says_too_long(const provider_error& error) {
  return has_any(lower(error.code), {"context_length_exceeded"}) ||
         has_any(lower(error.message),
                 {"contextwindowexceedederror", "maximum context length", "context_length_exceeded",
                  "exceeds the context window", "exceed the context window", "exceeds the available context size",
                  "prompt is too long", "input is too long", "exceed context limit"});
}

/// Anthropic says 400 of an account without credit, LiteLLM of a key whose budget is spent.
bool says_spent(const provider_error& error) {
  return has_any(lower(error.code + " " + error.type), {"insufficient_quota", "billing", "budget_exceeded"}) ||
         has_any(lower(error.message), {"credit balance is too low"});
}

/// LiteLLM and Azure say it in the message only.
bool says_filtered(const provider_error& error) {
  return has_any(lower(error.code + " " + error.type),
                 {"content_filter", "content_policy", "contentpolicyviolation"}) ||
         has_any(lower(error.message),
                 {"contentpolicyviolationerror", "content_filter_policy", "content management policy"});
}

llm_outcome by_client_status(std::uint32_t status, const provider_error& error) {
  const auto words = lower(error.code + " " + error.type);
  switch (status) {
    case 401:
    case 403:
      return llm_outcome::unauthorized;
    case 402:
      return llm_outcome::quota_exhausted;
    case 408:
    case 409:
    case 425:
      return llm_outcome::overloaded;
    case 413:
      return llm_outcome::context_too_long;
    case 429:
      return has_any(words, {"insufficient_quota"}) ? llm_outcome::quota_exhausted : llm_outcome::rate_limited;
    case 400:
      if (says_spent(error)) {
        return llm_outcome::quota_exhausted;
      }
      [[fallthrough]];
    default:
      return says_filtered(error) ? llm_outcome::refused : llm_outcome::bad_request;
  }
}

llm_outcome by_words(const std::string& words) {
  using enum llm_outcome;
  static constexpr std::pair<std::string_view, llm_outcome> table[] = {
      {"insufficient_quota", quota_exhausted},
      {"billing", quota_exhausted},
      {"budget_exceeded", quota_exhausted},
      {"rate_limit", rate_limited},
      {"ratelimit", rate_limited},
      {"throttling", rate_limited},
      {"authentication", unauthorized},
      {"permission", unauthorized},
      {"invalid_api_key", unauthorized},
      {"content_filter", refused},
      {"content_policy", refused},
      {"contentpolicyviolation", refused},
      {"request_too_large", context_too_long},
      {"invalid_request", bad_request},
      {"badrequest", bad_request},
      {"bad_request", bad_request},
      {"invalid_prompt", bad_request},
      {"not_found", bad_request},
      {"notfound", bad_request},
  };
  for (const auto& [word, outcome] : table) {
    if (words.find(word) != words.npos) {
      return outcome;
    }
  }
  return overloaded;
}

std::uint32_t status_in(std::string_view code) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), number);
  const bool is_number = error == std::errc{} && end == code.data() + code.size();
  return is_number && number >= 400 && number < 600 ? number : 0;
}

}  // namespace

llm_outcome classify(std::uint32_t status, const provider_error& error) {
  if (says_too_long(error) && status != 401 && status != 403 && status != 429) {
    return llm_outcome::context_too_long;
  }
  const auto told = status >= 400 ? status : status_in(error.code);
  if (told >= 500) {
    return llm_outcome::overloaded;
  }
  return told >= 400 || (status >= 300 && status < 400) ? by_client_status(told, error)
                                                        : by_words(lower(error.code + " " + error.type));
}

std::string describe(std::uint32_t status, const provider_error& error) {
  std::string out = status == 0 ? std::string{} : std::to_string(status);
  const auto& word = error.type.empty() ? error.code : error.type;
  out += (out.empty() || word.empty() ? "" : " ") + word;
  return out + (out.empty() || error.message.empty() ? "" : ": ") + error.message;
}

}  // namespace regatta
