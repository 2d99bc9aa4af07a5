// SPDX-License-Identifier: Apache-2.0
/// \file
/// One run as the runner's thread sees it, from `start` until `done`.
#pragma once

#include "sandbox/cgroup.hpp"
#include "sandbox/classify.hpp"
#include "sandbox/kill_switch.hpp"
#include "sandbox/launch_plan.hpp"
#include "sandbox/output_keeper.hpp"
#include "sandbox/run_spec.hpp"
#include "sandbox/unique_fd.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regatta::sandbox {

class active_run {
public:
  using clock = std::chrono::steady_clock;

  struct callbacks {
    std::function<void(std::string_view)> on_stdout;  ///< Interactive only.
    std::function<void(run_result)> done;
  };

  active_run(std::uint64_t number, run_spec what, callbacks then, std::shared_ptr<kill_switch> ender);

  /// Empty, or why this can never be run.
  static std::string refusal_of(const run_spec& spec);

  /// Reads what is there, up to a bound so that one flood does not starve other runs. Orders the kill when the limit
  /// is passed.
  void read_output(int which);
  /// After the tree's end: what is still in the pipes.
  void drain_output();
  void write_input(const std::string& bytes);
  void flush_input();
  /// All records that have come.
  void read_records();
  /// Without a pid namespace: whether pid 1 said that the tree is gone.
  bool is_known_gone() const { return is_known_gone_; }
  /// That pid 1 would have removed.
  void remove_left_folder();

  clock::time_point asked_at() const { return asked_at_; }
  /// When the runner must look at this run again; empty: never.
  std::optional<clock::time_point> deadline() const;
  /// Past `deadline()`.
  void on_deadline();
  /// Goes on in the process of `waiting`, which has said that it is ready; the wall limit begins.
  void take_over(active_run& waiting);
  /// Of a waiting process: the files of the run that it gets. Empty, or what went wrong.
  std::string put_files(const std::vector<input_file>& files) const;
  /// The set-up failed in our own process or in the forker.
  void fail(std::string reason) { setup_failure_ = std::move(reason); }

  run_result result(const confinement& walls, const cgroup_usage& usage, clock::time_point now);

  const std::uint64_t id;
  run_spec spec;
  callbacks calls;
  const std::shared_ptr<kill_switch> ender;
  std::optional<std::uint32_t> slot;
  cgroup_leaf leaf;
  unique_fd control;  ///< To pid 1.
  unique_fd in;
  unique_fd out;
  unique_fd err;
  bool has_ends = false;  ///< `in`, `out`, `err` are what they will be.
  bool is_armed = false;  ///< pid 1 exists and `ender` can end it.
  bool is_asked_for = false;  ///< pid 1 was killed and left its tree; the forker tells when that is gone.

  std::optional<std::uint64_t> zygote;  ///< That it starts from.
  std::string why_cold;
  unique_fd link;            ///< To a process that waits or waited.
  bool has_begun = false;    ///< It said that it took this run.
  bool was_ready = false;    ///< The process had waited.
  bool holds_alone = false;  ///< Its devices are claimed for it alone.
  /// For the forker, should the zygote refuse.
  launch_request request;
  std::vector<unique_fd> spare;

private:
  void on_record(const init_record& record, std::vector<unique_fd>& descriptors);
  void take_output(int which, std::string_view bytes);
  bool has_unwritten() const { return written_ < input_.size(); }

  const clock::time_point asked_at_ = clock::now();
  const std::chrono::system_clock::time_point started_at_ = std::chrono::system_clock::now();
  output_keeper stdout_;
  output_keeper stderr_;
  claim_matcher matcher_;
  std::string input_;
  std::size_t written_ = 0;
  unique_fd job_;
  std::string folder_on_host_;
  std::vector<kept_artifact> kept_;
  std::optional<std::string> setup_failure_;
  std::optional<init_record> started_;
  std::optional<init_record> ended_;
  bool is_overdue_ = false;
  bool is_group_killed_ = false;
  bool is_known_gone_ = false;
  bool memory_exceeded_ = false;
  bool pids_exceeded_ = false;
  bool disk_exceeded_ = false;
};

}  // namespace regatta::sandbox
