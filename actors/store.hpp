// SPDX-License-Identifier: Apache-2.0
/// \file
/// STORE: the durable truth. Every event goes into SQLite (batched), then into the run directory's files.
///
/// The LEDGER of calls to models is in the same database: what is asked of it while a transaction is being written
/// shares the next one, so that a thousand workers wait for one fsync together.
///
/// One per coordinator, detached: the one actor that blocks. Talks to nobody but whoever asks `commit`. On an exit
/// message it first writes every event that was sent to it before.
#pragma once

#include "messages/coordinator_handles.hpp"
#include "messages/ledger.hpp"

#include <caf/actor_system.hpp>

#include <chrono>
#include <functional>
#include <string>

namespace regatta {

/// Converts to both of its parts.
using ledger_store_actor = store_actor::extend_with<ledger_actor>;

struct store_config {
  /// Absolute; holds `regatta.db` and one folder per run. Created with mode 0700.
  std::string state_dir;
  /// How long events may wait for company before they are written. 20 ms: a commit with fsync costs about that.
  std::chrono::milliseconds batch_delay{20};
  /// For the log: that the disk is full and later not any more, that the folder lies on a network file system. Called
  /// from the store's thread (and once from the caller's). May be empty.
  std::function<void(const std::string&)> on_note;
};

/// Opens or creates the database first, in the calling thread, so that a bad state folder is an error at start:
/// `ec::store_failed`, `ec::io_failed`.
caf::expected<ledger_store_actor> spawn_store(caf::actor_system& system, const store_config& config);

}  // namespace regatta
