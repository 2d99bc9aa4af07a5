// SPDX-License-Identifier: Apache-2.0
#include "cli/host_survey.hpp"

#include "cli/python_discovery.hpp"
#include "cli/warm_check.hpp"
#include "messages/error.hpp"
#include "messages/install_paths.hpp"
#include "node/gpu_inventory.hpp"
#include "node/host_devices.hpp"
#include "sandbox/interpreter.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

namespace regatta::cli {

namespace fs = std::filesystem;

namespace {

/// Where runs have uids of their own and the host's own tree (L2), each folder on the way must let them pass.
std::string closed_way_to(const sandbox::interpreter& python) {
  for (const auto& end : {python.executable, python.prefix, python.base_prefix}) {
    std::error_code failed;
    for (auto folder = fs::canonical(end, failed).parent_path(); !failed && folder.has_relative_path();
         folder = folder.parent_path()) {
      if ((fs::status(folder, failed).permissions() & fs::perms::others_exec) == fs::perms::none) {
        return "candidates have uids of their own at this sandbox level, and " + folder.string() +
               " does not let others pass";
      }
    }
  }
  return {};
}

python_facts look_at_python(const session& x, const host_view& host, std::string& why) {
  python_facts out;
  const auto python = choose_python(python_candidates(x.values, x.env),
                                    [](const auto& path) { return ::access(path.c_str(), X_OK) == 0; });
  if (!python) {
    return out;
  }
  out.path = python->path;
  out.source = python->source;
  const auto& listed = x.values.list("python-path");
  const auto found = sandbox::inspect_interpreter(python->path, listed, out.error);
  if (found) {
    const std::vector<std::string> prefixes{found->prefix, found->base_prefix};
    out.version = found->version;
    out.torch = module_version("torch", prefixes, found->version, listed);
    out.triton = module_version("triton", prefixes, found->version, listed);
    out.error = host.sandbox.best == sandbox::level::slot_uid ? closed_way_to(*found) : "";
    if (host.sandbox.best >= sandbox::level::namespaced && host.missing_programs.empty()) {
      why = why_cold(*found, host.sandbox);
    }
  }
  return out;
}

struct known_file_system {
  std::uint64_t magic;
  const char* name;
  bool is_network;
};
/// Of linux/magic.h and the file systems' own headers.
constexpr std::array<known_file_system, 13> file_systems = {{{0x6969, "nfs", true},
                                                             {0xFF534D42, "cifs", true},
                                                             {0xFE534D42, "smb2", true},
                                                             {0x0BD00BD0, "lustre", true},
                                                             {0x00C36400, "ceph", true},
                                                             {0x47504653, "gpfs", true},
                                                             {0x19830326, "beegfs", true},
                                                             {0x5346414F, "afs", true},
                                                             {0x65735546, "fuse", true},
                                                             {0xEF53, "ext4", false},
                                                             {0x58465342, "xfs", false},
                                                             {0x9123683E, "btrfs", false},
                                                             {0x01021994, "tmpfs", false}}};

disk_facts look_at_disk(const session& x) {
  disk_facts out;
  std::error_code ignored;
  fs::path path = state_dir_of(x);
  while (!fs::exists(path, ignored) && path.has_parent_path() && path != path.parent_path()) {
    path = path.parent_path();
  }
  out.path = path.string();
  if (::access(out.path.c_str(), W_OK | X_OK) != 0) {
    out.error = std::strerror(errno);
    return out;
  }
  struct statvfs space {};
  if (::statvfs(out.path.c_str(), &space) == 0) {
    out.free = std::uint64_t{space.f_bavail} * space.f_frsize;
  }
  struct statfs kind {};
  if (::statfs(out.path.c_str(), &kind) == 0) {
    const auto magic = static_cast<std::uint64_t>(kind.f_type) & 0xFFFFFFFFU;
    for (const auto& known : file_systems) {
      if (known.magic == magic) {
        out.file_system = known.name;
        out.is_network = known.is_network;
      }
    }
  }
  return out;
}

std::string time_zone_problem(const environment& env) {
  auto name = value_of(env, "TZ");
  if (name.empty()) {
    return {};
  }
  name = name.starts_with(':') ? name.substr(1) : name;
  // A rule such as "CET-1CEST" has a digit and needs no file.
  const bool is_rule = name.find_first_of("0123456789") != std::string::npos && name.find('/') == std::string::npos;
  const auto path = name.starts_with('/') ? name : "/usr/share/zoneinfo/" + name;
  std::error_code ignored;
  return is_rule || name == "UTC" || fs::exists(path, ignored) ? "" : "TZ=" + name + " names no time zone of this host";
}

clock_facts look_at_clocks(const environment& env) {
  using namespace std::chrono;
  clock_facts out;
  const auto wall = system_clock::now();
  const auto monotonic = steady_clock::now();
  // Long enough for a ratio to 0.1 %, short enough for a person.
  ::poll(nullptr, 0, 50);
  const duration<double> by_wall = system_clock::now() - wall;
  const duration<double> by_monotonic = steady_clock::now() - monotonic;
  out.wall_per_monotonic = by_wall / by_monotonic;
  out.wall_us = duration_cast<microseconds>(wall.time_since_epoch()).count();
  out.time_zone_problem = time_zone_problem(env);
  return out;
}

void look_at_memory(host_view& out) {
  struct sysinfo info {};
  if (::sysinfo(&info) == 0) {
    out.memory = std::uint64_t{info.totalram} * info.mem_unit;
    out.free_memory = std::uint64_t{info.freeram} * info.mem_unit;
  }
  // What the kernel would give back is free, too; sysinfo does not know it.
  std::ifstream file{"/proc/meminfo"};
  std::string word;
  while (file >> word) {
    std::uint64_t kib = 0;
    if (word == "MemAvailable:" && file >> kib) {
      out.free_memory = kib * 1024;
    }
  }
}

std::string find_compiler(const environment& env) {
  const auto given = value_of(env, "CC");
  for (const auto& name : {given, std::string{"gcc"}, std::string{"clang"}, std::string{"cc"}}) {
    if (auto path = find_on_path(value_of(env, "PATH"), name); !path.empty()) {
      return path;
    }
  }
  return {};
}

void look_at_installation(const session& x, host_view& out) {
  for (const auto* name : {"regatta-sandbox", "regatta-lifeline"}) {
    const auto path = program_dir() + "/" + name;
    if (::access(path.c_str(), X_OK) != 0) {
      out.missing_programs.push_back(path);
    }
  }
  const auto prompts = x.values.is_set("prompts") ? x.values.text("prompts") : data_dir("prompts");
  std::error_code ignored;
  out.missing_prompts = fs::is_directory(prompts, ignored) ? "" : prompts;
}

void look_at_gpus(host_view& out) {
  std::map<std::string, std::string> env;
  for (const auto& [name, value] : process_environment()) {
    env[name] = value.value;
  }
  auto inventory = find_gpus(host_devices{}, env);
  for (const auto& gpu : inventory.gpus) {
    out.gpus.push_back(gpu.name + " (" + gpu.uuid + ")");
  }
  out.gpus_left_out = std::move(inventory.left_out);
  out.gpu_warnings = std::move(inventory.warnings);
}

}  // namespace

host_view survey_host(const session& x) {
  host_view out;
  out.required = from_name<sandbox::level>(x.values.text("require-level")).value_or(sandbox::level::namespaced);
  out.sandbox = sandbox::probe();
  look_at_installation(x, out);
  out.python = look_at_python(x, out, out.why_cold);
  look_at_gpus(out);
  out.compiler = find_compiler(x.env);
  out.disk = look_at_disk(x);
  out.clock = look_at_clocks(x.env);
  rlimit files{};
  out.open_files = ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : 0;
  look_at_memory(out);
  out.cores = std::max(1U, std::thread::hardware_concurrency());
  out.keys = key_states(x.files, x.env);
  const auto provider = choose_provider(x.values, x.files, x.env);
  out.has_provider = static_cast<bool>(provider);
  out.provider_problem = provider ? "" : text_of(provider.error());
  out.config_warnings = x.warnings;
  return out;
}

}  // namespace regatta::cli
