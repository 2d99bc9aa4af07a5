// SPDX-License-Identifier: Apache-2.0
/// \file
/// What `regatta gc` did, or would do, for programs. Pure.
#pragma once

#include "actors/store_gc.hpp"

#include <string>
#include <vector>

namespace regatta::cli {

struct gc_account {
  gc_plan plan;
  std::vector<gc_race> removed;  ///< Gone by now; as planned where nothing was done.
  gc_result done;
  bool is_dry_run = false;
};

/// One line: {"schema_version": 1, "is_dry_run": …, "races": […], …}.
std::string gc_json(const gc_account& x);

}  // namespace regatta::cli
