// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/log.hpp"
#include "cli/terminal_text.hpp"
#include "messages/error.hpp"

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
    case command_kind::show:
      return run_show(x, to);
    case command_kind::list:
      return run_list(x, to);
    case command_kind::cancel:
      return run_cancel(x, to);
    case command_kind::status:
      return run_status(x, to);
    case command_kind::config:
      return run_config(x, to);
    case command_kind::doctor:
      return run_doctor(x, to);
  }
  return exit_code::internal;
}

int run(const std::vector<std::string>& arguments) {
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
    return parsed.exit_code;
  }
  auto opened = open_session(std::move(*parsed.command), process_environment());
  if (!opened) {
    return static_cast<int>(complain(opened.error(), to));
  }
  open_log(opened->values.flag("verbose"));
  for (const auto& text : opened->warnings) {
    log_warning(clean_line(text));
  }
  return static_cast<int>(dispatch(*opened, signals, to));
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
