// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.hpp"

#include "messages/error.hpp"

#include <optional>
#include <utility>

namespace regatta::cli {

namespace {

std::vector<std::string> split_at_commas(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const auto& text : texts) {
    std::size_t from = 0;
    for (auto comma = text.find(','); comma != std::string::npos; comma = text.find(',', from)) {
      out.push_back(text.substr(from, comma - from));
      from = comma + 1;
    }
    out.push_back(text.substr(from));
  }
  return out;
}

std::optional<setting> from_flags(const option_entry& entry, const flag_values& flags) {
  // As it was typed: an error must name what its reader wrote.
  auto it = flags.find(std::string{entry.name});
  if (it == flags.end() && !entry.alias.empty()) {
    it = flags.find(std::string{entry.alias});
  }
  if (it == flags.end()) {
    return std::nullopt;
  }
  return setting{entry.is_comma_list ? split_at_commas(it->second) : it->second, "--" + it->first};
}

std::optional<setting> from_variable(const option_entry& entry, const std::string& name, const environment& env) {
  const auto it = env.find(name);
  if (name.empty() || it == env.end() || it->second.value.empty()) {
    return std::nullopt;
  }
  const bool is_own = it->second.source == "environment";
  return setting{entry.is_list ? split_at_commas({it->second.value}) : std::vector{it->second.value},
                 is_own ? name : name + " in " + it->second.source};
}

std::optional<setting> from_files(const option_entry& entry, const std::vector<config_file>& files) {
  for (const auto& file : files) {
    if (const auto it = file.values.find(std::string{entry.name}); it != file.values.end()) {
      return setting{it->second.texts, it->second.source};
    }
  }
  return std::nullopt;
}

setting weigh(const option_entry& entry, const flag_values& flags, const environment& env,
              const std::vector<config_file>& files) {
  if (auto found = from_flags(entry, flags)) {
    return *found;
  }
  if (auto found = from_variable(entry, env_name(entry), env)) {
    return *found;
  }
  if (auto found = from_variable(entry, std::string{entry.own_env}, env)) {
    return *found;
  }
  if (auto found = from_files(entry, files)) {
    return *found;
  }
  if (entry.fallback.empty()) {
    return {{}, "default"};
  }
  return {{std::string{entry.fallback}}, "default"};
}

}  // namespace

caf::expected<settings> settings::resolve(const flag_values& flags, const environment& env,
                                          const std::vector<config_file>& files) {
  settings out;
  for (const auto& entry : all_options()) {
    auto value = weigh(entry, flags, env, files);
    for (const auto& text : value.values) {
      if (!fits(entry.rule, text)) {
        return fail(ec::invalid_config, value.source + ": got \"" + text + "\", allowed: " + allowed_text(entry.rule));
      }
    }
    out.values_.emplace(entry.name, std::move(value));
  }
  return out;
}

const setting& settings::at(std::string_view name) const {
  static const setting unset;
  const auto it = values_.find(name);
  return it == values_.end() ? unset : it->second;
}

std::string settings::text(std::string_view name) const {
  const auto& values = at(name).values;
  return values.empty() ? std::string{} : values.front();
}

bool settings::flag(std::string_view name) const {
  const auto value = text(name);
  return value == "true" || value == "1" || value == "yes" || value == "on";
}

}  // namespace regatta::cli
