// SPDX-License-Identifier: Apache-2.0
// Part of bench/evaluation_bench.py: evaluates one candidate again and again as a node does, once for each line on
// stdin, and says what came of it in one JSON line.
//
//   evaluation_driver PYTHON PROBLEM CANDIDATE STAGE claimed|verified COUNT [cold]
#include "node/judge_launcher.hpp"
#include "node/sandbox_launcher.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <string>

using namespace regatta;

namespace {

std::string text_of(const char* path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

void evaluate(candidate_launcher& launcher, const regatta::run& what) {
  const auto began = std::chrono::steady_clock::now();
  std::promise<judged_end> answer;
  launcher.start(what, {}, [&](judged_end end) { answer.set_value(std::move(end)); });
  const auto end = answer.get_future().get();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  std::printf("{\"ms\":%.2f,\"launch_ms\":%.2f,\"cpu_ms\":%.2f,\"is_warm\":%s,\"outcome\":\"%s\",\"judgement\":\"%s\",\"claim\":\"%s\"}\n",
              took.count(), static_cast<double>(end.run.launch.count()) / 1e3,
              static_cast<double>(end.run.cpu_time.count()) / 1e3, end.run.is_warm ? "true" : "false",
              to_string(end.run.outcome).c_str(), to_string(end.judgement).c_str(), to_string(end.run.claim).c_str());
  std::fflush(stdout);
  if ((!end.run.why_cold.empty() && end.run.why_cold != "switched off") || end.run.outcome != outcome::exited) {
    std::fprintf(stderr, "%s %s %s\n", end.run.why_cold.c_str(), end.run.reason.c_str(), end.feedback.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) {
    std::fprintf(stderr, "evaluation_driver PYTHON PROBLEM CANDIDATE STAGE claimed|verified COUNT [cold]\n");
    return 2;
  }
  std::string error;
  const auto python = sandbox::inspect_interpreter(argv[1], {}, error);
  sandbox::runner_config config;
  config.allow_warm = argc < 8;
  std::shared_ptr<sandbox::runner> runner = sandbox::runner::open(config, sandbox::probe(), error);
  if (!python || !runner) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  const auto tests = std::make_shared<sandbox_launcher>(runner, *python, std::map<std::string, std::string>{});
  judge_launcher launcher{tests, runner, *python, {}};
  regatta::run what;
  what.problem = text_of(argv[2]);
  what.code = text_of(argv[3]);
  what.stage = argv[4];
  what.accept = std::string{argv[5]} == "verified" ? accept_rule::verified : accept_rule::claimed;
  for (int left = std::atoi(argv[6]); left > 0 && std::getchar() == '\n'; --left) {
    evaluate(launcher, what);
  }
  return 0;
}
