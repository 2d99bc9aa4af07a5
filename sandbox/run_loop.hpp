// SPDX-License-Identifier: Apache-2.0
/// \file
/// The runner's thread: one epoll for the pipes, sockets and pidfds of all runs and for the forker.
///
///   start() → inbox → launch: pipes, cgroup, plan → forker → pid 1 builds the root, waits
///                     reply with pidfd → armed → "go" → exec → output … → pid 1 ends → pidfd readable → done
#pragma once

#include "sandbox/active_run.hpp"
#include "sandbox/cgroup.hpp"
#include "sandbox/confinement.hpp"
#include "sandbox/forker_link.hpp"
#include "sandbox/runner.hpp"
#include "sandbox/slot_uids.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace regatta::sandbox {

struct run_loop_config {
  confinement walls;
  std::string forker_path;
  std::uint32_t slots = 0;
  std::unique_ptr<cgroup_tree> cgroups;
  std::unique_ptr<slot_uids> uids;  ///< Null: runs keep our uid.
};

class run_loop {
public:
  /// Starts the forker. False and `error` filled if it cannot be.
  bool open(run_loop_config config, std::string& error);
  /// Ends all runs, waits, joins.
  ~run_loop();

  // From any thread.
  run_handle start(run_spec spec, active_run::callbacks calls);
  void write(run_handle run, std::string bytes);
  void cancel(run_handle run);
  std::uint32_t running() const;

private:
  enum class source : std::uint8_t { wake, forker, control, in, out, err, pidfd };
  struct order {
    std::unique_ptr<active_run> run;  ///< To start; else:
    run_handle to = 0;
    std::string bytes;  ///< to write.
  };

  // On the thread.
  void main();
  void take_inbox();
  void launch(std::unique_ptr<active_run> run);
  bool prepare(active_run& run, launch_request& request, std::vector<unique_fd>& descriptors);
  bool ensure_forker(std::string& error);
  void on_event(source what, std::uint64_t run);
  void on_forker();
  void on_reply(forker_link::reply reply);
  void on_forker_down();
  void on_deadlines();
  int next_timeout() const;
  void conclude(active_run& run);
  bool watch(int fd, source what, std::uint64_t run, bool is_for_writing = false);
  void wake();
  void give_up();

  run_loop_config config_;
  forker_link forker_;
  unique_fd epoll_;
  unique_fd wake_;
  unique_fd null_;
  std::unordered_map<run_handle, std::unique_ptr<active_run>> runs_;
  std::vector<bool> slots_taken_;
  bool is_sweeping_ = false;

  mutable std::mutex mutex_;
  std::vector<order> inbox_;
  std::unordered_map<run_handle, std::shared_ptr<kill_switch>> enders_;
  run_handle last_ = 0;
  bool is_stopping_ = false;

  std::thread thread_;
};

}  // namespace regatta::sandbox
