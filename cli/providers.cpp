// SPDX-License-Identifier: Apache-2.0
#include "cli/providers.hpp"

#include "cli/http_url.hpp"
#include "cli/text_file.hpp"
#include "messages/error.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace regatta::cli {

namespace {

constexpr std::string_view openai_url = "https://api.openai.com/v1";
/// KernelAgent's default.
constexpr std::string_view openai_model = "gpt-5";
/// What its example `.env` holds; not a key.
constexpr std::string_view placeholder = "your-api-key-here";
/// A key is one line.
constexpr std::uint64_t key_bytes = 16 * 1024;

/// A provider's table with the stronger file's keys on top. Empty if no file has it.
provider_table merged_table(const std::string& name, const std::vector<config_file>& files) {
  provider_table out;
  for (const auto& file : files) {
    if (const auto it = file.providers.find(name); it != file.providers.end()) {
      out.values.insert(it->second.values.begin(), it->second.values.end());
      out.headers.insert(it->second.headers.begin(), it->second.headers.end());
      out.source = out.source.empty() ? it->second.source : out.source;
    }
  }
  return out;
}

std::string text_in(const provider_table& table, const std::string& key) {
  const auto it = table.values.find(key);
  return it == table.values.end() || it->second.texts.empty() ? std::string{} : it->second.texts.front();
}

std::string usable_key(const environment& env, const std::string& variable) {
  const auto value = value_of(env, variable);
  return value == placeholder ? std::string{} : value;
}

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
  take_integer(table, "tries", out.tries);
  take_seconds(table, "rate_limit_patience_s", out.rate_limit_patience);
  take_seconds(table, "connect_timeout_s", out.connect_timeout);
  take_seconds(table, "idle_timeout_s", out.idle_timeout);
  take_seconds(table, "first_timeout_s", out.first_timeout);
  take_seconds(table, "total_timeout_s", out.total_timeout);
  take_seconds(table, "backoff_first_s", out.backoff_first);
  take_seconds(table, "backoff_cap_s", out.backoff_cap);
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
        return fail(ec::invalid_config, place + ": base_url: got \"" + x.base_url + "\" (" + why + "), allowed: " +
                                            std::string{http_url_form});
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
      if (auto text = ::access(x.recording.c_str(), R_OK); text != 0) {
        return fail(ec::invalid_config,
                    place + ": recording: got " + x.recording + ", allowed: a file that can be read");
      }
      break;
  }
  return {};
}

caf::expected<provider_choice> from_table(const std::string& name, const settings& values,
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
  const auto& url = values.at("base-url");
  // OPENAI_BASE_URL speaks of OpenAI, not of this provider.
  if (!url.values.empty() && !url.source.starts_with("OPENAI_")) {
    out.provider.base_url = url.values.front();
  }
  if (auto good = check_whole(out.provider, table.source); !good) {
    return good.error();
  }
  out.model = text_in(table, "model");
  return out;
}

/// Known without a table: OpenAI's own variables say where and with which key. `openai` is `responses`.
bool is_built_in(const std::string& name) {
  return name == "openai" || name == "responses" || name == "chat";
}

caf::expected<provider_choice> built_in_openai(const std::string& name, const settings& values,
                                               const environment& env) {
  provider_choice out;
  out.provider.name = name;
  out.provider.kind = name == "chat" ? provider_kind::chat : provider_kind::responses;
  const auto url = values.text("base-url");
  out.provider.base_url = url.empty() ? std::string{openai_url} : url;
  out.provider.api_key = usable_key(env, "OPENAI_API_KEY");
  out.key_source = out.provider.api_key.empty() ? "" : "OPENAI_API_KEY";
  out.model = openai_model;
  if (out.provider.api_key.empty() && url.empty()) {
    return fail(ec::invalid_config, "OPENAI_API_KEY is not set, and " + std::string{openai_url} + " wants a key");
  }
  if (auto good = check_whole(out.provider, values.at("base-url").source); !good) {
    return good.error();
  }
  return out;
}

