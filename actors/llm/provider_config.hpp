// SPDX-License-Identifier: Apache-2.0
/// \file
/// An LLM PROVIDER as data: one `[providers.NAME]` table of the configuration. cli/config.* fills it, the gateway
/// reads it; secrets are held here and in the request, nowhere else.
#pragma once

#include "messages/enums.hpp"
#include "messages/money.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace regatta {

enum class provider_kind : std::uint8_t {
  responses,  ///< OpenAI Responses API.
  chat,       ///< Chat Completions: OpenAI, vLLM, llama.cpp, Ollama, gateways.
  command,    ///< A program: prompt on stdin, reply on stdout.
  replay,     ///< A recording.
  anthropic,  ///< Anthropic Messages.
  relay,      ///< KernelAgent's relay server.
};

/// True for the wires that are spoken over HTTP.
constexpr bool speaks_http(provider_kind x) {
  return x != provider_kind::command && x != provider_kind::replay;
}

/// What a model costs, in nano-units per million tokens: "2.50" in a price list is 2'500'000'000.
struct token_prices {
  nano_units input = 0;
  nano_units cached_input = 0;  ///< Input that the provider had in its cache.
  nano_units output = 0;        ///< Reasoning included.
  std::optional<nano_units> cache_write = {};  ///< Input that the provider put into its cache; empty: like `input`.
  bool operator==(const token_prices&) const = default;
};

struct provider_config {
  std::string name;
  provider_kind kind = provider_kind::responses;

  std::string base_url;  ///< Without `/responses` or `/chat/completions`, e.g. `https://api.openai.com/v1`.
  std::string api_key;   ///< Empty: none is sent. Never logged, never in an event, never in argv.
  std::map<std::string, std::string> headers;  ///< Sent with each request.
  std::string proxy;                           ///< Empty: libcurl's own variables (HTTPS_PROXY …) apply.
  std::string ca_file;                         ///< Empty: the system's.
  bool store_responses = false;                ///< `responses`: sent as `store`, true or false, always.
  bool reasoning_extras = true;                ///< KernelAgent's `text`/`reasoning` extras for models that take them.

  std::vector<std::string> argv;  ///< `command`: the program and its arguments; found on PATH.
  /// `command`: names of variables passed on besides PATH, HOME, LANG*, LC_*, TERM, USER.
  std::vector<std::string> pass_environment;
  std::string working_dir;  ///< `command`: where it runs; empty: a fresh folder.

  std::string recording;  ///< `replay`: path of a `regatta-recording/1` file.
  /// `replay`: hand replies out in the order of docs/recordings.md, so that the winner does not depend on the
  /// machine's speed. False: each one at once.
  bool ordered = true;

  std::uint32_t concurrency = 64;            ///< Calls at once.
  std::uint32_t requests_per_minute = 0;     ///< Our own limit for this provider and key; 0: none.
  std::uint64_t tokens_per_minute = 0;       ///< Input and output cap together, as reserved; 0: none.
  /// By model; `*` is for all others. Empty: unknown, and a money budget refuses the provider.
  std::map<std::string, token_prices> prices;
  std::string currency = "USD";  ///< For people: budgets of all providers are sums of bare units.
  std::uint32_t max_output_tokens = 32'000;  ///< Sent unless the worker's choice names another.
  std::uint32_t tries = 5;  ///< Of one call, retries included, for outcomes that a second try may mend.
  /// How long one call waits out 429s, which use no tries up. Limits per minute clear within minutes; half an hour
  /// of them is a limit per day. Judgement.
  std::chrono::milliseconds rate_limit_patience{1'800'000};
  /// How long one call waits for a provider that has answered before and is down now, which uses no tries up either.
  /// A server's restart with a large model takes minutes, a bad night's outage half an hour. Judgement.
  std::chrono::milliseconds down_patience{1'800'000};
  /// Name lookup, TCP and TLS; part of `first_timeout`. libcurl's default is 300 s.
  std::chrono::milliseconds connect_timeout{30'000};
  /// Silence between pieces of content. 120 s: KernelAgent's `llm_timeout_s`; reasoning models think silently.
  std::chrono::milliseconds idle_timeout{120'000};
  /// From sent to the first piece.
  std::chrono::milliseconds first_timeout{300'000};
  /// From sent to the end, one try.
  std::chrono::milliseconds total_timeout{1'200'000};
  /// First and largest wait between tries; doubled each time, jittered. A provider's Retry-After wins, up to
  /// `backoff_cap`.
  std::chrono::milliseconds backoff_first{1'000};
  std::chrono::milliseconds backoff_cap{60'000};
};

}  // namespace regatta

REGATTA_ENUM_NAMES(regatta::provider_kind, 6, {regatta::provider_kind::responses, "responses"},
                   {regatta::provider_kind::chat, "chat"}, {regatta::provider_kind::command, "command"},
                   {regatta::provider_kind::replay, "replay"},
                   {regatta::provider_kind::anthropic, "anthropic"},
                   {regatta::provider_kind::relay, "relay"});
