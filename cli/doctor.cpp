// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor.hpp"

#include "cli/terminal_text.hpp"
#include "messages/limits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace regatta::cli {

namespace {

using findings = std::vector<finding>;

/// A run directory of a long race with kept outputs: about 100 MiB; ten of them.
constexpr std::uint64_t little_disk = 1 * GiB;
/// The database and one race's files.
constexpr std::uint64_t least_disk = 64 * MiB;
/// torch with a small problem needs about 1 GiB; below it candidates die of memory, not of their code.
constexpr std::uint64_t little_memory = 2 * GiB;
/// Descriptors: three a stream, six a run, and some dozens of our own. 64 of each.
constexpr std::uint64_t little_files = 1024;
/// A record with an older date was made by a host that does not know the time. 2025-01-01 in UTC µs.
constexpr std::int64_t earliest_us = 1'735'689'600'000'000;
/// NTP slews by 0.05 % at most.
constexpr double most_drift = 0.01;

std::string in_gib(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / static_cast<double>(GiB));
  return text;
}

/// Weaker than L4: what that means, in one line.
std::string what_is_weaker(sandbox::level level) {
  switch (level) {
    case sandbox::level::namespaced:
      return ": memory and processes are limited per process only";
    case sandbox::level::slot_uid:
      return ": no namespaces; Landlock, seccomp and a uid for each run stand for them, memory and disk are looked at";
    case sandbox::level::confined:
      return ": no namespaces; Landlock and seccomp stand for them, runs have your uid; memory, disk and processes are "
             "looked at";
    case sandbox::level::full:
    case sandbox::level::none:
      return "";
  }
  return "";
}

void check_sandbox(const host_view& x, findings& out) {
  const auto& host = x.sandbox;
  const auto level = to_string(host.best);
  std::string remedy;
  for (const auto& obstacle : host.obstacles) {
    remedy += (remedy.empty() ? "" : "; ") + obstacle;
  }
  if (host.best < x.required) {
    out.push_back({health::fail, "sandbox", "level " + level + ", but " + to_string(x.required) + " is required",
                   (remedy.empty() ? "run as root, or on a kernel with user namespaces" : remedy) +
                       (host.best > sandbox::level::none ? "; or --require-level " + level + " if that is enough" : "")});
  } else if (host.best < sandbox::level::full) {
    out.push_back({health::warn, "sandbox", "level " + level + what_is_weaker(host.best),
                   remedy.empty() ? "a writable cgroup raises it to L4" : remedy});
  } else {
    out.push_back({health::ok, "sandbox", "level " + level + ", kernel " + host.kernel, ""});
  }
  if (host.apparmor_restricts_userns && host.best < sandbox::level::full) {
    out.push_back({host.best < x.required ? health::fail : health::warn, "apparmor",
                   "AppArmor keeps ordinary users from making user namespaces (Ubuntu 24.04 does so)",
                   "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile with `userns,` for "
                   "regatta-sandbox"});
  }
}

/// Where there is no sandbox or no Python, that is told elsewhere.
void check_warmth(const host_view& x, findings& out) {
  if (!x.why_cold.empty()) {
    out.push_back({health::warn, "warm start", "candidates start cold: " + clean_line(x.why_cold),
                   "nothing is wrong by it, but each evaluation imports torch anew, which takes seconds"});
  } else if (x.python.error.empty() && x.sandbox.best >= sandbox::level::namespaced) {
    out.push_back({health::ok, "warm start", "candidates on the CPU are forked from a Python that has torch loaded", ""});
  }
}

void check_installation(const host_view& x, findings& out) {
  for (const auto& program : x.missing_programs) {
    const bool is_vital = program.find("sandbox") != std::string::npos;
    out.push_back({is_vital ? health::fail : health::warn, "programs", program + " is not there",
                   "build or install it again; both programs belong into one folder"});
  }
  if (!x.missing_prompts.empty()) {
    out.push_back(
        {health::fail, "prompts", x.missing_prompts + " is not there", "give --prompts DIR, or install again"});
  }
  if (x.missing_programs.empty() && x.missing_prompts.empty()) {
    out.push_back({health::ok, "programs", "programs and prompts are where they belong", ""});
  }
}

void check_python(const host_view& x, findings& out) {
  const auto& python = x.python;
  const std::string other =
      "give --python PATH or set REGATTA_PYTHON to one with torch and triton; scripts/setup.sh makes one";
  if (python.path.empty()) {
    out.push_back({health::fail, "python", "no Python found", other});
    return;
  }
  const auto name = python.path + " (from " + python.source + ")";
  if (!python.error.empty()) {
    out.push_back({health::fail, "python", name + ": " + python.error, other});
    return;
  }
  out.push_back({health::ok, "python", name + " " + python.version, ""});
  if (python.torch.empty()) {
    out.push_back({health::warn, "torch", "not installed for " + python.path, other});
  } else {
    out.push_back({health::ok, "torch", python.torch, ""});
  }
  if (python.triton.empty()) {
    out.push_back({health::warn, "triton", "not installed for " + python.path + ": no Triton kernel can run",
                   python.path + " -m pip install triton"});
  } else {
    out.push_back({health::ok, "triton", python.triton, ""});
  }
}

