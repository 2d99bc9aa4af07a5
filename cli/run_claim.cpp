// SPDX-License-Identifier: Apache-2.0
#include "cli/run_claim.hpp"

#include "messages/error.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace regatta::cli {

race_id unused_run_id(const std::string& state_dir, const std::function<race_id()>& make) {
  // Each holds 32 random bits; a second collision is a broken generator.
  constexpr int most_tries = 8;
  auto id = make();
  for (int tries = 1; tries < most_tries && ::access((state_dir + "/" + id.text).c_str(), F_OK) == 0; ++tries) {
    id = make();
  }
  return id;
}

caf::error claim_run_folder(const std::string& run_dir) {
  if (::mkdir(run_dir.c_str(), 0700) == 0) {
    return {};
  }
  if (errno == EEXIST) {
    return fail(ec::refused, run_dir + ": another race has this folder; start again");
  }
  return fail(ec::io_failed, "cannot make " + run_dir + ": " + std::strerror(errno));
}

}  // namespace regatta::cli
