// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading a file that a user named: bounded, and with an error that names it.
#pragma once

#include "messages/stage.hpp"

#include <caf/expected.hpp>

#include <cstdint>
#include <string>

namespace regatta::cli {

/// A regular file of at most `most` bytes. Fails: `ec::invalid_config`, naming file, got and allowed.
caf::expected<std::string> read_text_file(const std::string& path, std::uint64_t most);

/// A PyTorch problem: regular file, links resolved, `problem_bytes` at most, UTF-8 (a BOM is dropped), no NUL.
/// Fails: `ec::invalid_config`, one line.
caf::expected<problem_spec> read_problem(const std::string& path);

/// Offset of the first byte that is not UTF-8 (overlong forms and surrogates included); `npos` if all is.
std::size_t first_bad_utf8(std::string_view text);

}  // namespace regatta::cli
