// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launch_plan.hpp"

#include "sandbox/wire.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>

namespace regatta::sandbox {

namespace {

template <class T, class Put>
void put_list(byte_writer& out, const std::vector<T>& list, Put put) {
  out.put(static_cast<std::uint64_t>(list.size()));
  for (const auto& item : list) {
    put(item);
  }
}

/// `get` is called as often as the list says, at most until the bytes are used up.
template <class Get>
void get_list(byte_reader& in, Get get) {
  for (auto left = in.number<std::uint64_t>(); left > 0 && in.ok(); --left) {
    get();
  }
}

void put_walls(byte_writer& out, const confinement& walls) {
  out.put(static_cast<std::uint8_t>(walls.level));
  for (const bool wall : {walls.namespaces, walls.user_namespace, walls.host_view, walls.slot_uid, walls.seccomp,
                          walls.memory_group, walls.pids_group}) {
    out.put(wall);
  }
  out.put(static_cast<std::int32_t>(walls.landlock_abi));
}

confinement get_walls(byte_reader& in) {
  confinement walls;
  walls.level = static_cast<level>(in.number<std::uint8_t>());
  for (bool* wall : {&walls.namespaces, &walls.user_namespace, &walls.host_view, &walls.slot_uid, &walls.seccomp,
                     &walls.memory_group, &walls.pids_group}) {
    *wall = in.number<std::uint8_t>() != 0;
  }
  walls.landlock_abi = in.number<std::int32_t>();
  return walls;
}

void put_limits(byte_writer& out, const run_limits& limits) {
  out.put(static_cast<std::int64_t>(limits.wall.count()));
  out.put(static_cast<std::int64_t>(limits.cpu.count()));
  for (const byte_count x : {limits.memory, limits.data, limits.disk, limits.file, limits.output}) {
    out.put(x);
  }
  out.put(limits.pids);
  out.put(limits.open_files);
}

run_limits get_limits(byte_reader& in) {
  run_limits limits;
  limits.wall = std::chrono::milliseconds{in.number<std::int64_t>()};
  limits.cpu = std::chrono::seconds{in.number<std::int64_t>()};
  for (byte_count* x : {&limits.memory, &limits.data, &limits.disk, &limits.file, &limits.output}) {
    *x = in.number<byte_count>();
  }
  limits.pids = in.number<std::uint32_t>();
  limits.open_files = in.number<std::uint32_t>();
  return limits;
}

}  // namespace

std::string encode(const launch_plan& plan) {
  byte_writer out;
  put_walls(out, plan.walls);
  out.put(plan.uid);
  put_list(out, plan.argv, [&](const auto& x) { out.put(std::string_view{x}); });
  put_list(out, plan.environment, [&](const auto& x) { out.put(std::string_view{x}); });
  put_list(out, plan.files, [&](const auto& x) {
    out.put(std::string_view{x.name});
    out.put(std::string_view{x.content});
  });
  put_list(out, plan.readable, [&](const auto& x) {
    out.put(std::string_view{x.path});
    out.put(x.is_optional);
  });
  put_list(out, plan.devices, [&](const auto& x) { out.put(std::string_view{x}); });
  put_limits(out, plan.limits);
  out.put(plan.has_loopback);
  out.put(plan.waits);
  out.put(std::string_view{plan.filter});
  return out.bytes();
}

std::optional<launch_plan> decode_plan(std::string_view bytes) {
  byte_reader in{bytes};
  launch_plan plan;
  plan.walls = get_walls(in);
  plan.uid = in.number<std::uint32_t>();
  get_list(in, [&] { plan.argv.push_back(in.text()); });
  get_list(in, [&] { plan.environment.push_back(in.text()); });
  get_list(in, [&] {
    auto name = in.text();
    plan.files.push_back({std::move(name), in.text()});
  });
  get_list(in, [&] {
    auto path = in.text();
    plan.readable.push_back({std::move(path), in.number<std::uint8_t>() != 0});
  });
  get_list(in, [&] { plan.devices.push_back(in.text()); });
  plan.limits = get_limits(in);
  plan.has_loopback = in.number<std::uint8_t>() != 0;
  plan.waits = in.number<std::uint8_t>() != 0;
  plan.filter = in.text();
  if (!in.ok() || plan.argv.empty()) {
    return std::nullopt;
  }
  return plan;
}

void set_step(init_record& record, std::string_view step) {
  const auto size = std::min(step.size(), sizeof record.step - 1);
  std::memcpy(record.step, step.data(), size);
  record.step[size] = '\0';
}

std::int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace regatta::sandbox
