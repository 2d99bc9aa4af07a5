// SPDX-License-Identifier: Apache-2.0
/// \file
/// DOCTOR: what is wrong with a host and how to mend it. Pure: facts in, findings out.
#pragma once

#include "cli/host_view.hpp"
#include "messages/enums.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace regatta::cli {

enum class health : std::uint8_t {
  ok,
  warn,  ///< Races run, but worse or not everywhere.
  fail,  ///< No race can run as things are.
};

struct finding {
  health level = health::ok;
  std::string check;  ///< "sandbox", "python", …: stable names, each at least once.
  std::string text;
  std::string remedy;  ///< Empty if `ok`.
};

std::vector<finding> diagnose(const host_view& x);

std::string doctor_text(const std::vector<finding>& findings);
std::string doctor_json(const std::vector<finding>& findings);
bool has_failure(const std::vector<finding>& findings);

}  // namespace regatta::cli

REGATTA_ENUM_NAMES(regatta::cli::health, 3, {regatta::cli::health::ok, "ok"}, {regatta::cli::health::warn, "warn"},
                   {regatta::cli::health::fail, "fail"});
