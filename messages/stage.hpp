// SPDX-License-Identifier: Apache-2.0
/// \file
/// A STAGE as data: what the model is asked for, what counts as code, what the candidate must define. The race does
/// not know stages apart. Files under prompts/<stage>/ make one (actors/prompts.hpp reads them).
#pragma once

#include "messages/fields.hpp"
#include "messages/ids.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace regatta {

struct stage_spec {
  std::string name;                   ///< `kernel`, `extract`.
  std::string system;                 ///< System message.
  std::vector<std::string> variants;  ///< One sentence or more each; worker i gets variant i modulo their number.
  std::string body;                   ///< What every prompt says between variant and problem.
  /// Top-level names of which the candidate must define every one; empty: any program.
  std::vector<std::string> must_define;
  std::string digest;                 ///< SHA-256 over all of the above, so that a record names its wording.
  REGATTA_FIELDS(name, system, variants, body, must_define, digest);
};

/// A problem, read once; never expanded as a template.
struct problem_spec {
  std::string name;    ///< File name without `.py`.
  std::string path;    ///< Absolute, links resolved; on the host where the race was started.
  std::string text;
  std::string digest;  ///< SHA-256 of the bytes.
  REGATTA_FIELDS(name, path, text, digest);
};

}  // namespace regatta
