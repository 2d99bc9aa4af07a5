// SPDX-License-Identifier: Apache-2.0
#include "cli/provider_keys.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace regatta::cli {

namespace {

constexpr value_rule text_rule{};
constexpr value_rule flag_rule{value_kind::flag};
constexpr value_rule seconds_rule{value_kind::seconds, 1, 2'678'400};

constexpr std::array table = {
    provider_key{
        "kind", {value_kind::choice, 0, 9e15, "responses, chat, anthropic, relay, command, replay"}, false, "The wire"},
    provider_key{"model", text_rule, false, "Unless --model or --models says otherwise"},
    provider_key{"models", text_rule, true, "Which it has: any other is refused before it is asked for"},
    provider_key{"base_url", text_rule, false, "Without /responses, /chat/completions or /messages; relay: whole"},
    provider_key{"api_key_env", text_rule, false, "Variable that holds the key"},
    provider_key{"api_key_file", text_rule, false, "File of mode 0600 that holds the key"},
    provider_key{"proxy", text_rule, false, "Instead of HTTPS_PROXY and the like"},
    provider_key{"ca_file", text_rule, false, "Instead of the system's certificates"},
    provider_key{"store_responses", flag_rule, false, "responses: let the provider store replies"},
    provider_key{"reasoning_extras", flag_rule, false, "Extra parameters for reasoning models"},
    provider_key{"argv", text_rule, true, "command: program and arguments"},
    provider_key{"pass_environment", text_rule, true, "command: names of further variables to pass on"},
    provider_key{"working_dir", text_rule, false, "command: where it runs"},
    provider_key{"recording", text_rule, false, "replay: the file"},
    provider_key{"ordered", flag_rule, false,
                 "replay: hand replies out in their order, so that the winner is the same"},
    provider_key{"concurrency", {value_kind::integer, 1, 10'000}, false, "Calls at once"},
    provider_key{"max_output_tokens", {value_kind::integer, 1, 10'000'000}, false, "Of one reply"},
    provider_key{"requests_per_minute", {value_kind::integer, 1, 1'000'000}, false, "Our own limit"},
    provider_key{"tokens_per_minute", {value_kind::integer, 1, 1e12}, false, "Our own limit: input and output cap"},
    provider_key{"currency", text_rule, false, "Of the prices, for people (USD)"},
    provider_key{"tries", {value_kind::integer, 1, 100}, false, "Of one call, retries included"},
    provider_key{"rate_limit_patience_s", seconds_rule, false, "How long one prompt waits out 429s"},
    provider_key{"down_patience_s", seconds_rule, false, "How long one prompt waits for a provider that is down"},
    provider_key{"connect_timeout_s", seconds_rule, false, "Until connected"},
    provider_key{"idle_timeout_s", seconds_rule, false, "Silence within a reply"},
    provider_key{"first_timeout_s", seconds_rule, false, "Until the first piece"},
    provider_key{"total_timeout_s", seconds_rule, false, "Of one try"},
    provider_key{"backoff_first_s", seconds_rule, false, "First wait between tries"},
    provider_key{"backoff_cap_s", seconds_rule, false, "Longest wait between tries"},
};

}  // namespace

std::span<const provider_key> provider_keys() {
  return table;
}

const provider_key* find_provider_key(std::string_view name) {
  const auto it = std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.name == name; });
  return it == table.end() ? nullptr : &*it;
}

bool is_secret_header(std::string_view name) {
  std::string lower;
  for (const char c : name) {
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  constexpr std::array<std::string_view, 6> secret = {"authorization", "api-key", "apikey",
                                                      "token",         "secret",  "cookie"};
  return std::any_of(secret.begin(), secret.end(), [&](auto word) { return lower.find(word) != std::string::npos; });
}

}  // namespace regatta::cli