caf::error nothing_configured() {
  return fail(ec::invalid_config,
              "no model to ask: set OPENAI_API_KEY (or OPENAI_BASE_URL for a server that needs no key), or add a "
              "[providers.NAME] table to regatta.toml, or give --command \"PROGRAM ARGS\" or --replay FILE");
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

caf::expected<provider_choice> named(const std::string& name, const settings& values,
                                     const std::vector<config_file>& files, const environment& env) {
  const auto names = configured_names(files);
  if (names.contains(name)) {
    return from_table(name, values, files, env);
  }
  if (is_built_in(name)) {
    return built_in_openai(name, values, env);
  }
  std::string allowed = "openai, responses, chat";
  for (const auto& known : names) {
    allowed += ", " + known;
  }
  return fail(ec::unknown_provider, values.at("provider").source + ": got \"" + name + "\", allowed: " + allowed);
}

/// `--replay` and `--command` are whole providers by themselves.
caf::expected<provider_choice> from_flag(const settings& values) {
  provider_choice out;
  const bool is_replay = values.is_set("replay");
  const std::string option = is_replay ? "replay" : "command";
  out.provider.name = option;
  out.provider.kind = is_replay ? provider_kind::replay : provider_kind::command;
  out.provider.recording = values.text("replay");
  out.model = option;
  if (!is_replay) {
    auto words = split_command(values.text("command"));
    if (!words) {
      return words.error();
    }
    out.provider.argv = std::move(*words);
    out.model = std::filesystem::path{out.provider.argv.front()}.filename().string();
  }
  if (auto good = check_whole(out.provider, values.at(option).source); !good) {
    return good.error();
  }
  out.chosen_by = values.at(option).source;
  return out;
}

caf::expected<provider_choice> pick(const settings& values, const std::vector<config_file>& files,
                                    const environment& env) {
  const auto names = configured_names(files);
  const int given = values.is_set("replay") + values.is_set("command") + values.is_set("provider");
  if (given > 1) {
    return fail(ec::invalid_config, "got more than one of --provider, --replay and --command, allowed: one of them");
  }
  if (values.is_set("replay") || values.is_set("command")) {
    return from_flag(values);
  }
  const auto chosen = [](caf::expected<provider_choice> out, const std::string& by) {
    if (out) {
      out->chosen_by = by;
    }
    return out;
  };
  if (values.is_set("provider")) {
    return chosen(named(values.text("provider"), values, files, env), values.at("provider").source);
  }
  if (names.size() == 1) {
    return chosen(from_table(*names.begin(), values, files, env), merged_table(*names.begin(), files).source);
  }
  if (names.size() > 1) {
    std::string list;
    for (const auto& name : names) {
      list += (list.empty() ? "" : ", ") + name;
    }
    return fail(ec::invalid_config, "several providers are configured (" + list + "): name one with --provider");
  }
  if (!usable_key(env, "OPENAI_API_KEY").empty() || values.is_set("base-url")) {
    const bool has_key = !usable_key(env, "OPENAI_API_KEY").empty();
    return chosen(built_in_openai("openai", values, env), has_key ? "OPENAI_API_KEY" : values.at("base-url").source);
  }
  return nothing_configured();
}

}  // namespace

caf::expected<provider_choice> choose_provider(const settings& values, const std::vector<config_file>& files,
                                               const environment& env) {
  auto out = pick(values, files, env);
  if (!out) {
    return out;
  }
  auto& provider = out->provider;
  provider.store_responses = provider.store_responses || values.flag("store-responses");
  if (values.is_set("llm-timeout-s")) {
    provider.idle_timeout = std::chrono::seconds{values.seconds("llm-timeout-s")};
    provider.first_timeout = std::max(provider.first_timeout, provider.idle_timeout);
    provider.total_timeout = std::max(provider.total_timeout, provider.idle_timeout);
  }
  const auto& model = values.at("model");
  // OPENAI_MODEL speaks of OpenAI, not of another provider.
  const bool is_foreign = model.source.starts_with("OPENAI_") && !is_built_in(provider.name);
  if (!model.values.empty() && !is_foreign) {
    out->model = model.values.front();
  }
  if (out->model.empty() && values.list("models").empty()) {
    if (speaks_http(provider.kind)) {
      return fail(ec::invalid_config,
                  "provider " + provider.name + " has no model: give --model NAME, or `model` in its table");
    }
    out->model = provider.name;
  }
  return out;
}

std::vector<key_state> key_states(const std::vector<config_file>& files, const environment& env) {
  std::set<std::string> variables{"OPENAI_API_KEY"};
  for (const auto& name : configured_names(files)) {
    if (const auto variable = text_in(merged_table(name, files), "api_key_env"); !variable.empty()) {
      variables.insert(variable);
    }
  }
  std::vector<key_state> out;
  for (const auto& variable : variables) {
    const auto it = env.find(variable);
    const bool is_there = it != env.end() && !it->second.value.empty();
    const bool is_placeholder = is_there && it->second.value == placeholder;
    out.push_back({variable, is_there && !is_placeholder, is_placeholder, is_there ? it->second.source : ""});
  }
  return out;
}

}  // namespace regatta::cli
