// SPDX-License-Identifier: Apache-2.0
/// \file
/// A fresh folder for one program, `$TMPDIR/regatta-command-XXXXXX`, removed with it. Its owner holds a lock on it: who
/// gets that lock knows that the owner is gone, whichever host, container or boot it was of.
#pragma once

#include "actors/llm/owned_fd.hpp"

#include <string>
#include <vector>

namespace regatta {

class command_folder {
public:
  command_folder() = default;
  command_folder(const command_folder&) = delete;
  command_folder& operator=(const command_folder&) = delete;
  ~command_folder();

  /// False and errno set if it cannot be made.
  bool make();
  /// Empty until it is made.
  const std::string& path() const { return path_; }

private:
  std::string path_;
  owned_fd lock_;
};

/// Folders of this user whose owner was killed.
std::vector<std::string> left_command_folders();

/// Removes them; what cannot be removed stays.
void remove_left_command_folders();

}  // namespace regatta
