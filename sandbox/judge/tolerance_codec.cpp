// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/tolerance_codec.hpp"

#include "sandbox/judge/ending.hpp"

#include <cmath>
#include <string>

namespace regatta::judge {

namespace {

/// Beyond a whole, nothing is told apart any more.
constexpr double most_limit = 1;

std::string short_dump(const json& x) {
  constexpr std::size_t most = 60;
  return plain_line(x.dump(-1, ' ', true, json::error_handler_t::replace), most);
}

std::optional<double> read_limit(const std::string& where, const json& x) {
  const double number = x.is_number() ? x.get<double>() : -1;
  if (!std::isfinite(number) || number < 0 || number > most_limit) {
    throw malformed{"tolerances: " + where + ": got " + short_dump(x) + ", allowed: a number from 0 to 1"};
  }
  return number;
}

tolerance_wish read_wish(tolerance_group group, const std::string& name, const json& limits) {
  tolerance_wish out{group, {}, {}, {}};
  for (const auto& [key, value] : limits.items()) {
    auto* const place = key == "atol" ? &out.atol : key == "rtol" ? &out.rtol : key == "norm" ? &out.norm : nullptr;
    if (place == nullptr) {
      throw malformed{"tolerances: " + name + ": got \"" + plain_line(key, 60) + "\", allowed: atol, rtol, norm"};
    }
    *place = read_limit(name + "." + key, value);
  }
  return out;
}

}  // namespace

std::vector<tolerance_wish> read_tolerance_wishes(const json& x) {
  std::vector<tolerance_wish> out;
  if (!x.is_object()) {
    throw malformed{"tolerances: got " + short_dump(x) + ", allowed: an object"};
  }
  for (const auto& [name, limits] : x.items()) {
    const auto group = from_name<tolerance_group>(name);
    if (!group || !limits.is_object()) {
      throw malformed{"tolerances: got \"" + plain_line(name, 60) + "\", allowed: objects for " +
                      all_names<tolerance_group>()};
    }
    out.push_back(read_wish(*group, name, limits));
  }
  return out;
}

json write_tolerances(const tolerance_table& x) {
  auto out = json::object();
  for (const auto& [group, name] : enum_names<tolerance_group>::value) {
    const auto& one = x.groups.at(static_cast<std::size_t>(group));
    out[std::string{name}] = {{"atol", one.atol}, {"rtol", one.rtol}, {"norm", one.norm}};
  }
  return out;
}

}  // namespace regatta::judge
