// SPDX-License-Identifier: Apache-2.0
#include "node/evaluation_record.hpp"

#include "node/clean_text.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace regatta {

namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\f");
  return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

bool is_word_end(std::string_view text, std::size_t at) {
  constexpr std::string_view ends = " \t\f\r.,;#\\";
  return at >= text.size() || ends.find(text[at]) != std::string_view::npos;
}

/// Whether one of the modules in `a, b.c as d` is triton.
bool lists_triton(std::string_view modules) {
  constexpr std::string_view name = "triton";
  while (true) {
    modules = trimmed(modules);
    if (modules.starts_with(name) && is_word_end(modules, name.size())) {
      return true;
    }
    const auto comma = modules.find(',');
    if (comma == std::string_view::npos) {
      return false;
    }
    modules.remove_prefix(comma + 1);
  }
}

bool is_triton_import(std::string_view line) {
  line = trimmed(line);
  constexpr std::string_view from = "from ";
  constexpr std::string_view import = "import ";
  return line.starts_with(from)     ? lists_triton(line.substr(from.size(), line.find(',') - from.size()))
         : line.starts_with(import) ? lists_triton(line.substr(import.size()))
                                    : false;
}

std::int64_t utc_us(std::chrono::system_clock::time_point x) {
  return std::chrono::duration_cast<std::chrono::microseconds>(x.time_since_epoch()).count();
}

std::chrono::microseconds waited(const run_entry& entry, run_entry::time_point until) {
  return std::chrono::duration_cast<std::chrono::microseconds>(until - entry.queued_at);
}

std::string one_line(std::string_view text) {
  auto result = clean_text(text);
  std::ranges::replace_if(
      result, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return result;
}

void set_outcome(evaluation& out, const run_entry& entry, const sandbox::run_result& result, const gpu* device,
                 run_entry::time_point now) {
  out.outcome = result.outcome;
  out.claim = result.outcome == outcome::exited ? result.claim : claim::none;
  out.reason = one_line(result.reason);
  if (!entry.first_end.empty()) {
    out.reason += " (alone on the GPU, after " + entry.first_end + " beside others)";
  }
  const auto host_failure = device == nullptr ? "" : gpu_host_failure(result);
  if (!host_failure.empty()) {
    out.outcome = outcome::sandbox_failed;
    out.reason = host_failure + " on " + device->uuid + " (" + out.reason + ")";
  }
  if (entry.stop == stop_cause::lease_expired && result.outcome == outcome::cancelled) {
    const auto held = std::chrono::duration_cast<std::chrono::seconds>(now - entry.started_at).count();
    out.outcome = outcome::sandbox_failed;
    out.reason = "lease of " + entry.held->slot + " expired: the sandbox had not ended the run after " +
                 std::to_string(held) + " s (wall limit " + std::to_string(entry.what.limits.wall.count()) + " ms)";
  }
}

}  // namespace

bool imports_triton(std::string_view code) {
  while (!code.empty()) {
    const auto end = code.find_first_of("\n;");
    if (is_triton_import(code.substr(0, end))) {
      return true;
    }
    code.remove_prefix(end == std::string_view::npos ? code.size() : end + 1);
  }
  return false;
}

std::string engine_of(const gpu* device, std::string_view code) {
  if (device == nullptr) {
    return imports_triton(code) ? "triton-interpreter" : "cpu";
  }
  auto capability = device->compute_capability;
  std::erase(capability, '.');
  return capability.empty() ? "cuda" : "cuda-sm_" + capability;
}

std::string gpu_host_failure(const sandbox::run_result& result) {
  // Measured on an H200 (driver 580, torch 2.11): no nvidia-uvm, no nvidiactl, cuInit refused by the host (304).
  constexpr std::array<std::string_view, 3> signs = {"CUDA unknown error", "No CUDA GPUs are available",
                                                     "Error 304: OS call failed"};
  if (result.outcome != outcome::exited_nonzero) {
    return {};
  }
  const auto sign =
      std::ranges::find_if(signs, [&](std::string_view x) { return result.stderr_kept.find(x) != std::string::npos; });
  return sign == signs.end() ? std::string{} : "the host's CUDA driver failed: \"" + std::string{*sign} + "\"";
}

std::string doubt_beside_others(const judged_end& end) {
  // torch's OutOfMemoryError, the driver's own error, Triton's and cuBLAS's.
  constexpr std::array<std::string_view, 4> signs = {"CUDA out of memory", "CUDA error: out of memory",
                                                     "CUDA_ERROR_OUT_OF_MEMORY", "CUBLAS_STATUS_ALLOC_FAILED"};
  const auto& result = end.run;
  if (result.outcome == outcome::timed_out || result.outcome == outcome::out_of_memory) {
    return to_string(result.outcome);
  }
  const bool has_failed = result.outcome == outcome::exited_nonzero || end.judgement == judgement::raised ||
                          end.judgement == judgement::problem_failed || end.judgement == judgement::too_large;
  const auto says = [&](std::string_view sign) {
    return result.stderr_kept.find(sign) != std::string::npos || end.feedback.find(sign) != std::string::npos ||
           result.reason.find(sign) != std::string::npos;
  };
  return has_failed && std::ranges::any_of(signs, says) ? "out of GPU memory" : "";
}

evaluation make_evaluation(const run_entry& entry, const judged_end& end, const evaluator_config& config,
                           const gpu* device, run_entry::time_point now) {
  const auto& result = end.run;
  evaluation out;
  set_outcome(out, entry, result, device, now);
  out.exit_code = result.exit_code;
  out.signal = result.signal;
  out.stdout_text = clean_text(result.stdout_kept);
  out.stderr_text = clean_text(result.stderr_kept);
  out.stdout_bytes = result.stdout_bytes;
  out.stderr_bytes = result.stderr_bytes;
  out.started_us = utc_us(result.started_at);
  out.queued = waited(entry, entry.started_at);
  out.elapsed = result.elapsed;
  out.killed_in = result.killed_in;
  out.cpu_time = result.cpu_time;
  out.peak_memory = result.peak_memory;
  out.node = config.node.text;
  out.slot = entry.held ? entry.held->slot : "";
  out.gpu_uuid = device == nullptr ? "" : device->uuid;
  out.engine = engine_of(device, entry.what.code);
  out.sandbox_level = to_string(result.level);
  out.sandbox_engine = result.engine;
  out.is_warm = result.is_warm;
  out.python = config.python.executable;
  for (const auto& each : result.kept) {
    out.kept.push_back({each.name, each.content, each.problem});
  }
  // What was made void above (a lost lease, a broken driver) is no verdict.
  out.judgement = out.outcome == outcome::sandbox_failed ? judgement::not_judged : end.judgement;
  out.feedback = clean_text(end.feedback);
  out.judge_record = end.record;
  out.timing_record = end.timing;
  return out;
}

evaluation make_cancelled_evaluation(const run_entry& entry, const evaluator_config& config,
                                     run_entry::time_point now) {
  evaluation out;
  out.outcome = outcome::cancelled;
  out.reason = "cancelled before it had a slot";
  out.queued = waited(entry, now);
  out.node = config.node.text;
  out.python = config.python.executable;
  return out;
}

}  // namespace regatta
