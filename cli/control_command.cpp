// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/control_socket.hpp"
#include "cli/terminal_text.hpp"
#include "messages/error.hpp"

namespace regatta::cli {

namespace {

/// The running race that a user means: its id, the unique beginning of one, or `latest`.
caf::expected<race_id> find_running(const std::string& state_dir, const std::string& run) {
  const auto all = controlled_races(state_dir);
  std::vector<race_id> found;
  for (const auto& race : all) {
    const bool is_meant = run == "latest" ? found.empty() : race.text.starts_with(run) && !run.empty();
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
