// SPDX-License-Identifier: Apache-2.0
#include "cli/config.hpp"

#include "cli/options.hpp"
#include "cli/provider_keys.hpp"
#include "cli/text_file.hpp"
#include "messages/error.hpp"

// toml++ 3.3 asserts, and with NDEBUG assumes, what hand-written text can violate ("[[[" and a few more); without either
// it goes on to its own error.
#undef NDEBUG
#define TOML_ASSERT(expr) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>
#include <unistd.h>

#include <optional>
#include <sstream>
#include <utility>

namespace regatta::cli {

namespace {

/// A configuration is written by hand.
constexpr std::uint64_t config_bytes = 1024 * 1024;

class reader {
public:
  reader(const std::string& path, config_file& out) : path_{path}, out_{out} {}

  void read(const toml::table& root) {
    for (const auto& [key, node] : root) {
      const std::string name{key.str()};
      if (name == "providers") {
        read_providers(node);
      } else if (const auto* section = node.as_table()) {
        for (const auto& [inner, value] : *section) {
          read_option(name + "." + std::string{inner.str()}, value);
        }
      } else {
        read_option(name, node);
      }
    }
  }

  caf::error error() const { return problem_.empty() ? caf::error{} : fail(ec::invalid_config, problem_); }

private:
  std::string place(const toml::node& node) const { return path_ + ":" + std::to_string(node.source().begin.line); }

  void complain(const toml::node& at, const std::string& text) {
    if (problem_.empty()) {
      problem_ = place(at) + ": " + text;
    }
  }

  void refuse_key(const std::string& key, const toml::node& at, const std::vector<std::string>& known) {
    const auto near = nearest(key, known);
    const auto dot = key.rfind('.');
    const auto section = dot == std::string::npos ? std::string{} : key.substr(0, dot + 1);
    std::string allowed;
    for (const auto& name : known) {
      if (section.empty() || name.starts_with(section)) {
        allowed += (allowed.empty() ? "" : ", ") + name;
      }
    }
    if (allowed.empty()) {
      allowed = "keys of race, llm, run, output, providers.NAME; state_dir, events";
    }
    complain(at, "unknown key: got " + key + (near.empty() ? "" : " (did you mean " + near + "?)") +
                     ", allowed: " + allowed);
  }

  void read_option(const std::string& key, const toml::node& node) {
    std::vector<std::string> known;
    for (const auto& entry : all_options()) {
      if (entry.toml == key && !key.empty()) {
        if (auto texts = read_value(key, node, entry.rule, entry.is_list)) {
          out_.values[std::string{entry.name}] = {std::move(*texts), place(node)};
        }
        return;
      }
      if (!entry.toml.empty()) {
        known.emplace_back(entry.toml);
      }
    }
    refuse_key(key, node, known);
  }

  void read_providers(const toml::node& node) {
    const auto* tables = node.as_table();
    if (tables == nullptr) {
      complain(node, "providers: got a value, allowed: tables such as [providers.local]");
      return;
    }
    for (const auto& [name, entry] : *tables) {
      const std::string key = "providers." + std::string{name.str()};
      const auto* table = entry.as_table();
      if (table == nullptr) {
        complain(entry, key + ": got a value, allowed: a table");
        continue;
      }
      auto& out = out_.providers[std::string{name.str()}];
      out.source = place(entry);
      for (const auto& [inner, value] : *table) {
        read_provider_key(key, std::string{inner.str()}, value, out);
      }
    }
  }

  void read_provider_key(const std::string& table, const std::string& key, const toml::node& node,
                         provider_table& out) {
    const auto full = table + "." + key;
    if (key == "api_key") {
      complain(node, full +
                         ": a key must not stand in this file; allowed: api_key_env = \"VARIABLE\" or "
                         "api_key_file = \"FILE\" (mode 0600)");
    } else if (key == "headers" && node.is_table()) {
      for (const auto& [name, value] : *node.as_table()) {
        read_header(full, std::string{name.str()}, value, out);
      }
    } else if (const auto* known = find_provider_key(key)) {
      if (auto texts = read_value(full, node, known->rule, known->is_list)) {
        out.values[key] = {std::move(*texts), place(node)};
      }
    } else {
      std::vector<std::string> names{table + ".headers"};
      for (const auto& entry : provider_keys()) {
        names.push_back(table + "." + std::string{entry.name});
      }
      refuse_key(full, node, names);
    }
  }

