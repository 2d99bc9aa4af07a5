// SPDX-License-Identifier: Apache-2.0
#include "cli/provider_tables.hpp"

#include "cli/http_url.hpp"
#include "cli/text_file.hpp"
#include "messages/error.hpp"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

namespace regatta::cli {

namespace {

/// A key is one line.
constexpr std::uint64_t key_bytes = std::uint64_t{16} * 1024;
/// What KernelAgent's example `.env` holds; not a key.
constexpr std::string_view placeholder = "your-api-key-here";

template <class T>
void take_integer(const provider_table& table, const std::string& key, T& out) {
  if (const auto text = text_in(table, key); !text.empty()) {
    out = static_cast<T>(to_integer(text));
  }
}

void take_seconds(const provider_table& table, const std::string& key, std::chrono::milliseconds& out) {
  if (const auto text = text_in(table, key); !text.empty()) {
    out = std::chrono::seconds{to_seconds(text)};
  }
}

void take_flag(const provider_table& table, const std::string& key, bool& out) {
  if (const auto text = text_in(table, key); !text.empty()) {
    out = text == "true";
  }
}

void take_table(const provider_table& table, provider_config& out) {
  out.kind = from_name<provider_kind>(text_in(table, "kind")).value_or(out.kind);
  out.base_url = text_in(table, "base_url").empty() ? out.base_url : text_in(table, "base_url");
  out.proxy = text_in(table, "proxy");
  out.ca_file = text_in(table, "ca_file");
  out.working_dir = text_in(table, "working_dir");
  out.recording = text_in(table, "recording");
  take_flag(table, "store_responses", out.store_responses);
  take_flag(table, "reasoning_extras", out.reasoning_extras);
  take_flag(table, "ordered", out.ordered);
  for (const auto& [name, value] : table.headers) {
    out.headers[name] = value.texts.front();
  }
  const auto list = [&](const std::string& key, std::vector<std::string>& to) {
    if (const auto it = table.values.find(key); it != table.values.end()) {
      to = it->second.texts;
    }
  };
  list("argv", out.argv);
  list("pass_environment", out.pass_environment);
  take_integer(table, "concurrency", out.concurrency);
  take_integer(table, "max_output_tokens", out.max_output_tokens);
  take_integer(table, "requests_per_minute", out.requests_per_minute);
  take_integer(table, "tokens_per_minute", out.tokens_per_minute);
  out.currency = text_in(table, "currency").empty() ? out.currency : text_in(table, "currency");
  take_integer(table, "tries", out.tries);
  take_seconds(table, "rate_limit_patience_s", out.rate_limit_patience);
  take_seconds(table, "down_patience_s", out.down_patience);
  take_seconds(table, "connect_timeout_s", out.connect_timeout);
  take_seconds(table, "idle_timeout_s", out.idle_timeout);
  if (out.kind == provider_kind::relay) {
    out.first_timeout = relay_timeout;
  }
  take_seconds(table, "first_timeout_s", out.first_timeout);
  take_seconds(table, "total_timeout_s", out.total_timeout);
  take_seconds(table, "backoff_first_s", out.backoff_first);
  take_seconds(table, "backoff_cap_s", out.backoff_cap);
}

/// "2.5" per million tokens -> nano-units.
nano_units price_in(const std::map<std::string, config_value>& prices, const std::string& key, nano_units otherwise) {
  const auto it = prices.find(key);
  return it == prices.end()
             ? otherwise
             : static_cast<nano_units>(std::llround(to_number(it->second.texts.front()) * nano_per_unit));
}

/// Where no table names it. Anthropic's price list has 1.25 times input for what stays cached for five minutes, which
/// is what a cache in between asks for unless told otherwise; no other wire tells what was written.
nano_units cache_write_price(provider_kind kind, nano_units input) {
  return kind == provider_kind::anthropic ? input + (input + 3) / 4 : input;
}

caf::expected<void> take_prices(const provider_table& table, provider_config& out) {
  for (const auto& [model, prices] : table.prices) {
    for (const auto* key : {"input", "output"}) {
      if (!prices.contains(key)) {
        return fail(ec::invalid_config, table.source + ": providers." + out.name + ".prices.\"" + model + "\": " + key +
                                            " is missing, allowed: input and output, and cached_input, cache_write");
      }
    }
    token_prices x;
    x.input = price_in(prices, "input", 0);
    x.output = price_in(prices, "output", 0);
    // Unknown is not free: whoever names no price for cached input pays for it like for any other.
    x.cached_input = price_in(prices, "cached_input", x.input);
    x.cache_write = price_in(prices, "cache_write", cache_write_price(out.kind, x.input));
    out.prices[model] = x;
  }
  return {};
}

caf::expected<void> take_key(const provider_table& table, const environment& env, provider_choice& out) {
  const auto variable = text_in(table, "api_key_env");
  const auto file = text_in(table, "api_key_file");
  if (!variable.empty() && !file.empty()) {
    return fail(ec::invalid_config, table.source + ": got api_key_env and api_key_file, allowed: one of them");
  }
  if (!variable.empty()) {
    out.provider.api_key = usable_key(env, variable);
    out.key_source = variable;
    if (out.provider.api_key.empty()) {
      return fail(ec::invalid_config, table.source + ": api_key_env names " + variable +
                                          ", which is not set; set it, or take the line out if no key is needed");
    }
  }
  if (!file.empty()) {
    if (const auto why = why_not_private(file); !why.empty()) {
      return fail(ec::invalid_config, table.source + ": api_key_file " + file + ": " + why);
    }
    auto text = read_text_file(file, key_bytes);
    if (!text) {
      return text.error();
    }
    text->erase(text->find_last_not_of(" \t\r\n") + 1);
    out.provider.api_key = std::move(*text);
    out.key_source = file;
  }
  return {};
}

}  // namespace

/// A provider's table with the stronger file's keys on top. Empty if no file has it.
provider_table merged_table(const std::string& name, const std::vector<config_file>& files) {
  provider_table out;
  for (const auto& file : files) {
    if (const auto it = file.providers.find(name); it != file.providers.end()) {
      out.values.insert(it->second.values.begin(), it->second.values.end());
      out.headers.insert(it->second.headers.begin(), it->second.headers.end());
      for (const auto& [model, prices] : it->second.prices) {
        out.prices.emplace(model, prices);
      }
      out.source = out.source.empty() ? it->second.source : out.source;
    }
  }
  return out;
}

std::set<std::string> configured_names(const std::vector<config_file>& files) {
  std::set<std::string> out;
  for (const auto& file : files) {
    for (const auto& [name, table] : file.providers) {
      out.insert(name);
    }
  }
  return out;
}

std::string text_in(const provider_table& table, const std::string& key) {
  const auto it = table.values.find(key);
  return it == table.values.end() || it->second.texts.empty() ? std::string{} : it->second.texts.front();
}

bool is_placeholder_key(const std::string& value) {
  return value == placeholder;
}

std::string usable_key(const environment& env, const std::string& variable) {
  const auto value = value_of(env, variable);
  return is_placeholder_key(value) ? std::string{} : value;
}

/// A kind without what it cannot work without.
caf::expected<void> check_whole(const provider_config& x, const std::string& place) {
  const auto lacks = [&](const char* key) {
    return fail(ec::invalid_config, place + ": provider " + x.name + " of kind " + to_string(x.kind) + " needs " + key);
  };
  switch (x.kind) {
    case provider_kind::responses:
    case provider_kind::chat:
    case provider_kind::anthropic:
    case provider_kind::relay:
      if (x.base_url.empty()) {
        return lacks("base_url");
      }
      if (const auto why = why_not_http_url(x.base_url); !why.empty()) {
        return fail(ec::invalid_config, place + ": base_url: got \"" + x.base_url + "\" (" + why +
                                            "), allowed: " + std::string{http_url_form});
      }
      break;
    case provider_kind::command:
      if (x.argv.empty()) {
        return lacks("argv");
      }
      break;
    case provider_kind::replay:
      if (x.recording.empty()) {
        return lacks("recording");
      }
      if (::access(x.recording.c_str(), R_OK) != 0) {
        return fail(ec::invalid_config, place + ": recording: got " + x.recording + " (" + std::strerror(errno) +
                                            "), allowed: a file that can be read");
      }
      break;
  }
  return {};
}

caf::expected<provider_choice> provider_from_table(const std::string& name, const settings& values,
                                                   const std::vector<config_file>& files, const environment& env) {
  provider_choice out;
  const auto table = merged_table(name, files);
  out.provider.name = name;
  take_table(table, out.provider);
  if (text_in(table, "kind").empty()) {
    return fail(ec::invalid_config,
                table.source + ": providers." + name + ": kind is missing, allowed: " + all_names<provider_kind>());
  }
  if (auto good = take_key(table, env, out); !good) {
    return good.error();
  }
  if (auto good = take_prices(table, out.provider); !good) {
    return good.error();
  }
  const auto& url = values.at("base-url");
  // OPENAI_BASE_URL speaks of OpenAI, not of this provider.
  if (!url.values.empty() && !url.source.starts_with("OPENAI_")) {
    out.provider.base_url = url.values.front();
  }
  if (auto good = check_whole(out.provider, table.source); !good) {
    return good.error();
  }
  out.model = text_in(table, "model");
  if (const auto it = table.values.find("models"); it != table.values.end()) {
    out.known_models = it->second.texts;
    out.model = out.model.empty() && !out.known_models.empty() ? out.known_models.front() : out.model;
  }
  return out;
}

}  // namespace regatta::cli
