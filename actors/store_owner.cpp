// SPDX-License-Identifier: Apache-2.0
#include "actors/store_owner.hpp"

#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>

namespace regatta {

namespace {

/// 0 if there is no such process, or only its exit status is left for a parent that does not ask.
std::uint64_t start_ticks_of(std::int64_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
  std::string line;
  std::getline(file, line);
  // The second field is the program's name in parentheses and may hold anything, spaces and `)` included.
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) {
    return 0;
  }
  std::istringstream rest{line.substr(name_end + 1)};
  char state = 0;
  rest >> state;
  if (state == 'Z' || state == 'X') {
    return 0;
  }
  std::string skipped;
  for (int field = 4; field < 22; ++field) {
    rest >> skipped;
  }
  std::uint64_t ticks = 0;
  rest >> ticks;
  return ticks;
}

std::string boot_id() {
  std::ifstream file{"/proc/sys/kernel/random/boot_id"};
  std::string id;
  std::getline(file, id);
  return id;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string{name.data()} : std::string{};
}

}  // namespace

store_owner this_process() {
  return {::getpid(), start_ticks_of(::getpid()), boot_id(), host_name()};
}

bool may_be_alive(const store_owner& owner) {
  if (owner.host != host_name()) {
    return true;
  }
  return owner.boot_id == boot_id() && owner.start_ticks != 0 && start_ticks_of(owner.pid) == owner.start_ticks;
}

}  // namespace regatta
