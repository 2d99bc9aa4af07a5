// SPDX-License-Identifier: Apache-2.0
#include "cli/config_report.hpp"

#include "cli/providers.hpp"
#include "cli/terminal_text.hpp"
#include "messages/error.hpp"

namespace regatta::cli {

namespace {

constexpr std::size_t name_columns = 20;
constexpr std::size_t value_columns = 32;

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts) {
    out += (out.empty() ? "" : ", ") + text;
  }
  return clean_line(out);
}

std::string row(const std::string& name, const std::string& value, const std::string& source) {
  const auto padded = columns_of(value) < value_columns ? fit_to(value, value_columns) : value;
  return fit_to(name, name_columns) + " " + padded + " " + source + "\n";
}

std::string key_rows(const session& x) {
  std::string out;
  for (const auto& key : key_states(x.files, x.env)) {
    const auto value = key.is_set           ? "set, from " + key.source
                       : key.is_placeholder ? "a placeholder: counts as not set"
                                            : "not set";
    out += row(key.variable, value, "");
  }
  return out;
}

}  // namespace

std::string config_report(const session& x) {
  std::string out;
  for (const auto& entry : all_options()) {
    const auto& setting = x.values.at(entry.name);
    const bool is_unset = setting.values.empty();
    out += row(std::string{entry.name}, is_unset ? "-" : joined(setting.values), is_unset ? "" : setting.source);
  }
  out += key_rows(x);
  for (const auto& file : x.files) {
    for (const auto& [name, table] : file.providers) {
      out += row("providers." + name, "", table.source);
    }
  }
  const auto provider = choose_provider(x.values, x.files, x.env);
  if (provider) {
    out += row("=> provider", provider->provider.name + " (" + to_string(provider->provider.kind) + ")",
               provider->chosen_by);
    out += row("=> model", clean_line(provider->model), "");
    out += row("=> key", provider->key_source.empty() ? "none is sent" : "set, from " + provider->key_source, "");
  } else {
    out += row("=> provider", "none", clean_line(text_of(provider.error())));
  }
  for (const auto& text : x.warnings) {
    out += "warning: " + clean_line(text) + "\n";
  }
  return out;
}

}  // namespace regatta::cli
