// SPDX-License-Identifier: Apache-2.0
/// \file
/// RUN DIRECTORY: one race's files for people and scripts, in KernelAgent's layout, made from events alone and never
/// read back. Plain class; `apply` decides, `flush` writes.
#pragma once

#include "actors/file_batch.hpp"
#include "actors/result_archive.hpp"
#include "actors/run_tally.hpp"
#include "messages/event.hpp"

#include <caf/error.hpp>

#include <string>
#include <vector>

namespace regatta {

class run_directory {
public:
  /// `folder`: absolute, `<state_dir>/<race id>`; made by the first `flush`.
  run_directory(std::string folder, const event& head, const race_started& start);

  /// Events come in order of `seq`. The winner's archive is written at once, as summary.json must say whether that
  /// went well; all else waits for `flush`.
  void apply(const event& x);

  /// An event of a former process, before the first `apply` of this one. Files that are whole at any moment are made
  /// again, in case that process died before it could; logs and streams, which it appended to, are not.
  void restore(const event& x);

  /// What failed is tried again by the next call. Fails: `ec::store_full`, `ec::io_failed`.
  caf::error flush() { return files_.flush(); }

  /// Empty before the winner, or if packing failed.
  const std::string& artifact_path() const { return race_.artifact_path; }
  const file_batch& files() const { return files_; }

private:
  void on(const event& x, const race_started& body);
  void on(const event& x, const worker_started& body);
  void on(const event& x, const worker_moved& body);
  void on(const event& x, const prompt_sent& body);
  void on(const event& x, const reply_delta& body);
  void on(const event& x, const reply_ended& body);
  void on(const event& x, const code_extracted& body);
  void on(const event& x, const candidate_reserved& body);
  void on(const event& x, const candidate_evaluated& body);
  void on(const event& x, const round_failed& body);
  void on(const event& x, const worker_finished& body);
  void on(const event& x, const winner_decided& body);
  void on(const event& x, const runner_up& body);
  void on(const event& x, const race_cancelled& body);
  void on(const event& x, const race_ended& body);
  void on(const event& x, const race_resumed& body);

  void log(const event& x);
  void append(const std::string& path, const std::string& text);
  void put_state(const worker_id& worker);
  void put_run(const std::string& folder, const std::vector<archive_member>& files);
  void pack(const event& x, const winner_decided& body);
  worker_tally& worker(const worker_id& id);

  race_tally race_;
  bool is_restoring_ = false;
  file_batch files_;
};

}  // namespace regatta