void check_gpus(const host_view& x, findings& out) {
  for (const auto& gpu : x.gpus) {
    out.push_back({health::ok, "gpu", gpu, ""});
  }
  for (const auto& text : x.gpus_left_out) {
    out.push_back({health::warn, "gpu", text, "as said; until then this GPU is left out"});
  }
  for (const auto& text : x.gpu_warnings) {
    out.push_back({health::warn, "gpu", text, "see nvidia-smi"});
  }
  if (x.gpus.empty() && x.gpus_left_out.empty()) {
    out.push_back(
        {health::ok, "gpu",
         "none: candidates run on " + std::to_string(x.cores) + " cores, Triton kernels in Triton's interpreter", ""});
  }
  if (!x.compiler.empty()) {
    out.push_back({health::ok, "compiler", x.compiler, ""});
  } else if (!x.gpus.empty()) {
    out.push_back({health::fail, "compiler", "no C compiler: Triton cannot launch a kernel on a GPU without one",
                   "apt-get install gcc libc6-dev"});
  } else {
    out.push_back({health::ok, "compiler", "none; needed only with a GPU", ""});
  }
}

void check_disk(const host_view& x, findings& out) {
  const auto& disk = x.disk;
  if (!disk.error.empty()) {
    out.push_back(
        {health::fail, "disk", disk.path + ": " + disk.error, "give --state-dir DIR on a disk that you can write"});
    return;
  }
  if (disk.free < little_disk) {
    out.push_back({disk.free < least_disk ? health::fail : health::warn, "disk",
                   disk.path + ": " + in_gib(disk.free) + " free", "make room, or give --state-dir DIR elsewhere"});
  } else {
    out.push_back({health::ok, "disk", disk.path + ": " + in_gib(disk.free) + " free", ""});
  }
  if (disk.is_network) {
    out.push_back({health::warn, "file system",
                   disk.path + " is on a network file system (" + disk.file_system +
                       "): the store is slower there, and only one process may use it",
                   "give --state-dir DIR on a local disk"});
  } else {
    out.push_back({health::ok, "file system", disk.file_system.empty() ? "local" : disk.file_system, ""});
  }
}

void check_clock(const host_view& x, findings& out) {
  const auto before = out.size();
  if (x.clock.wall_us < earliest_us) {
    out.push_back({health::fail, "clock", "the wall clock is years behind: records would lie and TLS refuses",
                   "set the time (timedatectl set-ntp true)"});
  }
  if (std::abs(x.clock.wall_per_monotonic - 1) > most_drift) {
    out.push_back({health::warn, "clock", "the wall clock does not run as fast as the monotonic one",
                   "look at the time daemon (chronyc tracking); limits are not touched, times in records are"});
  }
  if (!x.clock.time_zone_problem.empty()) {
    out.push_back({health::warn, "clock", x.clock.time_zone_problem,
                   "set TZ to a name below /usr/share/zoneinfo; run ids are in UTC until then"});
  }
  if (out.size() == before) {
    out.push_back({health::ok, "clock", "steady", ""});
  }
}

void check_resources(const host_view& x, findings& out) {
  if (x.open_files < little_files) {
    out.push_back({health::warn, "open files", "at most " + std::to_string(x.open_files) + " for this process",
                   "ulimit -n 4096"});
  } else {
    out.push_back({health::ok, "open files", std::to_string(x.open_files), ""});
  }
  const auto text = in_gib(x.free_memory) + " of " + in_gib(x.memory) + " free";
  if (x.free_memory < little_memory) {
    out.push_back({health::warn, "memory", text, "fewer --slots, or a smaller --limit-memory"});
  } else {
    out.push_back({health::ok, "memory", text + ", " + std::to_string(x.cores) + " cores", ""});
  }
}

void check_models(const host_view& x, findings& out) {
  for (const auto& key : x.keys) {
    if (key.is_set) {
      out.push_back({health::ok, "keys", key.variable + " is set, from " + key.source, ""});
    } else if (key.is_placeholder) {
      out.push_back(
          {health::warn, "keys", key.variable + " holds a placeholder, not a key", "put the key in its place"});
    } else {
      out.push_back({x.has_provider ? health::ok : health::warn, "keys", key.variable + " is not set",
                     x.has_provider ? "" : "export " + key.variable + "=…, or put it into ./.env (mode 0600)"});
    }
  }
  if (x.has_provider) {
    out.push_back({health::ok, "provider", "a model can be asked as things are configured", ""});
  } else {
    out.push_back({health::warn, "provider", x.provider_problem, "as said; --replay and --command need no key"});
  }
  for (const auto& text : x.config_warnings) {
    out.push_back({health::warn, "configuration", text, "as said"});
  }
}

}  // namespace

std::vector<finding> diagnose(const host_view& x) {
  findings out;
  check_sandbox(x, out);
  check_installation(x, out);
  check_python(x, out);
  check_warmth(x, out);
  check_gpus(x, out);
  check_disk(x, out);
  check_clock(x, out);
  check_resources(x, out);
  check_models(x, out);
  return out;
}

bool has_failure(const std::vector<finding>& all) {
  return std::any_of(all.begin(), all.end(), [](const auto& x) { return x.level == health::fail; });
}

std::string doctor_text(const std::vector<finding>& all) {
  std::string out;
  std::size_t warnings = 0;
  std::size_t failures = 0;
  for (const auto& x : all) {
    out += fit_to(to_string(x.level), 5) + " " + fit_to(x.check, 14) + " " + clean_line(x.text) + "\n";
    out += x.remedy.empty() ? "" : std::string(21, ' ') + "mend: " + clean_line(x.remedy) + "\n";
    warnings += x.level == health::warn ? 1 : 0;
    failures += x.level == health::fail ? 1 : 0;
  }
  return out + (failures > 0 ? "This host cannot run a race yet: " : "This host can run races: ") +
         std::to_string(failures) + " failed, " + std::to_string(warnings) + " warnings\n";
}

}  // namespace regatta::cli
