// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor.hpp"

#include <nlohmann/json.hpp>

namespace regatta::cli {

std::string doctor_json(const std::vector<finding>& all) {
  using json = nlohmann::ordered_json;
  auto list = json::array();
  for (const auto& x : all) {
    list.push_back({{"level", to_string(x.level)}, {"check", x.check}, {"text", x.text}, {"remedy", x.remedy}});
  }
  const json out = {{"schema_version", 1}, {"is_fit", !has_failure(all)}, {"findings", list}};
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace regatta::cli
