// SPDX-License-Identifier: Apache-2.0
#include "cli/judge_probe.hpp"

#include "messages/error.hpp"
#include "node/judge_codec.hpp"

#include <future>
#include <utility>

namespace regatta::cli {

judged_end probe_problem(const std::shared_ptr<sandbox::runner>& runner, const judge_place& place,
                         const judge_question& question, const std::string& problem) {
  const auto kit = find_judge_kit();
  auto specs = kit.problem.empty() ? make_judge_specs(kit, place, question, problem, {})
                                   : judge_specs{{}, {}, {}, "no judge: " + kit.problem};
  if (!specs.failure.empty()) {
    judged_end failed;
    failed.run.reason = specs.failure;
    return failed;
  }
  auto answer = std::make_shared<std::promise<judged_end>>();
  auto told = answer->get_future();
  std::make_shared<judging>(*runner)->start(std::move(specs), true,
                                           [answer](judged_end end) { answer->set_value(std::move(end)); });
  return told.get();
}

judge_terms terms_found(judge_terms asked, const judged_end& probed) {
  auto found = findings_of(probed.record);
  asked.needs_affine = found.needs_affine;
  asked.tightened = std::move(found.tightened);
  asked.question_bytes = found.question_bytes;
  asked.is_weak = probed.judgement == judgement::weak_oracle;
  return asked;
}

std::string weak_text(const judged_end& probed, const std::string& path) {
  return path + ": " + probed.run.reason;
}

caf::error why_not_judgeable(const judged_end& probed, const std::string& path, bool refuses_weak) {
  const auto& run = probed.run;
  if (run.outcome == outcome::sandbox_failed) {
    return fail(ec::sandbox_refused, "the judge could not look at " + path + ": " + run.reason);
  }
  if (run.outcome == outcome::exited && probed.judgement == judgement::correct) {
    return {};
  }
  if (probed.judgement == judgement::weak_oracle) {
    return refuses_weak ? fail(ec::weak_oracle, weak_text(probed, path) + "; allowed: --allow-weak (winners are marked), no "
                                                                          "--refuse-weak (the best is kept as unproven), --accept claimed")
                        : caf::error{};
  }
  if (probed.judgement == judgement::too_large) {
    return fail(ec::invalid_config, path + ": too_large: " + run.reason +
                                        "; allowed: --limit-memory with more than twice what the problem takes, where this "
                                        "host (and its GPU) has four times as much, or smaller inputs");
  }
  const auto kind = probed.judgement == judgement::not_judged ? to_string(run.outcome) : to_string(probed.judgement);
  return fail(ec::invalid_config,
              path + ": " + kind + ": " + run.reason + "; allowed: a problem that can be judged (--accept claimed "
                                                       "races it by the candidates' own word)");
}

}  // namespace regatta::cli
