// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/judge_probe.hpp"
#include "cli/log.hpp"
#include "cli/race_plan.hpp"
#include "cli/race_setup.hpp"
#include "cli/terminal_text.hpp"
#include "cli/text_file.hpp"
#include "cli/timing_codec.hpp"
#include "cli/verdict_codec.hpp"
#include "messages/digest.hpp"
#include "messages/error.hpp"
#include "messages/limits.hpp"
#include "node/judge_launcher.hpp"
#include "node/sandbox_launcher.hpp"

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace regatta::cli {

namespace {

/// Nobody is right who is right by a weak oracle, with or without a race: the problem is looked at first.
std::optional<judged_end> look_at_problem(const race_setup& setup, const std::shared_ptr<sandbox::runner>& runner, regatta::run& what) {
  const auto& config = setup.config;
  const judge_place place{config.gpus.empty() ? nullptr : &config.gpus.front(), config.python, config.host_environment, what.limits};
  auto probed = probe_problem(runner, place, {what.stage, true, what.judging}, what.problem);
  what.judging = terms_found(what.judging, probed);
  const bool can_judge = probed.judgement == judgement::correct || probed.judgement == judgement::weak_oracle;
  if (probed.run.outcome == outcome::exited && can_judge) {
    return std::nullopt;
  }
  return probed;
}

struct verified_end : judged_end {
  verified_end(judged_end x) : judged_end{std::move(x)} {}  // NOLINT(google-explicit-constructor): as it is
  std::string not_timed;  ///< Why not, if it was to be.
};

judged_end launch(judge_launcher& launcher, const regatta::run& what, const placement& where, signal_watch& signals) {
  auto answer = std::make_shared<std::promise<judged_end>>();
  auto told = answer->get_future();
  const auto handle = launcher.start(what, where, [answer](judged_end end) { answer->set_value(std::move(end)); });
  signals.on_first([&launcher, handle](int) { launcher.cancel(handle); });
  auto end = told.get();
  signals.on_first({});
  return end;
}

std::string why_not_timed(const judged_end& end) {
  const auto& run = end.run;
  return run.reason.empty() ? to_string(run.outcome) : run.reason;
}

/// One candidate without a race around it, in the same launcher that races use.
caf::expected<verified_end> judge_once(const race_setup& setup, regatta::run what, signal_watch& signals) {
  std::string error;
  const auto& config = setup.config;
  std::shared_ptr<sandbox::runner> runner = sandbox::runner::open(config.sandbox, config.host, error);
  if (!runner) {
    return fail(ec::sandbox_refused, error);
  }
  if (auto failed = look_at_problem(setup, runner, what)) {
    return std::move(*failed);
  }
  auto self_tests = std::make_shared<sandbox_launcher>(runner, config.python, config.host_environment);
  auto launcher = std::make_shared<judge_launcher>(std::move(self_tests), runner, config.python, config.host_environment);
  const auto* device = config.gpus.empty() ? nullptr : &config.gpus.front();
  verified_end end = launch(*launcher, what, {device}, signals);
  if (what.judging.wants_timing && end.judgement == judgement::correct) {
    what.is_timing = true;
    what.limits.wall = timing_wall;
    const auto timed = launch(*launcher, what, {device, true}, signals);
    end.timing = timed.timing;
    end.not_timed = timed.timing.empty() ? why_not_timed(timed) : "";
  }
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

std::string timing_text(const verified_end& end) {
  timing_row row;
  row.record = end.timing;
  row.reason = end.not_timed;
  std::string out;
  for (const auto& line : timing_lines(row)) {
    out += (out.empty() ? "  timing     " : "             ") + line + "\n";
  }
  return out;
}

/// The verdict with the timing in it, as the timing's own verdict has it.
std::string whole_record(const verified_end& end) {
  if (end.timing.empty() || end.record.empty()) {
    return end.record;
  }
  auto out = end.record;
  return out.substr(0, out.rfind('}')) + ",\"timing\":" + end.timing + "}";
}

std::string account_of(const verified_end& end) {
  const auto& run = end.run;
  const auto reason = clean_line(run.reason);
  auto out = (end.judgement == judgement::not_judged ? to_string(run.outcome) : to_string(end.judgement)) +
             (reason.empty() ? "" : ": " + reason) + "\n";
  if (end.judgement != judgement::correct) {
    out += without_repeats(clean_text(end.feedback), reason);
  }
  return out + verdict_text(end.record) + timing_text(end);
}

exit_code code_of_end(const judged_end& end) {
  if (end.run.outcome == outcome::cancelled) {
    return exit_code::cancelled;
  }
  if (end.judgement == judgement::weak_oracle) {
    return exit_code::weak_oracle;
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
  what.digest = digest_of_source(what.code);
  what.judging = terms_of(x.values);
  const auto end = judge_once(setup, std::move(what), signals);
  if (!end) {
    return complain(end.error(), to);
  }
  const bool has_record = x.values.flag("json") && !end->record.empty();
  to.out.write(has_record ? whole_record(*end) + "\n" : account_of(*end));
  return code_of_end(*end);
}

}  // namespace regatta::cli
