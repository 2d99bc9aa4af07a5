// SPDX-License-Identifier: Apache-2.0
#include "cli/built_in_providers.hpp"

#include "cli/provider_tables.hpp"
#include "messages/error.hpp"

namespace regatta::cli {

namespace {

constexpr std::string_view openai_url = "https://api.openai.com/v1";
constexpr std::string_view anthropic_url = "https://api.anthropic.com";
/// KernelAgent's default.
constexpr std::string_view openai_model = "gpt-5";

bool speaks_openai(const std::string& name) {
  return name == "openai" || name == "responses" || name == "chat";
}

/// The base URL as given for this provider: OPENAI_BASE_URL speaks of OpenAI only.
setting given_url(const std::string& name, const settings& values, const environment& env) {
  const auto& url = values.at("base-url");
  if (!url.values.empty() && (speaks_openai(name) || !url.source.starts_with("OPENAI_"))) {
    return url;
  }
  const std::string variable = name == "anthropic" ? "ANTHROPIC_BASE_URL" : name == "relay" ? "LLM_RELAY_URL" : "";
  const auto value = variable.empty() ? std::string{} : value_of(env, variable);
  return value.empty() ? setting{} : setting{{value}, variable};
}

provider_kind kind_of(const std::string& name) {
  return name == "chat"        ? provider_kind::chat
         : name == "anthropic" ? provider_kind::anthropic
         : name == "relay"     ? provider_kind::relay
                               : provider_kind::responses;
}

/// KernelAgent's variable for how long it waits for a relay.
caf::expected<void> take_relay_timeout(const environment& env, provider_config& out) {
  out.first_timeout = relay_timeout;
  const auto text = value_of(env, "LLM_RELAY_TIMEOUT_S");
  const value_rule rule{value_kind::seconds, 1, 2'678'400};
  if (text.empty()) {
    return {};
  }
  if (!fits(rule, text)) {
    return fail(ec::invalid_config, "LLM_RELAY_TIMEOUT_S: got \"" + text + "\", allowed: " + allowed_text(rule));
  }
  out.first_timeout = std::chrono::seconds{to_seconds(text)};
  return {};
}

std::string first_model(const settings& values) {
  const auto& models = values.list("models");
  return models.empty() ? values.text("model") : models.front();
}

}  // namespace

bool is_built_in(const std::string& name) {
  return speaks_openai(name) || name == "anthropic" || name == "relay";
}

caf::expected<provider_choice> built_in_provider(const std::string& name, const settings& values,
                                                 const environment& env) {
  provider_choice out;
  out.provider.name = name;
  out.provider.kind = kind_of(name);
  const auto url = given_url(name, values, env);
  const std::string usual{speaks_openai(name) ? openai_url : name == "anthropic" ? anthropic_url : ""};
  out.provider.base_url = url.values.empty() ? usual : url.values.front();
  if (name == "relay") {
    // No address of its own: KernelAgent's default is a port that other servers listen on.
    if (url.values.empty()) {
      return fail(ec::invalid_config, "LLM_RELAY_URL is not set: it says where the relay listens");
    }
    if (auto good = take_relay_timeout(env, out.provider); !good) {
      return good.error();
    }
  } else {
    const std::string variable = name == "anthropic" ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY";
    out.provider.api_key = usable_key(env, variable);
    out.key_source = out.provider.api_key.empty() ? "" : variable;
    if (out.provider.api_key.empty() && url.values.empty()) {
      return fail(ec::invalid_config, variable + " is not set, and " + usual + " wants a key");
    }
  }
  out.model = speaks_openai(name) ? openai_model : std::string_view{};
  if (auto good = check_whole(out.provider, url.source); !good) {
    return good.error();
  }
  return out;
}

spoken_of provider_of_variables(const settings& values, const environment& env) {
  const bool has_url = values.is_set("base-url");
  const bool has_openai = !usable_key(env, "OPENAI_API_KEY").empty();
  const bool has_anthropic = !usable_key(env, "ANTHROPIC_API_KEY").empty();
  if (has_anthropic && !has_url && (!has_openai || first_model(values).starts_with("claude"))) {
    return {"anthropic", "ANTHROPIC_API_KEY"};
  }
  if (has_openai || has_url) {
    return {"openai", has_openai ? "OPENAI_API_KEY" : values.at("base-url").source};
  }
  return value_of(env, "LLM_RELAY_URL").empty() ? spoken_of{} : spoken_of{"relay", "LLM_RELAY_URL"};
}

}  // namespace regatta::cli
