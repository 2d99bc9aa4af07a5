// SPDX-License-Identifier: Apache-2.0
/// \file
/// COMMAND LINE: argv into a command and its values. The only place that knows CLI11.
#pragma once

#include "cli/settings.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace regatta::cli {

enum class command_kind : std::uint8_t { race, resume, show, list, cancel, status, record, gc, config, doctor, verify };

struct command_line {
  command_kind kind = command_kind::race;
  flag_values flags;    ///< Of the option table, under the name that was typed; checked only for being known.
  std::string problem;    ///< race, verify
  std::string candidate;  ///< verify
  std::string config_file;
  std::string run;          ///< show, cancel, resume, record
  std::string worker;       ///< show
  std::uint32_t round = 0;  ///< show
  std::string out_file;     ///< record; empty: stdout
  std::string older_than;   ///< gc
  std::string keep_size;    ///< gc
  bool is_dry_run = false;  ///< gc
};

/// Either a command, or a text to print and an exit code (help, version: 0 on stdout; wrong usage: 2 on stderr).
struct parsed_line {
  std::optional<command_line> command;
  std::string text;
  int exit_code = 0;
};

parsed_line parse_command_line(const std::vector<std::string>& arguments);

}  // namespace regatta::cli
