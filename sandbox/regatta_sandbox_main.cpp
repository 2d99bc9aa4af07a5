// SPDX-License-Identifier: Apache-2.0
// regatta-sandbox: a candidate by hand, what the host offers, and (by argv[0]) the forker.
#include "sandbox/forker.hpp"
#include "sandbox/run_command.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>

namespace {

using namespace regatta;

/// "10s", "1.5m", "500ms"; a bare number is seconds.
bool parse_time(const std::string& text, std::chrono::milliseconds& out) {
  static const std::map<std::string, double> units{{"ms", 1}, {"s", 1e3}, {"", 1e3}, {"m", 6e4}, {"h", 3.6e6}};
  std::size_t end = 0;
  double value = 0;
  try {
    value = std::stod(text, &end);
  } catch (const std::logic_error&) {
    return false;
  }
  const auto unit = units.find(text.substr(end));
  constexpr double most = 1e12;
  if (unit == units.end() || !(value > 0) || value * unit->second > most) {
    return false;
  }
  out = std::chrono::milliseconds{std::llround(value * unit->second)};
  return true;
}

/// "512M", "1G", "64K"; a bare number is bytes.
bool parse_bytes(const std::string& text, byte_count& out) {
  static const std::map<std::string, byte_count> units{{"", 1}, {"K", KiB}, {"M", MiB}, {"G", GiB}};
  std::size_t end = 0;
  unsigned long long value = 0;
  try {
    value = text.empty() || text.front() == '-' ? 0 : std::stoull(text, &end);
  } catch (const std::logic_error&) {
    return false;
  }
  const auto unit = units.find(text.substr(end));
  constexpr byte_count most = 1ULL << 50;
  if (unit == units.end() || value == 0 || value > most / unit->second) {
    return false;
  }
  out = value * unit->second;
  return true;
}

void add_time(CLI::App& app, const std::string& name, const std::string& what, std::chrono::milliseconds& out) {
  app.add_option_function<std::string>(
      name,
      [&out, name](const std::string& text) {
        if (!parse_time(text, out)) {
          throw CLI::ValidationError{name, "wants a time such as 10s or 500ms, got " + text};
        }
      },
      what);
}

void add_size(CLI::App& app, const std::string& name, const std::string& what, byte_count& out) {
  app.add_option_function<std::string>(
      name,
      [&out, name](const std::string& text) {
        if (!parse_bytes(text, out)) {
          throw CLI::ValidationError{name, "wants a size such as 512M or 1G, got " + text};
        }
      },
      what);
}

void add_run_options(CLI::App& app, sandbox::run_command& command, std::chrono::milliseconds& cpu, std::string& level,
                     bool& is_level_required) {
  app.add_option("--python", command.python, "Interpreter of the candidate (default: python3 on PATH)");
  app.add_option("--python-path", command.python_path, "Folder outside the interpreter that candidates may read")
      ->take_all();
  app.add_option("--readable", command.readable, "Any other path that the run may read")->take_all();
  app.add_option("--preload", command.preload, "Fork it from a Python that has this module loaded")->take_all();
  app.add_option("--keep", command.keep, "File to copy out of the run's folder after its end")->take_all();
  app.add_option("--keep-to", command.keep_to, "Folder for kept files")->check(CLI::ExistingDirectory);
  app.add_option("--gpu-device", command.devices, "Device node to make usable, e.g. /dev/nvidia0")->take_all();
  app.add_option("--env", command.variables, "KEY=value for the candidate")->take_all();
  add_time(app, "--limit-wall", "Wall clock limit (default 180s)", command.limits.wall);
  add_time(app, "--limit-cpu", "CPU time limit of each process (default 600s)", cpu);
  add_size(app, "--memory", "Memory limit (default 8G)", command.limits.memory);
  add_size(app, "--disk", "Size of each of the run's three folders (default 256M)", command.limits.disk);
  add_size(app, "--output", "stdout + stderr past which the run is killed (default 256M)", command.limits.output);
  app.add_option("--pids", command.limits.pids, "Processes and threads (default 256)")->check(CLI::Range(1U, 1U << 20));
  app.add_option("--level", level, "Use at most this level: L1 to L4")->check(CLI::IsMember({"L1", "L2", "L3", "L4"}));
  app.add_flag("--require-level", is_level_required, "Refuse to run below --level");
  app.add_flag("--allow-unsandboxed", command.config.allow_unsandboxed,
               "Run with your own rights if there is no sandbox");
  app.add_flag("--json", command.is_json, "One JSON object on stdout");
  app.add_option("FILE", command.file, "Python file to run");
  app.footer(
      "Any other program: regatta-sandbox run [options] -- /path/to/program arguments…\n"
      "Exit status: 0 exited 0 within all limits, 1 any other end, 2 usage, 7 level refused, 9 sandbox failed.");
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{"Runs one candidate in Regatta's sandbox"};
  app.require_subcommand(1);
  sandbox::run_command command;
  std::chrono::milliseconds cpu = command.limits.cpu;
  std::string level;
  bool is_level_required = false, is_probe_json = false;
  auto& run = *app.add_subcommand("run", "Run a Python file, or after -- any program");
  add_run_options(run, command, cpu, level, is_level_required);
  auto& probe = *app.add_subcommand("probe", "What this host offers, and what keeps it from more");
  probe.add_flag("--json", is_probe_json, "One JSON object on stdout");

  // What follows -- is not ours to parse.
  char** const separator = std::find_if(argv, argv + argc, [](const char* x) { return std::string_view{x} == "--"; });
  if (separator != argv + argc) {
    command.argv.assign(separator + 1, argv + argc);
  }
  try {
    app.parse(static_cast<int>(separator - argv), argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "regatta-sandbox: %s\n", sandbox::printable(error.what()).c_str());
    return 2;
  }
  if (probe.parsed()) {
    return sandbox::print_probe(is_probe_json);
  }
  if (command.file.empty() == command.argv.empty()) {
    std::fprintf(stderr, "regatta-sandbox: run wants either a Python file or -- and a program\n");
    return 2;
  }
  command.limits.cpu = std::chrono::ceil<std::chrono::seconds>(cpu);
  command.limits.data = command.limits.memory;
  command.limits.file = command.limits.disk;
  command.config.at_most = from_name<sandbox::level>(level).value_or(sandbox::level::full);
  if (is_level_required) {
    command.config.require = command.config.at_most;
  }
  return sandbox::run_by_hand(command);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view{argv[1]} == sandbox::forker_name) {
    return sandbox::forker_main(argc - 1, argv + 1);
  }
  return parse_and_run(argc, argv);
}
