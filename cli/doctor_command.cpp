// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/doctor.hpp"
#include "cli/host_survey.hpp"

namespace regatta::cli {

exit_code run_doctor(const session& x, streams to) {
  const auto findings = diagnose(survey_host(x));
  to.out.write(x.values.flag("json") ? doctor_json(findings) : doctor_text(findings));
  return has_failure(findings) ? exit_code::failed : exit_code::won;
}

}  // namespace regatta::cli
