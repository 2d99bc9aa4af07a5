// SPDX-License-Identifier: Apache-2.0
#include "node/lease_table.hpp"

#include <algorithm>

namespace regatta {

lease_table::lease_table(std::uint32_t cpu_slots, std::uint32_t gpu_slots)
    : cpus_taken_(cpu_slots, false), gpus_taken_(gpu_slots, false) {}

std::optional<slot_kind> lease_table::kind_for(device_need need) const {
  const bool wants_gpu = need == device_need::gpu || (need == device_need::any && !gpus_taken_.empty());
  const auto kind = wants_gpu ? slot_kind::gpu : slot_kind::cpu;
  return taken(kind).empty() ? std::nullopt : std::optional{kind};
}

bool lease_table::has_free(slot_kind kind) const {
  return std::ranges::find(taken(kind), false) != taken(kind).end();
}

std::optional<lease> lease_table::acquire(slot_kind kind, run_number run, lease::time_point expires_at) {
  auto& slots = taken(kind);
  const auto free = std::ranges::find(slots, false);
  if (free == slots.end()) {
    return std::nullopt;
  }
  *free = true;
  const auto index = static_cast<std::uint32_t>(free - slots.begin());
  const std::string prefix = kind == slot_kind::gpu ? "gpu-" : "cpu-";
  return leases_.insert_or_assign(run, lease{kind, index, prefix + std::to_string(index), expires_at}).first->second;
}

void lease_table::release(run_number run) {
  const auto at = leases_.find(run);
  if (at != leases_.end()) {
    taken(at->second.kind)[at->second.index] = false;
    leases_.erase(at);
  }
}

std::vector<run_number> lease_table::expired(lease::time_point now) const {
  std::vector<run_number> runs;
  for (const auto& [run, held] : leases_) {
    if (held.expires_at <= now) {
      runs.push_back(run);
    }
  }
  std::ranges::sort(runs);
  return runs;
}

}  // namespace regatta
