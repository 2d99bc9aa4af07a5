// SPDX-License-Identifier: Apache-2.0
#include "cli/session.hpp"

#include "messages/error.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace regatta::cli {

namespace {

/// A file that was named must be there and private; `./.env` may be anything, and is then left alone.
caf::expected<void> read_env_file(session& out) {
  const auto flag = out.line.flags.find("env-file");
  const auto variable = value_of(out.env, "REGATTA_ENV_FILE");
  const auto given = flag != out.line.flags.end() ? flag->second.front() : variable;
  std::string warning;
  auto done = add_env_file(out.env, given.empty() ? ".env" : given, warning);
  if (!done) {
    return done;
  }
  if (!given.empty() && (!warning.empty() || ::access(given.c_str(), F_OK) != 0)) {
    return fail(ec::invalid_config, "--env-file: " + (warning.empty() ? given + " is not there" : warning));
  }
  if (!warning.empty()) {
    out.warnings.push_back(warning);
  }
  return {};
}

}  // namespace

caf::expected<session> open_session(command_line line, environment env) {
  session out;
  out.line = std::move(line);
  out.env = std::move(env);
  if (auto done = read_env_file(out); !done) {
    return done.error();
  }
  auto files = read_config_files(out.line.config_file, out.env);
  if (!files) {
    return files.error();
  }
  out.files = std::move(*files);
  auto values = settings::resolve(out.line.flags, out.env, out.files);
  if (!values) {
    return values.error();
  }
  out.values = std::move(*values);
  return out;
}

std::string state_dir_of(const session& x) {
  std::error_code error;
  const auto out = std::filesystem::absolute(x.values.text("state-dir"), error);
  const auto normal = out.lexically_normal();
  return (normal.has_filename() ? normal : normal.parent_path()).string();
}

}  // namespace regatta::cli
