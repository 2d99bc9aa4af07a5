// SPDX-License-Identifier: Apache-2.0
#include "node/lease_table.hpp"

#include <algorithm>

namespace regatta {

namespace {

std::string name_of(slot_kind kind, std::uint32_t device, std::uint32_t number, std::size_t slots) {
  if (kind == slot_kind::cpu) {
    return "cpu-" + std::to_string(number);
  }
  return "gpu-" + std::to_string(device) + (slots > 1 ? "." + std::to_string(number) : "");
}

}  // namespace

std::uint32_t lease_table::device::used() const {
  return static_cast<std::uint32_t>(std::ranges::count(taken, true));
}

lease_table::lease_table(std::uint32_t cpu_slots, std::uint32_t gpus, std::uint32_t slots_per_gpu) {
  if (cpu_slots > 0) {
    cpus_.push_back({std::vector<bool>(cpu_slots, false), cpu_slots, {}});
  }
  const auto slots = std::max(slots_per_gpu, 1U);
  gpus_.resize(gpus, {std::vector<bool>(slots, false), slots, {}});
}

std::optional<slot_kind> lease_table::kind_for(device_need need) const {
  const bool wants_gpu = need == device_need::gpu || (need == device_need::any && !gpus_.empty());
  const auto kind = wants_gpu ? slot_kind::gpu : slot_kind::cpu;
  return devices(kind).empty() ? std::nullopt : std::optional{kind};
}

bool lease_table::has_free(slot_kind kind) const {
  return std::ranges::any_of(devices(kind), &device::is_open);
}

/// The device that this run has claimed, or claims now: the one that will be free first, as far as that can be guessed.
lease_table::device* lease_table::claim(slot_kind kind, run_number run) {
  auto& all = devices(kind);
  if (const auto mine = std::ranges::find(all, std::optional{run}, &device::claimed_by); mine != all.end()) {
    return &*mine;
  }
  device* best = nullptr;
  for (auto& each : all) {
    if (!each.claimed_by && (best == nullptr || each.used() < best->used())) {
      best = &each;
    }
  }
  if (best != nullptr) {
    best->claimed_by = run;
  }
  return best;
}

lease lease_table::put(slot_kind kind, std::uint32_t at, run_number run, lease::time_point expires_at) {
  auto& taken = devices(kind)[at].taken;
  const auto free = std::ranges::find(taken, false);
  *free = true;
  lease made{kind, at, static_cast<std::uint32_t>(free - taken.begin()), {}, expires_at, false, false};
  made.slot = name_of(kind, at, made.number, taken.size());
  for (auto& [other, held] : leases_) {
    if (held.kind == kind && held.device == at) {
      held.had_company = made.had_company = true;
    }
  }
  return leases_.insert_or_assign(run, made).first->second;
}

std::optional<lease> lease_table::acquire(slot_kind kind, run_number run, lease::time_point expires_at, sharing how) {
  auto& all = devices(kind);
  if (how == sharing::exclusive) {
    const auto* mine = claim(kind, run);
    if (mine == nullptr || mine->used() > 0) {
      return std::nullopt;
    }
    auto made = put(kind, static_cast<std::uint32_t>(mine - all.data()), run, expires_at);
    made.slot = kind == slot_kind::cpu ? "cpu" : "gpu-" + std::to_string(made.device);
    made.is_exclusive = true;
    return leases_[run] = made;
  }
  device* best = nullptr;
  for (auto& each : all) {
    if (each.is_open() && (best == nullptr || each.used() < best->used())) {
      best = &each;
    }
  }
  return best == nullptr ? std::nullopt
                         : std::optional{put(kind, static_cast<std::uint32_t>(best - all.data()), run, expires_at)};
}

void lease_table::limit(std::uint32_t gpu, std::uint32_t runs) {
  auto& its = gpus_.at(gpu);
  its.room = std::clamp<std::uint32_t>(runs, 1, static_cast<std::uint32_t>(its.taken.size()));
}

void lease_table::release(run_number run) {
  for (const auto kind : {slot_kind::cpu, slot_kind::gpu}) {
    for (auto& each : devices(kind)) {
      each.claimed_by = each.claimed_by == run ? std::nullopt : each.claimed_by;
    }
  }
  const auto at = leases_.find(run);
  if (at != leases_.end()) {
    devices(at->second.kind)[at->second.device].taken[at->second.number] = false;
    leases_.erase(at);
  }
}

bool lease_table::had_company(run_number run) const {
  const auto at = leases_.find(run);
  return at != leases_.end() && at->second.had_company;
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
