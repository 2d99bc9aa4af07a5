// SPDX-License-Identifier: Apache-2.0
// in_environment NAME PROGRAM ARGUMENTS…: runs a program where NAME says (environments.hpp). For tests of whole programs,
// and by hand: in_environment docker_root regatta doctor
#include "tests/sandbox/support/environments.hpp"

#include <unistd.h>

#include <cstdio>
#include <map>
#include <string>

int main(int argc, char** argv) {
  using regatta::sandbox::test::environment;
  const std::map<std::string, environment> names = {{"ordinary_user", environment::ordinary_user},
                                                    {"docker_root", environment::docker_root},
                                                    {"docker_user", environment::docker_user},
                                                    {"no_capabilities", environment::no_capabilities},
                                                    {"no_landlock", environment::no_landlock}};
  const auto found = argc < 3 ? names.end() : names.find(argv[1]);
  if (found == names.end()) {
    std::fprintf(stderr, "in_environment NAME PROGRAM ARGUMENTS…; names:");
    for (const auto& [name, ignored] : names) {
      std::fprintf(stderr, " %s", name.c_str());
    }
    std::fprintf(stderr, "\n");
    return 2;
  }
  if (!regatta::sandbox::test::enter(found->second)) {
    std::fprintf(stderr, "in_environment: %s is entered as root\n", argv[1]);
    return 77;  // "skipped" to whoever looks
  }
  ::execvp(argv[2], argv + 2);
  std::perror(argv[2]);
  return 127;
}
