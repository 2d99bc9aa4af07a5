// SPDX-License-Identifier: Apache-2.0
/// \file
/// HOST VIEW: all that `regatta doctor` knows of a host, as plain facts. cli/host_survey.cpp fills it from the real
/// one; tests make hosts up.
#pragma once

#include "cli/providers.hpp"
#include "sandbox/probe.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace regatta::cli {

struct python_facts {
  std::string path;    ///< Empty: none was found.
  std::string source;  ///< "VIRTUAL_ENV" …
  std::string version;
  std::string error;  ///< Why it cannot be used; empty if it can.
  std::string torch;  ///< Version; empty if it is not installed.
  std::string triton;
};

struct disk_facts {
  std::string path;         ///< The state folder, or the nearest folder above it that exists.
  std::string error;        ///< Not writable …
  std::uint64_t free = 0;   ///< Bytes.
  std::string file_system;  ///< "nfs", "ext4" …; empty if unknown.
  bool is_network = false;
};

struct clock_facts {
  std::int64_t wall_us = 0;       ///< UTC µs.
  double wall_per_monotonic = 1;  ///< How fast the wall clock runs against the monotonic one.
  std::string time_zone_problem;  ///< $TZ names nothing that is known …
};

struct host_view {
  sandbox::level required = sandbox::level::namespaced;
  sandbox::host_facts sandbox;
  std::vector<std::string> missing_programs;  ///< regatta-sandbox, regatta-lifeline that do not lie beside us.
  std::string missing_prompts;                ///< Folder; empty if it is there.
  python_facts python;
  std::string why_cold;                    ///< Empty: candidates start warm, or that was not to be found out.
  std::vector<std::string> gpus;           ///< "NVIDIA H200 (GPU-…)"
  std::vector<std::string> gpus_left_out;  ///< Each with its remedy.
  std::vector<std::string> gpu_warnings;
  std::string compiler;  ///< Path of gcc, cc or clang; empty: none.
  disk_facts disk;
  clock_facts clock;
  std::uint64_t open_files = 0;  ///< RLIMIT_NOFILE, soft.
  std::uint64_t memory = 0;      ///< Bytes, in all.
  std::uint64_t free_memory = 0;
  std::uint32_t cores = 1;
  std::vector<key_state> keys;
  bool has_provider = false;  ///< A model could be asked as things are configured.
  std::string provider_problem;
  std::vector<std::string> config_warnings;  ///< `.env` that others may read …
};

}  // namespace regatta::cli
