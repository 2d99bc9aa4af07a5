// SPDX-License-Identifier: Apache-2.0
/// \file
/// Files below one folder, collected first and written later, so that whoever decides their content does no I/O.
///
/// A file appears whole or not at all: a temporary name that no other writer can have, then rename. `lasting` files are
/// brought to the disk (fsync of file and folder) before they get their name; for the others a power cut may bring
/// back the older state. Logs are appended to as they are.
#pragma once

#include "messages/error.hpp"

#include <caf/error.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace regatta {

enum class file_care : std::uint8_t { lasting, renamed, appended };

struct pending_file {
  std::string path;  ///< Below the root.
  std::string content;
  file_care care = file_care::renamed;
};

class file_batch {
public:
  explicit file_batch(std::string root) : root_{std::move(root)} {}

  /// The last `put` of a path before a `flush` wins. A path that leaves the root is a bug of the caller and is dropped.
  void put(std::string_view path, std::string content, file_care care = file_care::renamed);
  void append(std::string_view path, std::string_view text);

  /// Writes everything, in the order of the first mention. What fails stays for the next time; the first failure is
  /// returned: `ec::store_full` (no room) or `ec::io_failed`, naming the file.
  caf::error flush();

  const std::deque<pending_file>& pending() const { return pending_; }
  const std::string& root() const { return root_; }

private:
  pending_file* find(std::string_view path);
  caf::error write(pending_file& file);

  std::string root_;
  std::deque<pending_file> pending_;
  std::unordered_map<std::string, std::size_t> index_;  ///< Path -> position in `pending_`.
  std::unordered_set<std::string> made_;                ///< Folders that are there, unless somebody took them away.
};

/// One path component out of any text: at most 100 bytes of [A-Za-z0-9._-], no dot in front. A text that had to be
/// changed gets the beginning of its SHA-256 behind it, so that two texts never meet in one file.
std::string safe_component(std::string_view text);

/// Relative, not empty, and no component is empty, `.` or `..`.
bool stays_below(std::string_view path);

}  // namespace regatta
