// SPDX-License-Identifier: Apache-2.0
#include "sandbox/run_command.hpp"

#include "sandbox/active_run.hpp"
#include "sandbox/interpreter.hpp"
#include "sandbox/unique_fd.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <future>
#include <iterator>
#include <sstream>

extern char** environ;

namespace regatta::sandbox {

namespace {

enum exit_status { status_ok = 0, status_failed = 1, status_usage = 2, status_refused = 7, status_internal = 9 };

int fail(exit_status status, const std::string& text) {
  std::fprintf(stderr, "regatta-sandbox: %s\n", printable(text).c_str());
  return status;
}

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string::npos) {
      all[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  return all;
}

std::string find_python() {
  std::istringstream folders{own_environment()["PATH"]};
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (auto path = folder + "/python3"; folder.starts_with("/") && ::access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return {};
}

/// Empty on success.
std::string add_candidate(const run_command& command, run_spec& spec) {
  struct stat info {};
  // Not a link, as KernelAgent's runner demands it.
  if (::lstat(command.file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return command.file + " is not a regular file";
  }
  if (static_cast<byte_count>(info.st_size) > candidate_bytes) {
    return command.file + " is larger than a candidate may be";
  }
  std::ifstream in{command.file, std::ios::binary};
  // The name avoids shadowing the standard library's module `code`, which torch's imports load.
  spec.files.push_back({"candidate_main.py", {std::istreambuf_iterator<char>{in}, {}}});
  std::string error;
  const auto python =
      inspect_interpreter(command.python.empty() ? find_python() : command.python, command.python_path, error);
  if (!python) {
    return error;
  }
  spec.argv = {python->executable, "-u", "candidate_main.py"};
  spec.readable = python->readable;
  if (!command.preload.empty()) {
    spec.preload = command.preload;
  }
  return {};
}

std::string add_variables(const run_command& command, run_spec& spec) {
  std::map<std::string, std::string> extra;
  for (const auto& variable : command.variables) {
    const auto equals = variable.find('=');
    if (equals == std::string::npos || equals == 0) {
      return "--env wants KEY=value: " + variable;
    }
    extra[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  spec.environment = candidate_environment(own_environment(), extra);
  return {};
}

/// Into `folder`, never over a file that is there, names with folders flattened.
void save_artifacts(const run_result& result, const std::string& folder) {
  for (const auto& artifact : result.kept) {
    auto name = artifact.name;
    for (auto& letter : name) {
      letter = letter == '/' ? '_' : letter;
    }
    const bool is_saved = artifact.problem.empty() || !artifact.content.empty();
    if (is_saved) {
      const auto path = folder + "/" + name;
      const unique_fd file{::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600)};
      if (!file || ::write(file.get(), artifact.content.data(), artifact.content.size()) < 0) {
        fail(status_failed, "save " + path + ": " + std::strerror(errno));
      }
    }
    if (!artifact.problem.empty()) {
      fail(status_failed, "artifact " + artifact.name + ": " + artifact.problem);
    }
  }
}

std::string number(const char* key, std::int64_t value) {
  return std::string{",\""} + key + "\":" + std::to_string(value);
}

void print_json(const run_result& result) {
  std::string out = R"({"schema_version":1,"outcome":)" + json_string(name_of(result.outcome)) +
                    ",\"claim\":" + json_string(name_of(result.claim)) + ",\"reason\":" + json_string(result.reason) +
                    ",\"level\":" + json_string(name_of(result.level)) + ",\"engine\":" + json_string(result.engine) +
                    ",\"is_warm\":" + (result.is_warm ? "true" : "false") +
                    ",\"why_cold\":" + json_string(result.why_cold);
  out += number("exit_code", result.exit_code) + number("signal", result.signal);
  out += number("launch_us", result.launch.count()) + number("elapsed_us", result.elapsed.count()) +
         number("killed_in_us", result.killed_in.count()) + number("cpu_us", result.cpu_time.count());
  out += number("peak_memory_bytes", static_cast<std::int64_t>(result.peak_memory)) +
         number("left_behind", result.left_behind) +
         number("stdout_bytes", static_cast<std::int64_t>(result.stdout_bytes)) +
         number("stderr_bytes", static_cast<std::int64_t>(result.stderr_bytes));
  out += ",\"stdout\":" + json_string(result.stdout_kept) + ",\"stderr\":" + json_string(result.stderr_kept) +
         ",\"kept\":[";
  for (std::size_t i = 0; i < result.kept.size(); ++i) {
    const auto& kept = result.kept[i];
    out += (i == 0 ? "{\"name\":" : ",{\"name\":") + json_string(kept.name) +
           number("bytes", static_cast<std::int64_t>(kept.content.size())) +
           ",\"problem\":" + json_string(kept.problem) + "}";
  }
  std::printf("%s]}\n", out.c_str());
}

void print_text(const run_result& result) {
  std::fputs(printable(result.stdout_kept).c_str(), stdout);
  std::fflush(stdout);
  std::fputs(printable(result.stderr_kept).c_str(), stderr);
  constexpr double us_per_ms = 1000.0;
  std::fprintf(stderr, "%s, %s claim: %s\n", to_string(result.outcome).c_str(),
               result.claim == claim::none ? "no" : to_string(result.claim).c_str(), printable(result.reason).c_str());
  std::fprintf(stderr, "level %s, %.1f ms (start %.1f ms), CPU %.1f ms, peak memory %.1f MiB, %u left behind",
               to_string(result.level).c_str(), static_cast<double>(result.elapsed.count()) / us_per_ms,
               static_cast<double>(result.launch.count()) / us_per_ms,
               static_cast<double>(result.cpu_time.count()) / us_per_ms,
               static_cast<double>(result.peak_memory) / static_cast<double>(MiB), result.left_behind);
  if (result.killed_in.count() > 0) {
    std::fprintf(stderr, ", tree gone %.1f ms after the kill",
                 static_cast<double>(result.killed_in.count()) / us_per_ms);
  }
  std::fputs(result.is_warm ? ", warm\n" : "\n", stderr);
  if (!result.why_cold.empty()) {
    std::fprintf(stderr, "cold: %s\n", printable(result.why_cold).c_str());
  }
}

run_result run_until_end_or_signal(runner& sandbox, run_spec spec) {
  std::promise<run_result> promise;
  auto future = promise.get_future();
  const auto run = sandbox.start(std::move(spec), [&](run_result result) { promise.set_value(std::move(result)); });
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGHUP);
  const timespec pause{0, 5'000'000};
  while (future.wait_for(std::chrono::seconds{0}) != std::future_status::ready) {
    if (::sigtimedwait(&set, nullptr, &pause) > 0) {
      sandbox.cancel(run);
    }
  }
  return future.get();
}

}  // namespace

int run_by_hand(const run_command& command) {
  run_spec spec;
  spec.argv = command.argv;
  spec.keep = command.keep;
  spec.devices = command.devices;
  spec.limits = command.limits;
  auto problem = command.file.empty() ? std::string{} : add_candidate(command, spec);
  problem = problem.empty() ? add_variables(command, spec) : problem;
  for (const auto& path : command.readable) {
    spec.readable.push_back({path, false});
  }
  problem = problem.empty() ? active_run::refusal_of(spec) : problem;
  if (!problem.empty()) {
    return fail(status_usage, problem);
  }
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    ::sigaddset(&set, number);
  }
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  std::string error;
  const auto sandbox = runner::open(command.config, probe(), error);
  if (!sandbox) {
    return fail(status_refused, error);
  }
  const auto result = run_until_end_or_signal(*sandbox, std::move(spec));
  save_artifacts(result, command.keep_to);
  command.is_json ? print_json(result) : print_text(result);
  return result.outcome == outcome::exited           ? status_ok
         : result.outcome == outcome::sandbox_failed ? status_internal
                                                     : status_failed;
}

int print_probe(bool is_json) {
  const auto facts = probe();
  const std::pair<const char*, bool> flags[] = {{"is_root", facts.is_root},
                                                {"can_mount", facts.can_mount},
                                                {"can_setuid", facts.can_setuid},
                                                {"user_namespace", facts.user_namespace},
                                                {"apparmor_restricts_userns", facts.apparmor_restricts_userns},
                                                {"clone3", facts.clone3},
                                                {"clone_into_cgroup", facts.clone_into_cgroup},
                                                {"seccomp", facts.seccomp},
                                                {"can_confine", facts.can_confine},
                                                {"can_use_slot_uid", facts.can_use_slot_uid},
                                                {"cgroup_memory", facts.cgroup_memory},
                                                {"cgroup_pids", facts.cgroup_pids},
                                                {"cgroup_kill", facts.cgroup_kill}};
  std::string json = R"({"schema_version":1,"level":)" + json_string(name_of(facts.best)) +
                     ",\"kernel\":" + json_string(facts.kernel) + ",\"cgroup\":" + json_string(facts.cgroup) +
                     number("landlock_abi", facts.landlock_abi);
  std::string text = "sandbox level " + to_string(facts.best) + "\n  kernel " + facts.kernel + "\n  cgroup " +
                     facts.cgroup + "\n  landlock_abi " + std::to_string(facts.landlock_abi) + "\n";
  for (const auto& [name, value] : flags) {
    json += std::string{",\""} + name + "\":" + (value ? "true" : "false");
    text += std::string{"  "} + name + (value ? " yes\n" : " no\n");
  }
  json += ",\"obstacles\":[";
  for (std::size_t i = 0; i < facts.obstacles.size(); ++i) {
    json += (i == 0 ? "" : ",") + json_string(facts.obstacles[i]);
    text += "obstacle: " + facts.obstacles[i] + "\n";
  }
  std::fputs(is_json ? (json + "]}\n").c_str() : printable(text).c_str(), stdout);
  return status_ok;
}

}  // namespace regatta::sandbox
