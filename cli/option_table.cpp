// SPDX-License-Identifier: Apache-2.0
#include "cli/options.hpp"
#include "messages/limits.hpp"

#include <array>

namespace regatta::cli {

namespace {

constexpr double kib = 1024;
constexpr double mib = 1024 * kib;
constexpr double gib = 1024 * mib;

constexpr value_rule text_rule{};
constexpr value_rule flag_rule{value_kind::flag};
constexpr value_rule integers(double min, double max) {
  return {value_kind::integer, min, max};
}
constexpr value_rule numbers(double min, double max) {
  return {value_kind::number, min, max};
}
constexpr value_rule sizes(double min, double max) {
  return {value_kind::size, min, max};
}
/// Up to a month: longer is a slip of the keyboard.
constexpr value_rule seconds_from(double min) {
  return {value_kind::seconds, min, 2'678'400};
}
/// A billion units: far more than anybody means, and far below what 64 bits of nano-units hold.
constexpr value_rule money_rule{value_kind::money, 0, 1e9};
constexpr value_rule token_rule{value_kind::integer, 1, 9e15};
constexpr value_rule choices(std::string_view names) {
  return {value_kind::choice, 0, 9e15, names};
}

/// Defaults that messages/limits.hpp also holds are checked against it by a test.
constexpr std::array table = {
    option_entry{"stage", "", "race.stage", "", "kernel", "NAME", "Race",
                 "What the models write: kernel (a Triton kernel) or extract (fused PyTorch)", text_rule},
    option_entry{"workers", "", "race.workers", "", "4", "N", "Race", "How many race", integers(1, max_workers)},
    option_entry{"max-iters", "rounds", "race.max_iters", "", "10", "N", "Race", "Rounds of each worker",
                 integers(1, max_rounds)},
    option_entry{"accept", "", "race.accept", "", "verified", "RULE", "Race",
                 "Which candidates win: verified (the judge finds them right), claimed (their own test says so) or both", choices("verified, claimed, both")},
    option_entry{"eval", "", "judge.eval", "", "false", "", "Judge", "Put models into eval mode (as their constructors leave them)", flag_rule},
    option_entry{"allow-tf32", "", "judge.allow_tf32", "", "false", "", "Judge", "Let the reference use TF32", flag_rule},
    option_entry{"trials", "", "judge.trials", "", "4", "N", "Judge", "Questions put to each candidate", integers(2, 64)},
    option_entry{"tolerance", "", "judge.tolerances", "", "", "DTYPE.KEY=X", "Judge",
                 "Another tolerance, as float32.atol=1e-3; keys: atol, rtol, norm (repeatable)", value_rule{value_kind::tolerance, 0, 1}, true},
    option_entry{"allow-weak", "", "judge.allow_weak", "", "false", "", "Judge",
                 "Let a candidate win although doing nothing would pass, too; marked everywhere", flag_rule},
    option_entry{"refuse-weak", "", "judge.refuse_weak", "", "false", "", "Judge",
                 "Do not race a problem to which doing nothing passes for an answer", flag_rule},
    option_entry{"architecture", "", "judge.architectures", "", "", "SM", "Judge",
                 "Compile Triton candidates for this one, too, where there is no GPU (repeatable)",
                 choices("sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_103, sm_120"), true},
    option_entry{"policy-off", "", "judge.policy_off", "", "", "RULE", "Judge",
                 "Rule about what code may do that is not applied (repeatable; docs/judge.md has them)", text_rule, true},
    option_entry{"timing", "", "race.timing", "", "false", "", "Judge",
                 "Time the candidate that won beside the reference, alone on its device, when all else is quiet", flag_rule},
    option_entry{"on-duplicate", "", "race.on_duplicate", "", "reprompt", "RULE", "Race",
                 "A worker whose candidate another one had: reprompt or retire", choices("reprompt, retire")},
    option_entry{"deadline", "", "race.deadline_s", "", "", "S", "Race", "End the race after this time",
                 seconds_from(1)},
    option_entry{"keep", "", "race.keep", "", "", "NAME", "Race",
                 "File of the candidate's folder to copy out after each run (repeatable)", text_rule, true},
    option_entry{"prompts", "", "race.prompts", "", "", "DIR", "Race", "Folder with a prompt set per stage", text_rule},
    option_entry{"target-platform", "", "race.target_platform", "", "cuda", "NAME", "Race",
                 "What kernels are written for", choices("cuda")},

    option_entry{"provider", "", "llm.provider", "", "", "NAME", "Models",
                 "openai (Responses), chat (Chat Completions), anthropic, relay, or a [providers.NAME] table", text_rule},
    option_entry{"model", "", "llm.model", "OPENAI_MODEL", "", "NAME", "Models", "Model of every worker", text_rule},
    option_entry{"models", "", "llm.models", "", "", "LIST", "Models",
                 "Several models; workers take them in turn (comma-separated)", text_rule, true, true},
    option_entry{"fallback-model", "", "race.fallback_models", "", "", "MODEL", "Models",
                 "MODEL or PROVIDER:MODEL to go on with when a worker's own is gone for good (repeatable)", text_rule,
                 true},
    option_entry{"temperature", "", "llm.temperature", "", "", "LIST", "Models",
                 "Workers take these in turn (comma-separated)", numbers(0, 2), true, true},
    option_entry{"seed", "", "llm.seed", "", "", "LIST", "Models", "Workers take these in turn (comma-separated)",
                 integers(0, 9e15), true, true},
    option_entry{"max-output-tokens", "", "llm.max_output_tokens", "", "", "N", "Models", "Output limit of one reply",
                 integers(1, 10'000'000)},
    option_entry{"reasoning-effort", "", "llm.reasoning_effort", "", "", "LEVEL", "Models",
                 "For models that take it: low, medium, high", choices("low, medium, high")},
    option_entry{"base-url", "", "llm.base_url", "OPENAI_BASE_URL", "", "URL", "Models",
                 "Where the provider listens, e.g. http://127.0.0.1:8000/v1", text_rule},
    option_entry{"replay", "", "llm.replay", "", "", "FILE", "Models", "Answer from a recording", text_rule},
    option_entry{"command", "", "llm.command", "", "", "\"PROG ARGS\"", "Models",
                 "Ask a program: prompt on stdin, reply on stdout", text_rule},
    option_entry{"llm-timeout-s", "", "llm.timeout_s", "", "", "S", "Models", "Longest silence within a reply (120)",
                 seconds_from(1)},
    option_entry{"store-responses", "", "llm.store_responses", "", "false", "", "Models",
                 "Let the provider store replies", flag_rule},
    option_entry{"env-file", "", "", "", "", "FILE", "Models",
                 "Read variables (keys) from this file of mode 0600 (./.env)", text_rule},

    option_entry{"budget", "", "budget.race", "", "", "MONEY", "Budgets",
                 "What this race may spend on models, in the currency of their prices", money_rule},
    option_entry{"budget-tokens", "", "budget.race_tokens", "", "", "N", "Budgets",
                 "Tokens that this race may use, input and output together", token_rule},
    option_entry{"budget-process", "", "budget.process", "", "", "MONEY", "Budgets", "What this process may spend",
                 money_rule},
    option_entry{"budget-process-tokens", "", "budget.process_tokens", "", "", "N", "Budgets",
                 "Tokens that this process may use", token_rule},
    option_entry{"budget-day", "", "budget.day", "", "", "MONEY", "Budgets",
                 "What all processes on this state folder may spend on one day (UTC)", money_rule},
    option_entry{"budget-day-tokens", "", "budget.day_tokens", "", "", "N", "Budgets",
                 "Tokens that all processes on this state folder may use on one day (UTC)", token_rule},

    option_entry{"run-timeout-s", "", "run.timeout_s", "", "180", "S", "Candidates", "Wall clock of one run",
                 seconds_from(1)},
    option_entry{"slots", "", "run.slots", "", "", "N", "Candidates", "Runs at once without a GPU (cores)",
                 integers(1, 1024)},
    option_entry{"gpu-slots", "", "run.gpu_slots", "", "4", "N", "Candidates",
                 "Runs that share one GPU; timing never does", integers(1, 64)},
    option_entry{"device", "", "run.device", "", "any", "KIND", "Candidates", "any (a GPU if there is one), gpu or cpu",
                 choices("any, gpu, cpu")},
    option_entry{"python", "", "run.python", "", "", "PATH", "Candidates", "Interpreter of candidates", text_rule},
    option_entry{"python-path", "", "run.python_path", "", "", "DIR", "Candidates",
                 "Folder outside the interpreter's prefix that candidates may import from (repeatable)", text_rule,
                 true},
    option_entry{"limit-memory", "", "run.limit_memory", "", "8GiB", "SIZE", "Candidates", "Memory of one run",
                 sizes(16 * mib, 4096 * gib)},
    option_entry{"limit-cpu", "", "run.limit_cpu_s", "", "600", "S", "Candidates", "CPU time of one process",
                 seconds_from(1)},
    option_entry{"limit-disk", "", "run.limit_disk", "", "256MiB", "SIZE", "Candidates",
                 "Files of one run, and the largest of them", sizes(mib, 1024 * gib)},
    option_entry{"limit-pids", "", "run.limit_pids", "", "256", "N", "Candidates", "Processes and threads of one run",
                 integers(1, 32'768)},
    option_entry{"limit-open-files", "", "run.limit_open_files", "", "1024", "N", "Candidates",
                 "Open files of one process", integers(16, 1'048'576)},
    option_entry{"limit-output", "", "run.limit_output", "", "256MiB", "SIZE", "Candidates",
                 "Output past which a run is killed", sizes(64 * kib, 64 * gib)},
    option_entry{"cold", "", "run.cold", "", "false", "", "Candidates",
                 "Start each candidate from nothing, not forked from a Python that has torch loaded", flag_rule},
    option_entry{"require-level", "", "run.require_level", "", "L3", "LEVEL", "Candidates",
                 "Weakest sandbox that is good enough (see regatta doctor)", choices("L1, L2, L3, L4")},
    option_entry{"allow-unsandboxed", "", "run.allow_unsandboxed", "", "false", "", "Candidates",
                 "Run candidates without isolation if there is none. Dangerous", flag_rule},

    option_entry{"state-dir", "", "state_dir", "", ".regatta", "DIR", "Output", "Where runs are kept", text_rule},
    option_entry{"events", "", "events", "", "", "ENDPOINT", "Output",
                 "Event socket: ipc:///PATH, tcp://127.0.0.1:PORT or off (a private ipc socket)", text_rule},
    option_entry{"stream", "", "output.stream", "", "none", "WHOSE", "Output",
                 "Show replies as they come: all, winner, none", choices("all, winner, none")},
    option_entry{"json", "", "output.json", "", "false", "", "Output", "Events as JSON lines on stdout", flag_rule},
    option_entry{"quiet", "", "output.quiet", "", "false", "", "Output", "No progress, only the result", flag_rule},
    option_entry{"verbose", "", "output.verbose", "", "false", "", "Output", "Log to stderr, too (-v)", flag_rule},
};

}  // namespace

std::span<const option_entry> all_options() {
  return table;
}

}  // namespace regatta::cli
