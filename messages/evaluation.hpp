// SPDX-License-Identifier: Apache-2.0
/// \file
/// Protocol between a worker and the EVALUATOR and SOURCE CHECKER of its node, and the record of an evaluation.
#pragma once

#include "messages/fields.hpp"
#include "messages/ids.hpp"
#include "messages/limits.hpp"
#include "messages/outcome.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace regatta {

/// What a run needs to be placed.
enum class device_need : std::uint8_t {
  any,  ///< A GPU if the node has one, else a CPU slot.
  gpu,
  cpu,
};

/// worker -> evaluator: run this candidate. Answered at once by `accepted` or an error; then `run_progress` while
/// it is queued or runs, and one `run_ended`. Limits start when the slot is given.
struct run {
  race_id race;
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  std::string code;        ///< The candidate, canonical form.
  source_digest digest;
  std::string problem;     ///< The problem file's text; readable in the run as `problem.py`.
  device_need device = device_need::any;
  run_limits limits;
  std::vector<std::string> keep;  ///< Names in the run's folder to copy out afterwards.
  /// Whether its self-test is run, the judge, or first the one and then the other.
  accept_rule accept = accept_rule::claimed;
  std::string stage;  ///< Names the judge's contract: `kernel`, `extract` …
  judge_terms judging;
  /// The candidate is right: it is timed and not judged, under an exclusive lease of its device.
  bool is_timing = false;
  REGATTA_MESSAGE(run, race, worker, round, attempt, code, digest, problem, device, limits, keep, accept, stage, judging,
                  is_timing);
};

/// evaluator -> worker: sign of life at least every `progress_interval`.
struct run_progress {
  race_id race;
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  bool has_started = false;  ///< False: in the queue.
  std::uint32_t ahead = 0;   ///< Runs before it in the queue, roughly.
  std::string slot;          ///< `cpu-3`, `gpu-0`; empty while queued.
  REGATTA_MESSAGE(run_progress, race, worker, round, attempt, has_started, ahead, slot);
};

struct kept_file {
  std::string name;
  std::string content;  ///< Empty with a `problem`.
  std::string problem;  ///< Why it was not copied: absent, not a regular file, over the limit …
  REGATTA_FIELDS(name, content, problem);
};

/// One evaluation, whole. `evaluated_by` says where and how, so that a record can be judged years later.
struct evaluation {
  regatta::outcome outcome = outcome::sandbox_failed;
  regatta::claim claim = claim::none;
  regatta::judgement judgement = judgement::not_judged;
  std::int32_t exit_code = -1;   ///< -1 if it did not exit.
  std::int32_t signal = 0;       ///< 0 if no signal ended it.
  std::string reason;            ///< One line for people and models: "timed out after 180 s", "exit status 1".
  std::string stdout_text;       ///< UTF-8 with replacement; head and tail, the gap marked.
  std::string stderr_text;
  std::uint64_t stdout_bytes = 0;  ///< As written by the candidate.
  std::uint64_t stderr_bytes = 0;
  std::int64_t started_us = 0;     ///< UTC µs.
  std::chrono::microseconds queued{};
  std::chrono::microseconds elapsed{};  ///< Slot given → tree gone.
  std::chrono::microseconds killed_in{};  ///< Kill order → tree gone; 0 if it ended by itself.
  std::chrono::microseconds cpu_time{};   ///< Of the tree.
  std::uint64_t peak_memory = 0;          ///< Bytes; cgroup peak where there is one, else max RSS of one process.
  std::string node;
  std::string slot;
  std::string gpu_uuid;          ///< Empty on a CPU slot.
  std::string engine;            ///< `cpu`, `triton-interpreter`, `cuda-sm_90`.
  std::string sandbox_level;     ///< `L4` … `L0`.
  std::string sandbox_engine;    ///< `own`.
  bool is_warm = false;
  std::string python;            ///< Path of the interpreter.
  std::vector<kept_file> kept;
  std::string feedback;       ///< The judge's words for the model; empty if there are none.
  std::string judge_record;   ///< The judge's whole verdict, one JSON object (docs/judge.md); empty if not judged.
  std::string timing_record;  ///< What timing it found, one JSON object (docs/judge.md); empty if not timed.
  REGATTA_FIELDS(outcome, claim, judgement, exit_code, signal, reason, stdout_text, stderr_text, stdout_bytes,
                 stderr_bytes, started_us, queued, elapsed, killed_in, cpu_time, peak_memory, node, slot, gpu_uuid,
                 engine, sandbox_level, sandbox_engine, is_warm, python, kept, feedback, judge_record,
                 timing_record);
};
inline verdict verdict_of(const evaluation& x) { return {x.outcome, x.claim, x.judgement}; }

/// evaluator -> worker: the one end of a `run`.
struct run_ended {
  race_id race;
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  evaluation result;
  REGATTA_MESSAGE(run_ended, race, worker, round, attempt, result);
};

/// node agent -> evaluator: kill every run of this race (or of one worker, if named), queued or running. Answered by
/// `runs_signalled` as soon as every tree has been sent its signal; their `run_ended` follow as the kernel reports
/// them gone.
struct cancel_runs {
  race_id race;
  worker_id worker;  ///< Empty: all of them. Named when its worker crashed: a candidate must not outlive it.
  REGATTA_MESSAGE(cancel_runs, race, worker);
};

struct runs_signalled {
  race_id race;
  std::uint32_t running = 0;
  std::uint32_t queued = 0;
  REGATTA_MESSAGE(runs_signalled, race, running, queued);
};

/// worker -> source checker: does one of these texts parse as the candidate's interpreter reads it?
/// Answered by `source_report`, or an error if the helper cannot be had (`ec::sandbox_refused`, `ec::io_failed`).
struct check_source {
  race_id race;
  std::vector<std::string> texts;  ///< At most 64.
  REGATTA_MESSAGE(check_source, race, texts);
};

struct source_facts {
  bool parses = false;
  std::string error;                    ///< "line 3: invalid syntax"; empty if it parses.
  std::vector<std::string> definitions;  ///< Top-level names of functions and classes.
  bool has_main = false;                 ///< A top-level `if __name__ == "__main__":`.
  REGATTA_FIELDS(parses, error, definitions, has_main);
};

struct source_report {
  std::vector<source_facts> facts;  ///< One for each text, in order.
  REGATTA_MESSAGE(source_report, facts);
};

}  // namespace regatta

REGATTA_ENUM_NAMES(regatta::device_need, 3, {regatta::device_need::any, "any"}, {regatta::device_need::gpu, "gpu"},
                   {regatta::device_need::cpu, "cpu"});
