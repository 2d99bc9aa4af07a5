// SPDX-License-Identifier: Apache-2.0
/// \file
/// One program on stdin and stdout, under a lifeline: what it is started with, what comes of it.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace regatta {

using program_id = std::uint64_t;

struct program_spec {
  std::vector<std::string> argv;  ///< The first is found on PATH; a relative path is the caller's.
  std::vector<std::string> pass_environment;
  std::string working_dir;  ///< Empty: a fresh folder, removed at the end.
  std::string input;        ///< For its stdin, which is closed after it.
};

/// Something came. Empty `bytes`: only stderr, or only a sign of life.
struct program_output {
  program_id id = 0;
  std::string bytes;  ///< Of stdout.
};

enum class program_end : std::uint8_t {
  exited,
  signalled,
  not_started,
  cancelled,         ///< By us.
  output_too_large,  ///< Killed at `reply_bytes`.
  lost,              ///< Its lifeline died, or it could not be killed in time: something may still run.
};

/// The one end of a program: nothing of its tree is left, unless `lost`.
struct program_ended {
  program_id id = 0;
  program_end how = program_end::lost;
  int code = 0;        ///< Exit status, signal or errno.
  std::string errors;  ///< The last of stderr; what failed if `not_started`.
};

using program_event = std::variant<program_output, program_ended>;

/// PATH, HOME, LANG, LC_*, TERM, USER and the named ones, as NAME=value, of this process.
std::vector<std::string> program_environment(const std::vector<std::string>& also);

}  // namespace regatta

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(regatta::program_event)
