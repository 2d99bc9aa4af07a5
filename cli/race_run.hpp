// SPDX-License-Identifier: Apache-2.0
/// \file
/// RACE RUN: one race from its setup to its account, new or resumed: actors, signals, control socket, display.
#pragma once

#include "cli/commands.hpp"
#include "cli/race_setup.hpp"

namespace regatta::cli {

exit_code run_to_its_end(const session& x, race_setup setup, signal_watch& signals, streams to);

}  // namespace regatta::cli
