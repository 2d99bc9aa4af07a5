// SPDX-License-Identifier: Apache-2.0
/// \file
/// `result.tar.gz` in memory: same members in, same bytes out.
#pragma once

#include "messages/error.hpp"

#include <caf/expected.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace regatta {

struct archive_member {
  std::string path;  ///< Relative, `code.py` or `runs/…`.
  std::string content;
};

/// Members are sorted by path; owner 0, mode 0600, `modified_s` (UTC) for all of them. Fails: `ec::io_failed`, also
/// for a path that would leave the folder where it is unpacked.
caf::expected<std::string> make_result_archive(std::vector<archive_member> members, std::int64_t modified_s);

}  // namespace regatta
