// SPDX-License-Identifier: Apache-2.0
// Runs one program through a command runner and prints its output; for the test that kills this process.
// usage: command_host LIFELINE PROGRAM ARGS…
#include "actors/llm/command_runner.hpp"

#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) {
    return 2;
  }
  const auto show = [](const regatta::program_event& x) {
    if (const auto* output = std::get_if<regatta::program_output>(&x)) {
      [[maybe_unused]] const auto put = write(STDOUT_FILENO, output->bytes.data(), output->bytes.size());
    }
  };
  regatta::command_runner runner{show, argv[1]};
  runner.start(1, {{argv + 2, argv + argc}, {}, "", "input"});
  pause();
}
