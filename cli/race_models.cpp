// SPDX-License-Identifier: Apache-2.0
#include "cli/race_models.hpp"

#include "cli/built_in_providers.hpp"
#include "cli/provider_tables.hpp"
#include "messages/error.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace regatta::cli {

namespace {

caf::expected<provider_choice> fallback_of(std::string_view text, const provider_choice& first, const settings& values,
                                           const std::vector<config_file>& files, const environment& env) {
  const auto& source = values.at("fallback-model").source;
  const auto colon = text.find(':');
  const std::string name{text.substr(0, colon)};
  const bool names_provider = colon != std::string_view::npos && (configured_names(files).contains(name) ||
                                                                  is_built_in(name) || name == first.provider.name);
  const std::string model{names_provider ? text.substr(colon + 1) : text};
  auto out = names_provider && name != first.provider.name ? named_provider(name, values, files, env)
                                                           : caf::expected<provider_choice>{first};
  if (!out) {
    return fail(code_of(out.error()), source + ": " + text_of(out.error()));
  }
  if (model.empty()) {
    return fail(ec::invalid_config, source + ": got \"" + std::string{text} + "\", allowed: MODEL, PROVIDER:MODEL");
  }
  const auto& known = out->known_models;
  if (!known.empty() && std::find(known.begin(), known.end(), model) == known.end()) {
    std::string allowed;
    for (const auto& x : known) {
      allowed += (allowed.empty() ? "" : ", ") + x;
    }
    return fail(ec::invalid_config, source + ": provider " + out->provider.name + ": got model \"" + model +
                                        "\", allowed by its `models`: " + allowed);
  }
  out->model = model;
  return out;
}

}  // namespace

caf::expected<race_models> choose_models(const settings& values, const std::vector<config_file>& files,
                                         const environment& env) {
  auto first = choose_provider(values, files, env);
  if (!first) {
    return first.error();
  }
  race_models out{std::move(*first), {}};
  for (const auto& text : values.list("fallback-model")) {
    auto other = fallback_of(text, out.first, values, files, env);
    if (!other) {
      return other.error();
    }
    out.fallbacks.push_back(std::move(*other));
  }
  return out;
}

std::vector<provider_config> providers_of(const race_models& models) {
  std::vector<provider_config> out{models.first.provider};
  for (const auto& x : models.fallbacks) {
    const bool is_there =
        std::any_of(out.begin(), out.end(), [&](const auto& known) { return known.name == x.provider.name; });
    if (!is_there) {
      out.push_back(x.provider);
    }
  }
  return out;
}

std::string currency_of(const std::vector<provider_config>& providers) {
  std::set<std::string> found;
  for (const auto& x : providers) {
    if (!x.prices.empty()) {
      found.insert(x.currency);
    }
  }
  return found.size() == 1 ? *found.begin() : std::string{};
}

}  // namespace regatta::cli
