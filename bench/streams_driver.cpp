// SPDX-License-Identifier: Apache-2.0
// Part of bench/streams_bench.py: a gateway holds N streams of one server; says on stdout what they cost it.
#include "actors/llm/llm_gateway.hpp"
#include "bench/own_memory.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

using namespace regatta;
using namespace std::chrono_literals;

namespace {

struct counts {
  std::atomic<std::uint64_t> deltas{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> begun{0};
  std::atomic<std::uint64_t> ended{0};
};

prompt_sink_actor::behavior_type listener(prompt_sink_actor::pointer, counts* to) {
  return {
      [=](const prompt_progress& x) { to->begun += x.phase == prompt_phase::streaming && x.text_bytes < 64 ? 1 : 0; },
      [=](const prompt_delta& x) {
        ++to->deltas;
        to->bytes += x.text.size();
      },
      [=](const prompt_ended& x) {
        ++to->ended;
        std::fprintf(stderr, "ended: %s %s\n", to_string(x.outcome).c_str(), x.error.c_str());
      },
  };
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& x) {
    return static_cast<double>(x.tv_sec) + 1e-6 * static_cast<double>(x.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

bool wait_for(const std::function<bool()>& is_there) {
  for (int i = 0; i < 6'000 && !is_there(); ++i) {
    std::this_thread::sleep_for(20ms);  // a bench waits beside actors that it must not load
  }
  return is_there();
}

prompt question(std::uint32_t number, std::size_t prompt_bytes) {
  prompt x;
  x.race = race_id{"bench"};
  x.worker = make_worker_id(number);
  x.round = 1;
  x.attempt = 1;
  x.choice = {"p", "m", {}, {}, 0, ""};
  x.user = std::string(prompt_bytes, 'x');
  return x;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: %s URL STREAMS PROMPT_BYTES SECONDS CA_FILE\n", argv[0]);
    return 2;
  }
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const auto streams = static_cast<std::uint32_t>(std::atoi(argv[2]));
  const auto prompt_bytes = static_cast<std::size_t>(std::atoi(argv[3]));
  counts seen;
  caf::actor_system_config settings;
  settings.set("scheduler.max-threads", std::size_t{2});
  caf::actor_system system{settings};
  auto sink = system.spawn(listener, &seen);
  llm_gateway_config config;
  provider_config provider;
  provider.name = "p";
  provider.kind = provider_kind::chat;
  provider.base_url = argv[1];
  provider.ca_file = argv[5];
  provider.concurrency = streams + 1;
  config.providers = {provider};
  config.sink = sink;
  auto gateway = spawn_llm_gateway(system, std::move(config));
  caf::scoped_actor self{system};
  const auto ask = [&](std::uint32_t number) {
    self->request(gateway, 60s, question(number, prompt_bytes))
        .receive([](const accepted&) {}, [](const caf::error&) {});
  };
  // The first stream pays for threads, libraries and pools.
  ask(streams + 1);
  wait_for([&] { return seen.deltas > 0; });
  const auto before = own_memory();
  for (std::uint32_t i = 1; i <= streams; ++i) {
    ask(i);
  }
  const bool is_whole = wait_for([&] { return seen.begun >= streams; });
  std::this_thread::sleep_for(2s);  // until the ramp-up has died down
  const auto cpu_before = cpu_seconds();
  const auto deltas_before = seen.deltas.load();
  std::this_thread::sleep_for(std::chrono::seconds{std::atoi(argv[4])});  // what is measured
  const auto cpu = cpu_seconds() - cpu_before;
  const auto deltas = seen.deltas - deltas_before;
  std::printf(
      "{\"streams\": %u, \"begun\": %llu, \"ended\": %llu, \"whole\": %s, \"bytes_per_stream\": %.0f, "
      "\"deltas\": %llu, \"cpu_s\": %.3f, \"cpu_us_per_delta\": %.1f}\n",
      streams, static_cast<unsigned long long>(seen.begun.load()), static_cast<unsigned long long>(seen.ended.load()),
      is_whole ? "true" : "false", (own_memory() - before) / streams, static_cast<unsigned long long>(deltas), cpu,
      deltas == 0 ? 0.0 : cpu * 1e6 / static_cast<double>(deltas));
  std::fflush(stdout);
  std::_Exit(is_whole ? 0 : 1);
}
