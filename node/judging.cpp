// SPDX-License-Identifier: Apache-2.0
#include "node/judging.hpp"

#include "node/clean_text.hpp"

#include <algorithm>
#include <utility>

namespace regatta {

namespace {

/// What is shown of a side's last words in a reason.
constexpr std::size_t shown_words = 300;

std::string last_line(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \r\n") + 1);
  text = text.substr(text.find_last_of('\n') + 1);
  return clean_text(text.substr(0, shown_words));
}

std::string with_last_line(const sandbox::run_result& x) {
  const auto line = last_line(x.stderr_kept);
  return x.reason + (line.empty() ? "" : ": " + line);
}

/// Ours to mend, or nobody's: the evaluation is repeated and does not count against the candidate.
judged_end failed(const sandbox::run_result& base, std::string reason) {
  judged_end out{base};
  out.run.outcome = outcome::sandbox_failed;
  out.run.reason = std::move(reason);
  return out;
}

std::optional<judge_verdict> verdict_in(const sandbox::run_result& comparator) {
  if (comparator.outcome != outcome::exited) {
    return std::nullopt;
  }
  const auto file = std::ranges::find(comparator.kept, judge_verdict_file, &sandbox::kept_artifact::name);
  return file == comparator.kept.end() ? std::nullopt : parse_judge_verdict(file->content);
}

/// The comparator waited for a side that is gone, or gave up on it.
judged_end end_without_answer(const judge_verdict& verdict, const sandbox::run_result& reference,
                              const sandbox::run_result& base) {
  judged_end out{base};
  out.record = verdict.record;
  if (verdict.end == judge_end::reference_gone) {
    if (reference.outcome == outcome::sandbox_failed) {
      return failed(base, "reference side: " + reference.reason);
    }
    out.run.outcome = outcome::exited;
    out.judgement = reference.outcome == outcome::out_of_memory ? judgement::too_large : judgement::problem_failed;
    out.run.reason = "the problem itself ended without an answer: " + with_last_line(reference);
    return out;
  }
  if (verdict.end == judge_end::candidate_gone && base.outcome == outcome::cancelled) {
    // Its channel was closed before its process was gone, and we ended it before its end could be seen.
    out.run.outcome = outcome::exited;
    out.judgement = judgement::raised;
    out.run.reason = "it ended, or closed its channel, before it had answered the judge";
    out.feedback = out.run.reason + ". Do not exit, exec, or close descriptors; mind the memory limit.";
  } else if (verdict.end == judge_end::timed_out || base.outcome == outcome::cancelled) {
    // We ended it, as it had not answered.
    out.run.outcome = outcome::timed_out;
    out.run.reason = verdict.reason;
  } else if (base.outcome == outcome::exited) {
    out.judgement = judgement::raised;
    out.run.reason = "it ended by itself before it had answered the judge";
    out.feedback = out.run.reason + " (exit code 0). Do not call exit functions.";
  }
  return out;
}

}  // namespace

judged_end judge_ends(const sandbox::run_result& comparator, const sandbox::run_result& reference,
                      const sandbox::run_result* candidate) {
  const auto& base = candidate == nullptr ? reference : *candidate;
  if (base.outcome == outcome::sandbox_failed) {
    return failed(base, base.reason);
  }
  const auto verdict = verdict_in(comparator);
  if (!verdict) {
    if (comparator.outcome == outcome::cancelled) {
      judged_end out{base};
      out.run.outcome = outcome::cancelled;
      out.run.reason = comparator.reason;
      return out;
    }
    if (comparator.outcome != outcome::timed_out) {
      return failed(base, "the judge failed: " + with_last_line(comparator));
    }
  }
  const auto late = judge_verdict{judge_end::timed_out, judgement::not_judged, "no answer within the wall limit", {}, {}};
  const auto& found = verdict ? *verdict : late;
  if (found.end != judge_end::judged) {
    return end_without_answer(found, reference, base);
  }
  judged_end out{base};
  // How the side ended after its answers says nothing: it was ours to end.
  out.run.outcome = outcome::exited;
  out.run.exit_code = 0;
  out.run.signal = 0;
  out.run.killed_in = {};
  out.run.elapsed = std::max(comparator.elapsed, base.elapsed);
  out.run.reason = found.reason;
  out.judgement = found.judgement;
  out.feedback = found.feedback;
  out.record = found.record;
  return out;
}

void judging::start(judge_specs specs, bool is_probe, callback done) {
  const std::lock_guard lock{mutex_};
  done_ = std::move(done);
  is_probe_ = is_probe;
  open_ = is_probe ? 2 : 3;
  launch(reference, std::move(specs.reference));
  if (!is_probe) {
    launch(candidate, std::move(specs.candidate));
  }
  launch(comparator, std::move(specs.comparator));
}

void judging::launch(part which, sandbox::run_spec spec) {
  handles_[which] = runner_.start(std::move(spec), [self = shared_from_this(), which](sandbox::run_result result) {
    self->on_end(which, std::move(result));
  });
}

void judging::cancel() {
  const std::lock_guard lock{mutex_};
  for (const auto which : {candidate, reference, comparator}) {
    if (handles_[which] != 0 && !results_[which]) {
      runner_.cancel(handles_[which]);
    }
  }
}

void judging::on_end(part which, sandbox::run_result result) {
  std::unique_lock lock{mutex_};
  const bool is_decided = which == comparator || result.outcome == outcome::sandbox_failed;
  results_[which] = std::move(result);
  --open_;
  if (open_ > 0) {
    // The verdict is in: whoever lingers has nothing to say any more.
    for (const auto other : {candidate, reference, comparator}) {
      if (is_decided && handles_[other] != 0 && !results_[other]) {
        runner_.cancel(handles_[other]);
      }
    }
    return;
  }
  auto end = judge_ends(*results_[comparator], *results_[reference], is_probe_ ? nullptr : &*results_[candidate]);
  for (const auto& each : results_) {
    end.whole_cpu += each ? each->cpu_time : std::chrono::microseconds{};
  }
  const auto done = std::move(done_);
  lock.unlock();
  done(std::move(end));
}

}  // namespace regatta
