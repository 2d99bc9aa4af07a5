// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/log.hpp"
#include "cli/terminal_text.hpp"
#include "messages/error.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace regatta::cli {

exit_code complain(const caf::error& error, streams to) {
  to.err.write("regatta: " + clean_line(text_of(error)) + "\n");
  return exit_code_of(error);
}

namespace {

exit_code dispatch(const session& x, signal_watch& signals, streams to) {
  switch (x.line.kind) {
    case command_kind::race:
      return run_race(x, signals, to);
    case command_kind::resume:
      return run_resume(x, signals, to);
    case command_kind::show:
      return run_show(x, to);
    case command_kind::list:
      return run_list(x, to);
    case command_kind::cancel:
      return run_cancel(x, to);
    case command_kind::status:
      return run_status(x, to);
    case command_kind::record:
      return run_record(x, to);
    case command_kind::gc:
      return run_gc(x, to);
    case command_kind::config:
      return run_config(x, to);
    case command_kind::doctor:
      return run_doctor(x, to);
    case command_kind::verify:
      return run_verify(x, signals, to);
  }
  return exit_code::internal;
}

/// One that is missing would be given to the next file that is opened, and the account be written into the store.
/// Opened for reading, so that what is written there is known to be lost.
void hold_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) {
      [[maybe_unused]] const int lowest_free = ::open("/dev/null", O_RDONLY);
    }
  }
}

/// What was asked for and could not be written is no success.
int told(int code, bool is_race, streams to) {
  if (to.out.why().empty()) {
    return code;
  }
  to.err.write("regatta: stdout: " + to.out.why() + "\n");
  const auto lost = is_race ? exit_code::packaging_failed : exit_code::failed;
  return code == 0 ? static_cast<int>(lost) : code;
}

int run(const std::vector<std::string>& arguments) {
  hold_standard_descriptors();
  // Keys, prompts and candidates are nobody else's business.
  ::umask(077);
  // Before any thread: threads inherit the mask.
  signal_watch signals;
  output out{STDOUT_FILENO};
  output err{STDERR_FILENO};
  const streams to{out, err};
  auto parsed = parse_command_line(arguments);
  if (!parsed.command) {
    (parsed.exit_code == 0 ? out : err).write(parsed.text);
    return told(parsed.exit_code, false, to);
  }
  auto opened = open_session(std::move(*parsed.command), process_environment());
  if (!opened) {
    return static_cast<int>(complain(opened.error(), to));
  }
  open_log(opened->values.flag("verbose"));
  for (const auto& text : opened->warnings) {
    log_warning(clean_line(text));
  }
  const bool is_race = opened->line.kind == command_kind::race || opened->line.kind == command_kind::resume;
  return told(static_cast<int>(dispatch(*opened, signals, to)), is_race, to);
}

}  // namespace

}  // namespace regatta::cli

int main(int argc, char** argv) {
  using namespace regatta::cli;
  try {
    const int code = run({argv + 1, argv + argc});
    if (code == static_cast<int>(exit_code::internal)) {
      // Something of ours may still run; destructors of statics must not race with it.
      ::_exit(code);
    }
    return code;
  } catch (const std::exception& x) {
    const auto text = "regatta: internal error: " + clean_line(x.what()) + "\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    return static_cast<int>(exit_code::internal);
  }
}
