// SPDX-License-Identifier: Apache-2.0
/// \file
/// A sandbox for tests: records what was started, ends when told to.
#pragma once

#include "node/candidate_launcher.hpp"
#include "node/evaluator.hpp"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace regatta::test {

class scripted_launcher final : public candidate_launcher {
public:
  handle start(const run& what, const placement& where, std::function<void(judged_end)> done) override {
    const auto number = static_cast<handle>(started.size() + 1);
    started.push_back({what, where.device == nullptr ? "" : where.device->uuid, where.is_alone});
    running_[number] = std::move(done);
    return number;
  }
  void cancel(handle run) override { killed.push_back(run); }

  void end(handle run, outcome how, claim said = claim::none, std::string words = {}) {
    auto node = running_.extract(run);
    sandbox::run_result result;
    result.stderr_kept = std::move(words);
    result.outcome = how;
    result.claim = said;
    if (!node.empty()) {
      node.mapped()(std::move(result));
    }
  }
  std::size_t running() const { return running_.size(); }

  struct start_record {
    run what;
    std::string gpu_uuid;
    bool is_alone = false;
  };
  std::vector<start_record> started;
  std::vector<handle> killed;

private:
  std::map<handle, std::function<void(judged_end)>> running_;
};

}  // namespace regatta::test
