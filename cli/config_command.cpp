// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/config_report.hpp"

namespace regatta::cli {

exit_code run_config(const session& x, streams to) {
  to.out.write(config_report(x));
  return exit_code::won;
}

}  // namespace regatta::cli
