// SPDX-License-Identifier: Apache-2.0
#include "cli/gc_codec.hpp"

#include <nlohmann/json.hpp>

namespace regatta::cli {

std::string gc_json(const gc_account& x) {
  using json = nlohmann::ordered_json;
  auto races = json::array();
  for (const auto& race : x.removed) {
    races.push_back({{"run_id", race.race.text},
                     {"problem", race.problem},
                     {"end", race.end},
                     {"ended_us", race.ended_us},
                     {"bytes", race.bytes}});
  }
  const auto leftovers = x.is_dry_run ? x.plan.leftovers.size() : std::size_t{x.done.leftovers};
  const json out = {{"schema_version", 1},
                    {"is_dry_run", x.is_dry_run},
                    {"races", races},
                    {"leftovers", leftovers},
                    {"freed_bytes", x.done.bytes},
                    {"state_dir_bytes", x.plan.bytes},
                    {"kept_ended", x.plan.ended - x.removed.size()},
                    {"kept_running", x.plan.running},
                    {"kept_resumable", x.plan.resumable},
                    {"failures", x.done.kept}};
  return out.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace regatta::cli