  void read_header(const std::string& table, const std::string& name, const toml::node& node, provider_table& out) {
    if (is_secret_header(name)) {
      complain(node, table + "." + name + ": a key must not stand in this file; allowed: api_key_env or api_key_file");
    } else if (auto texts = read_value(table + "." + name, node, value_rule{}, false)) {
      out.headers[name] = {std::move(*texts), place(node)};
    }
  }

  std::optional<std::vector<std::string>> read_value(const std::string& key, const toml::node& node,
                                                     const value_rule& rule, bool is_list) {
    std::vector<std::string> out;
    const auto* array = node.as_array();
    if (array != nullptr && is_list) {
      for (const auto& item : *array) {
        if (!read_scalar(key, item, rule, out)) {
          return std::nullopt;
        }
      }
      return out;
    }
    return read_scalar(key, node, rule, out) ? std::optional{out} : std::nullopt;
  }

  bool read_scalar(const std::string& key, const toml::node& node, const value_rule& rule,
                   std::vector<std::string>& out) {
    const auto text = text_of_node(node, rule.kind);
    if (!text || !fits(rule, *text)) {
      complain(node, key + ": got " + rendered(node) + ", allowed: " + allowed_text(rule));
      return false;
    }
    out.push_back(*text);
    return true;
  }

  /// Empty if the node has not the type that the kind wants.
  static std::optional<std::string> text_of_node(const toml::node& node, value_kind kind) {
    const bool is_worded = kind == value_kind::text || kind == value_kind::choice;
    const bool has_units = kind == value_kind::seconds || kind == value_kind::size;
    if (node.is_string() && (is_worded || has_units)) {
      return node.value<std::string>();
    }
    if (node.is_boolean() && kind == value_kind::flag) {
      return *node.value<bool>() ? "true" : "false";
    }
    if (node.is_integer() && (has_units || kind == value_kind::integer || kind == value_kind::number)) {
      return std::to_string(*node.value<std::int64_t>());
    }
    if (node.is_floating_point() && kind == value_kind::number) {
      std::ostringstream text;
      text << *node.value<double>();
      return text.str();
    }
    return std::nullopt;
  }

  static std::string rendered(const toml::node& node) {
    if (node.is_string()) {
      return "\"" + *node.value<std::string>() + "\"";
    }
    if (node.is_boolean()) {
      return *node.value<bool>() ? "true" : "false";
    }
    if (node.is_number()) {
      std::ostringstream text;
      text << *node.value<double>();
      return text.str();
    }
    return node.is_table() ? "a table" : node.is_array() ? "an array" : "a date or time";
  }

  const std::string& path_;
  config_file& out_;
  std::string problem_;
};

}  // namespace

caf::expected<config_file> parse_config(std::string_view text, const std::string& path) {
  const auto parsed = toml::parse(text, path);
  if (!parsed) {
    const auto& problem = parsed.error();
    return fail(ec::invalid_config, path + ":" + std::to_string(problem.source().begin.line) +
                                        ": not TOML: " + std::string{problem.description()});
  }
  config_file out;
  out.path = path;
  reader in{path, out};
  in.read(parsed.table());
  if (auto error = in.error()) {
    return error;
  }
  return out;
}

caf::expected<std::vector<config_file>> read_config_files(const std::string& given, const environment& env) {
  std::vector<std::pair<std::string, bool>> paths;  // path, must it exist
  if (!given.empty()) {
    paths.emplace_back(given, true);
  }
  paths.emplace_back("regatta.toml", false);
  const auto xdg = value_of(env, "XDG_CONFIG_HOME");
  const auto home = value_of(env, "HOME");
  if (!xdg.empty() || !home.empty()) {
    paths.emplace_back((xdg.empty() ? home + "/.config" : xdg) + "/regatta/config.toml", false);
  }
  std::vector<config_file> out;
  for (const auto& [path, is_required] : paths) {
    if (!is_required && ::access(path.c_str(), F_OK) != 0) {
      continue;
    }
    auto text = read_text_file(path, config_bytes);
    if (!text) {
      return text.error();
    }
    auto file = parse_config(*text, path);
    if (!file) {
      return file.error();
    }
    out.push_back(std::move(*file));
  }
  return out;
}

}  // namespace regatta::cli
