// SPDX-License-Identifier: Apache-2.0
#include "cli/providers.hpp"

#include "cli/built_in_providers.hpp"
#include "cli/provider_tables.hpp"
#include "messages/error.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

namespace regatta::cli {

namespace {

caf::error nothing_configured() {
  return fail(ec::invalid_config,
              "no model to ask: set OPENAI_API_KEY or ANTHROPIC_API_KEY (or OPENAI_BASE_URL for a server that needs no "
              "key, LLM_RELAY_URL for a relay), or add a [providers.NAME] table to regatta.toml, or give "
              "--command \"PROGRAM ARGS\" or --replay FILE");
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
    return chosen(named_provider(values.text("provider"), values, files, env), values.at("provider").source);
  }
  if (names.size() == 1) {
    return chosen(provider_from_table(*names.begin(), values, files, env), merged_table(*names.begin(), files).source);
  }
  if (names.size() > 1) {
    std::string list;
    for (const auto& name : names) {
      list += (list.empty() ? "" : ", ") + name;
    }
    return fail(ec::invalid_config, "several providers are configured (" + list + "): name one with --provider");
  }
  if (const auto spoken = provider_of_variables(values, env); !spoken.name.empty()) {
    return chosen(built_in_provider(spoken.name, values, env), spoken.source);
  }
  return nothing_configured();
}

/// A mistyped model is found here rather than by the provider, where its table says which there are.
caf::expected<void> check_models(const provider_choice& x, const settings& values) {
  if (x.known_models.empty()) {
    return {};
  }
  auto wanted = values.list("models");
  if (wanted.empty()) {
    wanted.push_back(x.model);
  }
  std::string allowed;
  for (const auto& name : x.known_models) {
    allowed += (allowed.empty() ? "" : ", ") + name;
  }
  for (const auto& name : wanted) {
    if (std::find(x.known_models.begin(), x.known_models.end(), name) == x.known_models.end()) {
      return fail(ec::invalid_config,
                  "provider " + x.provider.name + ": got model \"" + name + "\", allowed by its `models`: " + allowed);
    }
  }
  return {};
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
  const bool is_openai = is_built_in(provider.name) &&
                         (provider.kind == provider_kind::responses || provider.kind == provider_kind::chat);
  const bool is_foreign = model.source.starts_with("OPENAI_") && !is_openai;
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
  if (auto good = check_models(*out, values); !good) {
    return good.error();
  }
  return out;
}

caf::expected<provider_choice> named_provider(const std::string& name, const settings& values,
                                              const std::vector<config_file>& files, const environment& env) {
  const auto names = configured_names(files);
  if (names.contains(name)) {
    return provider_from_table(name, values, files, env);
  }
  if (is_built_in(name)) {
    return built_in_provider(name, values, env);
  }
  std::string allowed{built_in_names};
  for (const auto& known : names) {
    allowed += ", " + known;
  }
  return fail(ec::unknown_provider, values.at("provider").source + ": got \"" + name + "\", allowed: " + allowed);
}

std::vector<key_state> key_states(const std::vector<config_file>& files, const environment& env) {
  std::set<std::string> variables{"ANTHROPIC_API_KEY", "OPENAI_API_KEY"};
  for (const auto& name : configured_names(files)) {
    if (const auto variable = text_in(merged_table(name, files), "api_key_env"); !variable.empty()) {
      variables.insert(variable);
    }
  }
  std::vector<key_state> out;
  for (const auto& variable : variables) {
    const auto it = env.find(variable);
    const bool is_there = it != env.end() && !it->second.value.empty();
    const bool is_placeholder = is_there && is_placeholder_key(it->second.value);
    out.push_back({variable, is_there && !is_placeholder, is_placeholder, is_there ? it->second.source : ""});
  }
  return out;
}

}  // namespace regatta::cli
