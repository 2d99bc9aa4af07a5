// SPDX-License-Identifier: Apache-2.0
#include "sandbox/cgroup.hpp"
#include "sandbox/forker.hpp"
#include "sandbox/seccomp_policy.hpp"

#include <string_view>

namespace regatta::sandbox {

int forker_main(int argc, char** argv) {
  std::string error;
  const bool has_served = serve_runs(build_seccomp_filter(error), nullptr);
  for (int i = 1; i < argc; ++i) {
    if (std::string_view{argv[i]}.starts_with(duty_prefix)) {
      restore(argv[i]);
    } else {
      remove_group(argv[i]);
    }
  }
  return has_served ? 0 : 1;
}

}  // namespace regatta::sandbox
