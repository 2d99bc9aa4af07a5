// SPDX-License-Identifier: Apache-2.0
// Part of bench/evaluation_bench.py and bench/gpu_bench.py: evaluates one candidate again and again as a node does, once
// for each line on stdin, and says what came of it in one JSON line.
//
//   evaluation_driver PYTHON PROBLEM CANDIDATE STAGE claimed|verified COUNT [cold] [gpu] [ready=N] [helpers=DIR]
//                     [parallel=K]
//
// With `parallel` one line starts COUNT evaluations, K of them at once, and there is one answer.
#include "node/gpu_inventory.hpp"
#include "node/gpu_seed.hpp"
#include "node/host_devices.hpp"
#include "node/judge_launcher.hpp"
#include "node/sandbox_launcher.hpp"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

using namespace regatta;

namespace {

struct options {
  bool is_cold = false;
  bool on_gpu = false;
  std::uint32_t ready = 0;
  std::uint32_t parallel = 0;
  std::string helpers;
};

options parse(int argc, char** argv) {
  options out;
  for (int i = 7; i < argc; ++i) {
    const std::string_view word{argv[i]};
    const auto value = std::string{word.substr(std::min(word.find('=') + 1, word.size()))};
    out.is_cold = out.is_cold || word == "cold";
    out.on_gpu = out.on_gpu || word == "gpu";
    out.ready = word.starts_with("ready=") ? static_cast<std::uint32_t>(std::atoi(value.c_str())) : out.ready;
    out.parallel = word.starts_with("parallel=") ? static_cast<std::uint32_t>(std::atoi(value.c_str())) : out.parallel;
    out.helpers = word.starts_with("helpers=") ? value : out.helpers;
  }
  return out;
}

std::string text_of(const char* path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> out;
  for (char** at = ::environ; *at != nullptr; ++at) {
    const std::string_view entry{*at};
    out.emplace(entry.substr(0, entry.find('=')), entry.substr(std::min(entry.find('=') + 1, entry.size())));
  }
  return out;
}

void complain(const judged_end& end) {
  if ((!end.run.why_cold.empty() && end.run.why_cold != "switched off") || end.run.outcome != outcome::exited ||
      end.judgement == judgement::raised) {
    std::fprintf(stderr, "%s | %s | %s | %s\n", end.run.why_cold.c_str(), end.run.reason.c_str(), end.feedback.c_str(),
                 end.run.stderr_kept.c_str());
  }
}

using milliseconds = std::chrono::duration<double, std::milli>;

void evaluate(candidate_launcher& launcher, const regatta::run& what, const placement& where) {
  const auto began = std::chrono::steady_clock::now();
  std::promise<judged_end> answer;
  launcher.start(what, where, [&](judged_end end) { answer.set_value(std::move(end)); });
  const auto end = answer.get_future().get();
  const milliseconds took = std::chrono::steady_clock::now() - began;
  std::printf("{\"ms\":%.2f,\"launch_ms\":%.2f,\"cpu_ms\":%.2f,\"is_warm\":%s,\"was_ready\":%s,\"outcome\":\"%s\","
              "\"judgement\":\"%s\",\"claim\":\"%s\"}\n",
              took.count(), static_cast<double>(end.run.launch.count()) / 1e3,
              static_cast<double>(end.run.cpu_time.count()) / 1e3, end.run.is_warm ? "true" : "false",
              end.run.was_ready ? "true" : "false", to_string(end.run.outcome).c_str(),
              to_string(end.judgement).c_str(), to_string(end.run.claim).c_str());
  std::fflush(stdout);
  complain(end);
}

/// A closed loop: as soon as one has ended the next one starts.
void evaluate_many(candidate_launcher& launcher, const regatta::run& what, const placement& where, int count,
                   std::uint32_t parallel) {
  // The zygote comes up, and then those that wait for runs.
  std::promise<judged_end> first;
  launcher.start(what, where, [&](judged_end end) { first.set_value(std::move(end)); });
  complain(first.get_future().get());
  std::this_thread::sleep_for(std::chrono::seconds{3});  // nobody tells when those that wait are up
  std::mutex mutex;
  std::condition_variable ended;
  std::uint32_t running = 0;
  int right = 0;
  double sum = 0, cpu = 0;
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    std::unique_lock lock{mutex};
    ended.wait(lock, [&] { return running < parallel; });
    ++running;
    lock.unlock();
    const auto started = std::chrono::steady_clock::now();
    launcher.start(what, where, [&, started](judged_end end) {
      complain(end);
      const std::lock_guard guard{mutex};
      --running;
      sum += milliseconds{std::chrono::steady_clock::now() - started}.count();
      cpu += static_cast<double>(end.run.cpu_time.count()) / 1e3;
      right += end.judgement == judgement::correct || end.run.claim != claim::none ? 1 : 0;
      ended.notify_one();
    });
  }
  std::unique_lock lock{mutex};
  ended.wait(lock, [&] { return running == 0; });
  const milliseconds took = std::chrono::steady_clock::now() - began;
  std::printf("{\"count\":%d,\"right\":%d,\"per_second\":%.3f,\"mean_ms\":%.1f,\"cpu_ms\":%.1f}\n", count, right,
              count / (took.count() / 1e3), sum / count, cpu / count);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) {
    std::fprintf(stderr, "evaluation_driver PYTHON PROBLEM CANDIDATE STAGE claimed|verified COUNT [options]\n");
    return 2;
  }
  const auto chosen = parse(argc, argv);
  std::string error;
  const auto python = sandbox::inspect_interpreter(argv[1], {}, error);
  sandbox::runner_config config;
  config.allow_warm = !chosen.is_cold;
  std::shared_ptr<sandbox::runner> runner = sandbox::runner::open(config, sandbox::probe(), error);
  if (!python || !runner) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  const auto environment = chosen.on_gpu ? own_environment() : std::map<std::string, std::string>{};
  auto gpus = chosen.on_gpu ? find_gpus(host_devices{}, {}).gpus : std::vector<gpu>{};
  if (chosen.on_gpu && gpus.empty()) {
    std::fprintf(stderr, "no usable GPU\n");
    return 1;
  }
  placement where;
  if (!gpus.empty()) {
    gpus.front().kernel_helpers = chosen.helpers;
    gpus.front().ready = chosen.ready;
    where.device = &gpus.front();
    seed_kernel_helpers(*runner, gpus.front(), *python, environment);
    for (int i = 0; i < 1'800 && !chosen.helpers.empty() && !has_kernel_helpers(chosen.helpers); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds{100});  // a run of its own, which tells nobody of its end
    }
  }
  const auto tests = std::make_shared<sandbox_launcher>(runner, *python, environment);
  judge_launcher launcher{tests, runner, *python, environment};
  regatta::run what;
  what.problem = text_of(argv[2]);
  what.code = text_of(argv[3]);
  what.stage = argv[4];
  what.accept = std::string{argv[5]} == "verified" ? accept_rule::verified : accept_rule::claimed;
  const int count = std::atoi(argv[6]);
  for (int left = count; left > 0 && std::getchar() == '\n'; --left) {
    if (chosen.parallel > 0) {
      evaluate_many(launcher, what, where, count, chosen.parallel);
    } else {
      evaluate(launcher, what, where);
    }
  }
  return 0;
}
