// SPDX-License-Identifier: Apache-2.0
#include "actors/store_schema.hpp"
#include "cli/commands.hpp"
#include "cli/control_socket.hpp"
#include "cli/terminal_text.hpp"
#include "messages/error.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

namespace regatta::cli {

namespace {

/// Those that answer, or at least do not say that they are gone: a killed program leaves its socket behind.
std::vector<race_id> running_races(const std::string& state_dir, const std::vector<race_id>& sockets) {
  std::vector<race_id> out;
  for (const auto& race : sockets) {
    const auto answer = ask_race(state_dir, race, "status");
    if (answer || code_of(answer.error()) != ec::not_found) {
      out.push_back(race);
    }
  }
  return out;
}

/// The running race that a user means: its id, the unique beginning of one, or `latest`.
caf::expected<race_id> find_running(const std::string& state_dir, const std::string& run) {
  if (run.empty()) {
    return fail(ec::invalid_config, "RUN: got \"\", allowed: a run id, the beginning of one, latest");
  }
  const auto sockets = controlled_races(state_dir);
  if (std::find(sockets.begin(), sockets.end(), race_id{run}) != sockets.end()) {
    // Named whole: no other one needs to be asked, which may be stopped and silent.
    return race_id{run};
  }
  const auto all = running_races(state_dir, sockets);
  std::vector<race_id> found;
  for (const auto& race : all) {
    const bool is_meant = run == "latest" ? found.empty() : race.text.starts_with(run);
    if (is_meant) {
      found.push_back(race);
    }
  }
  if (found.size() == 1) {
    return found.front();
  }
  std::string text;
  for (const auto& race : found.empty() ? all : found) {
    text += (text.empty() ? "" : ", ") + race.text;
  }
  return fail(ec::not_found, "no running race is meant by \"" + clean_line(run) +
                                 "\" alone; running: " + (text.empty() ? "none" : text));
}

}  // namespace

exit_code run_cancel(const session& x, streams to) {
  const auto folder = state_dir_of(x);
  const auto race = find_running(folder, x.line.run);
  if (!race) {
    return complain(race.error(), to);
  }
  const auto answer = ask_race(folder, *race, "cancel");
  if (!answer) {
    return complain(answer.error(), to);
  }
  to.out.write(clean_text(*answer));
  return exit_code::won;
}

exit_code run_status(const session& x, streams to) {
  const auto folder = state_dir_of(x);
  const auto store = folder + "/" + std::string{store_file_name};
  std::error_code ignored;
  if (!std::filesystem::exists(store, ignored)) {
    // As `list` says it: a slip in --state-dir is not "nothing runs".
    return complain(fail(ec::not_found, "no store at \"" + store + "\""), to);
  }
  bool is_any = false;
  for (const auto& race : controlled_races(folder)) {
    const auto answer = ask_race(folder, race, "status");
    if (answer) {
      is_any = true;
      to.out.write(clean_text(*answer));
    } else if (code_of(answer.error()) != ec::not_found) {
      is_any = true;
      to.out.write(clean_line(text_of(answer.error())) + "\n");
    }
  }
  if (!is_any) {
    to.out.write("no race is running with the state folder " + clean_line(folder) + "\n");
  }
  return exit_code::won;
}

}  // namespace regatta::cli
