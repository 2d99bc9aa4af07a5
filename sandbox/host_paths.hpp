// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where a path of the host really leads, and which links lie on the way: each of them must stay valid inside.
#pragma once

#include <string>
#include <vector>

namespace regatta::sandbox {

struct host_link {
  std::string path;    ///< No link on the way to it.
  std::string target;  ///< As the link says, maybe relative.
};

struct resolved_path {
  std::vector<host_link> links;
  std::string real;  ///< Absolute, no links. As far as it went if `error` is not 0.
  int error = 0;     ///< errno
};

/// `path` is absolute.
resolved_path resolve_on_host(const std::string& path);

/// True if `path` is `folder` or lies below it. Both absolute and normal.
bool is_within(const std::string& path, const std::string& folder);

/// /usr, /lib …, what every run may read. May hold paths that do not exist here.
const std::vector<std::string>& system_paths();
/// True if `path` (real) lies in one of the system's own.
bool is_system_path(const std::string& path);

}  // namespace regatta::sandbox
