// SPDX-License-Identifier: Apache-2.0
/// \file
/// What stands in for namespaces where there are none, in the run's first process: a folder on disk in place of a tmpfs,
/// a hunt in place of a pid namespace's end, looks every 0.1 s in place of what the kernel would limit.
#pragma once

#include "sandbox/launch_plan.hpp"
#include "sandbox/scratch_folder.hpp"

#include <cstdint>
#include <optional>

namespace regatta::sandbox {

class host_tree {
public:
  /// Becomes a subreaper and deaf to all signals but those that cannot be ignored, SIGCHLD and SIGTERM.
  host_tree(const confinement& walls, std::uint32_t uid, const run_limits& limits);

  /// The run's folder, still ours. `plan` says /run/job: that becomes its path. Throws setup_error.
  int make_folder(launch_plan& plan);
  bool has_folder() const { return folder_.has_value(); }
  const std::string& path() const { return folder_->path; }
  /// Once it is filled: to the run's uid. Throws setup_error.
  void hand_over() const;

  /// Whether the run is past a limit that the kernel does not keep here, and which. `now`: CLOCK_MONOTONIC.
  std::optional<init_record::kind> look(std::int64_t now);
  std::uint64_t peak_bytes() const { return peak_; }
  /// Processes of the tree that are alive; 0 where nobody looks.
  std::uint32_t count() const;

  /// Kills and reaps all of them. Returns when there is none.
  void end() const;
  /// By whoever owns what is in it: a tree that a stranger made is not walked with more rights than theirs.
  void remove_folder() const;

private:
  const confinement walls_;
  const std::uint32_t uid_;
  const run_limits limits_;
  std::optional<scratch_folder> folder_;
  std::uint64_t peak_ = 0;
  std::int64_t next_disk_look_ = 0;
};

/// In a child of ours that has become `uid` for good: `action`, then its end. False if that could not be had.
bool as_uid(std::uint32_t uid, void (*action)(const void*), const void* argument);

}  // namespace regatta::sandbox
