// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/wire_request.hpp"

#include "actors/llm/anthropic_codec.hpp"
#include "actors/llm/chat_codec.hpp"
#include "actors/llm/relay_codec.hpp"
#include "actors/llm/responses_codec.hpp"
#include "actors/llm/system_certificates.hpp"

#include <algorithm>

namespace regatta {

namespace {

std::string url_of(const provider_config& provider) {
  auto base = provider.base_url;
  while (base.ends_with('/')) {
    base.pop_back();
  }
  switch (provider.kind) {
    case provider_kind::responses:
      return base + "/responses";
    case provider_kind::chat:
      return base + "/chat/completions";
    case provider_kind::anthropic:
      // Anthropic's own clients are given the address without the version; ours may have it, like the other kinds'.
      return base + (base.ends_with("/v1") ? "/messages" : "/v1/messages");
    case provider_kind::relay:
    case provider_kind::command:
    case provider_kind::replay:
      break;
  }
  return provider.base_url;
}

std::string body_of(const prompt& ask, const provider_config& provider) {
  switch (provider.kind) {
    case provider_kind::responses:
      return responses_request(ask, provider);
    case provider_kind::chat:
      return chat_request(ask, provider);
    case provider_kind::anthropic:
      return anthropic_request(ask, provider);
    case provider_kind::relay:
      return relay_request(ask, provider);
    case provider_kind::command:
    case provider_kind::replay:
      break;
  }
  return {};
}

/// `b` is in lower case.
bool is_header(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return (x >= 'A' && x <= 'Z' ? static_cast<char>(x + ('a' - 'A')) : x) == y;
  });
}

bool has_header(const provider_config& provider, std::string_view name) {
  return std::any_of(provider.headers.begin(), provider.headers.end(),
                     [&](const auto& header) { return is_header(header.first, name); });
}

/// The wire's own headers, where the configuration has none of the same name.
void add_wire_headers(const provider_config& provider, header_list& out) {
  const bool is_anthropic = provider.kind == provider_kind::anthropic;
  if (is_anthropic && !has_header(provider, "anthropic-version")) {
    out.emplace_back("anthropic-version", anthropic_version);
  }
  if (provider.api_key.empty() || has_header(provider, "authorization")) {
    return;
  }
  if (!is_anthropic) {
    out.emplace_back("Authorization", "Bearer " + provider.api_key);
  } else if (!has_header(provider, "x-api-key")) {
    out.emplace_back("x-api-key", provider.api_key);
  }
}

}  // namespace

std::uint32_t output_cap_of(const model_choice& choice, const provider_config& provider) {
  return choice.max_output_tokens != 0 ? choice.max_output_tokens : provider.max_output_tokens;
}

bool is_reasoning_model(std::string_view model) {
  const bool is_o = model.size() >= 2 && model[0] == 'o' && model[1] >= '0' && model[1] <= '9';
  return is_o || model.starts_with("gpt-5");
}

http_request make_request(const prompt& ask, const provider_config& provider) {
  http_request out;
  out.url = url_of(provider);
  out.body = body_of(ask, provider);
  out.headers = {{"Content-Type", "application/json"}, {"Accept", "text/event-stream, application/json"}};
  for (const auto& [name, value] : provider.headers) {
    out.headers.emplace_back(name, value);
  }
  add_wire_headers(provider, out.headers);
  out.proxy = provider.proxy;
  out.ca_file = provider.ca_file.empty() ? system_certificates() : provider.ca_file;
  out.connect_timeout = provider.connect_timeout;
  return out;
}

}  // namespace regatta
