// SPDX-License-Identifier: Apache-2.0
/// \file
/// Controllers of cgroup v2 for groups of ours. The kernel hands them down only from a cgroup without processes, and we
/// sit in ours: so we step aside into a sub-group for as long as we need them, and back at the end.
///
///   before   <own>: we                   meanwhile   <own>: cgroup.subtree_control = memory pids cpu
///                                                      ├── regatta-supervisor: we, our forker
///                                                      └── regatta-<pid>-…: groups of runs
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace regatta::sandbox {

struct controller_wish {
  std::string needed = "memory";
  std::vector<std::string> useful = {"pids", "cpu"};  ///< Taken if they are there.
};

class cgroup_delegation {
public:
  /// Never moves a process that is not this one. Null and `error` filled if the needed controller is not to be had. Who
  /// takes the same place again in this process gets the same.
  static std::shared_ptr<cgroup_delegation> take(const std::string& place, const controller_wish& wish,
                                                 std::string& error);
  /// Takes back what it did. What somebody else uses by now stays.
  ~cgroup_delegation();
  cgroup_delegation(const cgroup_delegation&) = delete;
  cgroup_delegation& operator=(const cgroup_delegation&) = delete;

  /// For a child that outlives us: what `restore` wants. Empty if there is nothing to take back.
  std::string duty() const;

private:
  explicit cgroup_delegation(std::string place) : place_(std::move(place)) {}
  bool hand_down(const controller_wish& wish, std::string& error);

  const std::string place_;
  std::vector<std::string> handed_down_;  ///< By us.
  bool has_moved_ = false;
};

/// Does what the destructor would have done, from any process that was born in the sub-group.
void restore(const std::string& duty);
/// To tell a duty from other arguments.
inline constexpr const char* duty_prefix = "--give-back=";

/// The sub-group's name, which is no place for further groups.
inline constexpr const char* supervisor_group = "regatta-supervisor";

}  // namespace regatta::sandbox
