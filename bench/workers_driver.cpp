// SPDX-License-Identifier: Apache-2.0
// What does an idle worker cost? Spawns N of them, each waiting for the answer to its first prompt, and tells how
// much memory the process has grown by: `workers_driver 10000`. The holes that sent prompts leave are given back before,
// as the gateway does; `live_bytes_per_worker` is what is allocated, without any hole.
#include "actors/worker.hpp"
#include "bench/own_memory.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <malloc.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

using namespace regatta;
using namespace std::chrono_literals;

namespace {

/// Takes every prompt and never tells what came of it.
uplink_actor::behavior_type silent_uplink(uplink_actor::pointer, std::atomic<std::uint32_t>* asked) {
  return {
      [=](const prompt&) {
        ++*asked;
        return accepted{"nobody"};
      },
      [](const reserve&) { return reservation{}; },
      [](const settle&) {},
      [](const release&) {},
      [](const report&) {},
      [](const winner&) {},
      [](const worker_ended&) {},
      [](const node_quiet&) {},
      [](const run_ended&) {},
  };
}

struct memory_used {
  double pages = 0;  ///< Of the process.
  double live = 0;   ///< Allocated blocks, the allocator's words for them included.
};
memory_used memory_now() {
  ::malloc_trim(0);
  const auto heap = ::mallinfo2();
  return {own_memory(), static_cast<double>(heap.uordblks + heap.hblkhd)};
}

spawn_worker job_of(std::uint32_t number) {
  spawn_worker out;
  out.race = race_id{"run_20260101_000000_00000000"};
  out.spec.worker = make_worker_id(number);
  out.spec.number = number;
  out.spec.choice.provider = "openai";
  out.spec.choice.model = "gpt-5";
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const auto workers = argc == 2 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 0U;
  if (workers == 0) {
    std::fprintf(stderr, "usage: %s WORKERS\n", argv[0]);
    return 2;
  }
  caf::actor_system_config settings;
  settings.set("scheduler.max-threads", std::size_t{2});
  caf::actor_system system{settings};
  std::atomic<std::uint32_t> asked{0};
  const auto uplink = system.spawn(silent_uplink, &asked);
  caf::scoped_actor parent{system};
  spawn_worker with_texts;
  with_texts.stage.variants = {std::string(8'000, 'x')};
  const auto brief = brief_of(with_texts);
  const auto spawn_one = [&](std::uint32_t number) {
    worker_config config;
    config.order = order_of(job_of(number), brief);
    config.uplink = uplink;
    spawn_worker_under(*parent, std::move(config));
  };
  const auto wait_for = [&](std::uint32_t count) {
    for (int i = 0; i < 3'000 && asked < count; ++i) {
      std::this_thread::sleep_for(20ms);  // a bench waits beside actors that it must not load
    }
    std::this_thread::sleep_for(1s);  // what the last answers set off
  };
  // The first ones pay for threads and pools.
  for (std::uint32_t i = 1; i <= 100; ++i) {
    spawn_one(i);
  }
  wait_for(100);
  const auto before = memory_now();
  for (std::uint32_t i = 101; i <= 100 + workers; ++i) {
    spawn_one(i);
  }
  wait_for(100 + workers);
  const auto after = memory_now();
  std::printf("{\"workers\": %u, \"asked\": %u, \"bytes_per_worker\": %.0f, \"live_bytes_per_worker\": %.0f}\n", workers,
              asked.load() - 100, (after.pages - before.pages) / workers, (after.live - before.live) / workers);
  std::fflush(stdout);
  std::_Exit(0);
}
