// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ready_rules.hpp"

#include "sandbox/launch_plan.hpp"
#include "sandbox/warm_rules.hpp"

#include <algorithm>
#include <utility>

namespace regatta::sandbox {

namespace {

/// What `ps` shows in a script's place.
constexpr const char* waiting_name = "(waiting)";
/// Kinds that nobody wants any more are forgotten beyond this.
constexpr std::size_t most_kinds = 16;

bool is_shared(const std::string& node) {
  return node.ends_with("ctl") || node.ends_with("uvm");
}

}  // namespace

bool share_a_gpu(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  return std::ranges::any_of(one, [&](const std::string& node) {
    return !is_shared(node) && std::ranges::find(other, node) != other.end();
  });
}

run_spec waiting_spec(const run_spec& like) {
  run_spec spec = like;
  std::string ignored;
  if (const auto key = zygote_key_of(like, ignored)) {
    spec.argv = key->command;
    spec.argv.emplace_back(waiting_name);
  }
  spec.files.clear();
  spec.keep.clear();
  spec.standard_in.reset();
  spec.standard_out.reset();
  spec.is_alone = false;
  spec.limits.wall = {};
  spec.waits = true;
  return spec;
}

std::string ready_key_of(const run_spec& spec) {
  std::string ignored;
  if (spec.ready == 0 || spec.devices.empty() || spec.is_interactive || spec.is_alone || !zygote_key_of(spec, ignored)) {
    return {};
  }
  const auto base = waiting_spec(spec);
  launch_plan plan;
  plan.argv = base.argv;
  for (const auto& [name, value] : base.environment) {
    plan.environment.push_back(name + "=" + value);
  }
  plan.environment.push_back(base.kernel_target);
  plan.environment.push_back(base.kernel_helpers);
  plan.environment.insert(plan.environment.end(), base.preload->begin(), base.preload->end());
  plan.readable = base.readable;
  plan.devices = base.devices;
  plan.limits = base.limits;
  plan.has_loopback = base.has_loopback;
  return encode(plan);
}

void ready_book::want(const std::string& key, const run_spec& like, clock::time_point now) {
  auto found = kinds_.find(key);
  if (found == kinds_.end()) {
    if (kinds_.size() >= most_kinds) {
      const auto oldest = std::ranges::min_element(
          kinds_, {}, [](const auto& item) { return item.second.wanted_at; });
      kinds_.erase(oldest);
    }
    found = kinds_.emplace(key, wish{waiting_spec(like), now, now, {}}).first;
  }
  found->second.wanted_at = now;
  found->second.like.ready = like.ready;
}

ready_book::id ready_book::take(const std::string& key) {
  for (auto at = processes_.begin(); at != processes_.end(); ++at) {
    if (at->second.key == key && at->second.is_ready && !at->second.is_ending) {
      const auto taken = at->first;
      processes_.erase(at);
      return taken;
    }
  }
  return 0;
}

void ready_book::claim_alone(const std::vector<std::string>& devices) {
  for (const auto& node : devices) {
    ++claimed_[node];
  }
}

void ready_book::leave_alone(const std::vector<std::string>& devices) {
  for (const auto& node : devices) {
    if (const auto found = claimed_.find(node); found != claimed_.end() && --found->second == 0) {
      claimed_.erase(found);
    }
  }
}

std::vector<ready_book::id> ready_book::on(const std::vector<std::string>& devices) const {
  std::vector<id> found;
  for (const auto& [number, each] : processes_) {
    const auto kind = kinds_.find(each.key);
    if (kind == kinds_.end() || share_a_gpu(kind->second.like.devices, devices)) {
      found.push_back(number);
    }
  }
  return found;
}

bool ready_book::is_alone(const run_spec& like) const {
  return std::ranges::any_of(like.devices, [&](const auto& node) { return !is_shared(node) && claimed_.contains(node); });
}

/// How many of this kind are wanted now.
std::size_t ready_book::missing(const std::string& key, const wish& what) const {
  std::size_t all = 0, coming = 0;
  for (const auto& [number, each] : processes_) {
    all += each.key == key && !each.is_ending ? 1 : 0;
    coming += each.key == key && !each.is_ready ? 1 : 0;
  }
  const auto wanted = what.like.ready - std::min<std::size_t>(what.like.ready, all);
  return std::min(wanted, limits_.coming_up - std::min(limits_.coming_up, coming));
}

ready_book::orders ready_book::due(clock::time_point now) {
  orders out;
  for (auto& [number, each] : processes_) {
    const auto kind = kinds_.find(each.key);
    const bool is_late = !each.is_ready && now - each.since >= limits_.come_up;
    const bool is_wanted = kind != kinds_.end() && now - kind->second.wanted_at < limits_.idle;
    each.is_ending = each.is_ending || is_late || !is_wanted || is_alone(kind->second.like);
    if (each.is_ending) {
      out.to_end.push_back(number);
    }
  }
  auto room = limits_.most - std::min(limits_.most, processes_.size());
  for (const auto& [key, kind] : kinds_) {
    if (now >= kind.not_before && now - kind.wanted_at < limits_.idle && !is_alone(kind.like)) {
      const auto count = std::min(room, missing(key, kind));
      out.to_start.insert(out.to_start.end(), count, key);
      room -= count;
    }
  }
  return out;
}

void ready_book::on_started(id number, const std::string& key, clock::time_point now) {
  processes_[number] = {key, now, false, false};
}

void ready_book::on_ready(id number) {
  const auto found = processes_.find(number);
  if (found == processes_.end()) {
    return;
  }
  found->second.is_ready = true;
  if (const auto kind = kinds_.find(found->second.key); kind != kinds_.end()) {
    kind->second.pause = {};
  }
}

void ready_book::on_end(id number, clock::time_point now) {
  const auto found = processes_.find(number);
  if (found == processes_.end()) {
    return;
  }
  const auto gone = std::move(found->second);
  processes_.erase(found);
  const auto kind = kinds_.find(gone.key);
  if (kind != kinds_.end() && !gone.is_ready && !(gone.is_ending && now - gone.since < limits_.come_up)) {
    kind->second.pause = std::clamp(kind->second.pause * 2, limits_.first_pause, limits_.longest_pause);
    kind->second.not_before = now + kind->second.pause;
  }
}

}  // namespace regatta::sandbox
