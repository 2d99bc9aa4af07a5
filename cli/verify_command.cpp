// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/log.hpp"
#include "cli/race_plan.hpp"
#include "cli/race_setup.hpp"
#include "cli/terminal_text.hpp"
#include "cli/text_file.hpp"
#include "cli/verdict_codec.hpp"
#include "messages/error.hpp"
#include "messages/limits.hpp"
#include "node/judge_launcher.hpp"
#include "node/sandbox_launcher.hpp"

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace regatta::cli {

namespace {

/// One candidate without a race around it, in the same launcher that races use.
caf::expected<judged_end> judge_once(const race_setup& setup, regatta::run what, signal_watch& signals) {
  std::string error;
  const auto& config = setup.config;
  std::shared_ptr<sandbox::runner> runner = sandbox::runner::open(config.sandbox, config.host, error);
  if (!runner) {
    return fail(ec::sandbox_refused, error);
  }
  auto self_tests = std::make_shared<sandbox_launcher>(runner, config.python, config.host_environment);
  auto launcher = std::make_shared<judge_launcher>(std::move(self_tests), runner, config.python, config.host_environment);
  auto answer = std::make_shared<std::promise<judged_end>>();
  auto told = answer->get_future();
  const auto* device = config.gpus.empty() ? nullptr : &config.gpus.front();
  const auto handle = launcher->start(what, {device}, [answer](judged_end end) { answer->set_value(std::move(end)); });
  signals.on_first([&launcher, handle](int) { launcher->cancel(handle); });
  auto end = told.get();
  signals.on_first({});
  return end;
}

/// The feedback's own first lines often are the reason.
std::string without_repeats(std::string_view text, std::string_view reason) {
  std::string out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    out += line == reason ? "" : std::string{line} + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string account_of(const judged_end& end) {
  const auto& run = end.run;
  const auto reason = clean_line(run.reason);
  auto out = (end.judgement == judgement::not_judged ? to_string(run.outcome) : to_string(end.judgement)) +
             (reason.empty() ? "" : ": " + reason) + "\n";
  if (end.judgement != judgement::correct) {
    out += without_repeats(clean_text(end.feedback), reason);
  }
  return out + verdict_text(end.record);
}

exit_code code_of_end(const judged_end& end) {
  if (end.run.outcome == outcome::cancelled) {
    return exit_code::cancelled;
  }
  if (end.run.outcome == outcome::sandbox_failed || is_of_the_problem(end.judgement)) {
    return exit_code::failed;
  }
  return end.judgement == judgement::correct ? exit_code::won : exit_code::no_passing_solution;
}

}  // namespace

exit_code run_verify(const session& x, signal_watch& signals, streams to) {
  const auto candidate = read_text_file(x.line.candidate, candidate_bytes);
  if (!candidate) {
    return complain(candidate.error(), to);
  }
  const auto problem = read_problem(x.line.problem);
  if (!problem) {
    return complain(problem.error(), to);
  }
  race_setup setup;
  if (auto failed = prepare_host(x, setup)) {
    return complain(failed, to);
  }
  for (const auto& text : setup.warnings) {
    log_warning(clean_line(text));
  }
  log_info("candidate and problem run under " + setup.python_text);
  for (auto& each : setup.config.gpus) {
    each.ready = 0;  // nothing comes after this
  }
  regatta::run what;
  what.code = *candidate;
  what.problem = problem->text;
  what.limits = limits_of(x.values);
  what.stage = x.values.text("stage");
  what.accept = accept_rule::verified;
  what.judging = terms_of(x.values);
  const auto end = judge_once(setup, std::move(what), signals);
  if (!end) {
    return complain(end.error(), to);
  }
  const bool has_record = x.values.flag("json") && !end->record.empty();
  to.out.write(has_record ? end->record + "\n" : account_of(*end));
  return code_of_end(*end);
}

}  // namespace regatta::cli
