// SPDX-License-Identifier: Apache-2.0
// judge_queue PYTHON: judgings one after the other in one node's sandbox, with its warm interpreters; for tests that
// need the whole judge and not its races. A line of JSON in, a line of JSON out, until end of file:
//   {"candidate": text, "problem": text, "stage": "kernel"} or {"problem": text, "stage": …, "probe": true};
//   also "policy_off": [rules], "needs_affine", "is_eval", "is_weak", "allow_weak", "tightened": [names], "trials",
//   "architectures": ["sm_90"], "wall_s" (60)
// Exit code 3 if this host has no sandbox or no such interpreter; stderr says why.
#include "node/judge_launcher.hpp"
#include "node/judge_specs.hpp"
#include "node/judging.hpp"
#include "node/sandbox_launcher.hpp"
#include "sandbox/probe.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace {

using namespace regatta;
using json = nlohmann::json;

constexpr int exit_no_sandbox = 3;

class house {
public:
  /// Text of what is missing, or empty.
  std::string open(const std::string& executable) {
    std::string error;
    runner_ = sandbox::runner::open({}, sandbox::probe(), error);
    if (!runner_) {
      return error;
    }
    const auto found = sandbox::inspect_interpreter(executable, {}, error);
    if (!found) {
      return error;
    }
    python_ = *found;
    auto self_tests = std::make_shared<sandbox_launcher>(runner_, python_, environment_);
    launcher_ = std::make_unique<judge_launcher>(std::move(self_tests), runner_, python_, environment_);
    return "";
  }

  judged_end judged(const json& line) {
    auto answer = std::make_shared<std::promise<judged_end>>();
    auto told = answer->get_future();
    const auto done = [answer](judged_end end) { answer->set_value(std::move(end)); };
    if (line.value("probe", false)) {
      judge_question question;
      question.stage = line.at("stage").get<std::string>();
      question.is_probe = true;
      question.terms = terms_of(line);
      auto specs = make_judge_specs(find_judge_kit(), {nullptr, python_, environment_, limits_of(line)}, question,
                                    line.at("problem").get<std::string>(), {});
      std::make_shared<judging>(*runner_)->start(std::move(specs), true, done);
    } else {
      run what;
      what.code = line.at("candidate").get<std::string>();
      what.problem = line.at("problem").get<std::string>();
      what.stage = line.at("stage").get<std::string>();
      what.accept = accept_rule::verified;
      what.limits = limits_of(line);
      what.judging = terms_of(line);
      launcher_->start(what, {}, done);  // No device: a CPU slot.
    }
    return told.get();
  }

private:
  static run_limits limits_of(const json& line) {
    run_limits out;
    out.wall = std::chrono::seconds{line.value("wall_s", 60)};
    return out;
  }
  static judge_terms terms_of(const json& line) {
    judge_terms out;
    out.is_eval = line.value("is_eval", false);
    out.needs_affine = line.value("needs_affine", false);
    out.trials = line.value("trials", out.trials);
    out.tightened = line.value("tightened", out.tightened);
    out.is_weak = line.value("is_weak", false);
    out.allow_weak = line.value("allow_weak", false);
    out.architectures = line.value("architectures", out.architectures);
    out.policy_off = line.value("policy_off", std::vector<std::string>{});
    return out;
  }

  std::shared_ptr<sandbox::runner> runner_;
  sandbox::interpreter python_;
  const std::map<std::string, std::string> environment_{{"PATH", "/usr/bin:/bin"}};
  std::unique_ptr<judge_launcher> launcher_;
};

/// A comparator's record is JSON already; absent where there is none.
json record_of(const std::string& text) {
  auto parsed = json::parse(text, nullptr, false);
  return parsed.is_discarded() ? json() : parsed;
}

json told(const judged_end& end) {
  const auto& run = end.run;
  return {{"judgement", to_string(end.judgement)}, {"outcome", to_string(run.outcome)}, {"reason", run.reason},
          {"feedback", end.feedback}, {"record", record_of(end.record)}, {"level", static_cast<int>(run.level)},
          {"is_warm", run.is_warm}, {"why_cold", run.why_cold}, {"left_behind", run.left_behind},
          {"ms", std::chrono::duration<double, std::milli>{run.elapsed}.count()}, {"stdout", run.stdout_kept},
          {"stderr", run.stderr_kept}};
}

int serve(house& at) {
  for (std::string line; std::getline(std::cin, line);) {
    const auto end = at.judged(json::parse(line));
    std::cout << told(end).dump(-1, ' ', true, json::error_handler_t::replace) << std::endl;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: judge_queue PYTHON\n", stderr);
    return 2;
  }
  try {
    house here;
    if (const auto missing = here.open(argv[1]); !missing.empty()) {
      std::fprintf(stderr, "%s\n", missing.c_str());
      return exit_no_sandbox;
    }
    return serve(here);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "judge_queue: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
