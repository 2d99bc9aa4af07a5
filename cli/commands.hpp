// SPDX-License-Identifier: Apache-2.0
/// \file
/// The commands. Each prints its result on stdout, all else on stderr, and answers the exit code.
#pragma once

#include "actors/store_reader.hpp"
#include "cli/exit_codes.hpp"
#include "cli/output.hpp"
#include "cli/session.hpp"
#include "cli/signals.hpp"

namespace regatta::cli {

struct streams {
  output& out;
  output& err;
};

exit_code run_race(const session& x, signal_watch& signals, streams to);
exit_code run_resume(const session& x, signal_watch& signals, streams to);
exit_code run_show(const session& x, streams to);
exit_code run_list(const session& x, streams to);
exit_code run_cancel(const session& x, streams to);
exit_code run_status(const session& x, streams to);
exit_code run_record(const session& x, streams to);
exit_code run_gc(const session& x, streams to);
exit_code run_config(const session& x, streams to);
exit_code run_doctor(const session& x, streams to);
exit_code run_verify(const session& x, signal_watch& signals, streams to);

/// The run that the user means: an id, the beginning of one, `latest`. Fails with the runs that may have been meant.
caf::expected<race_id> find_run(store_reader& store, const std::string& run);

/// "regatta: …" on stderr, on one line; and the code that goes with the error.
exit_code complain(const caf::error& error, streams to);

}  // namespace regatta::cli
