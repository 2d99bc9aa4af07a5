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
#include "sandbox/ready_rules.hpp"
#include "sandbox/runner.hpp"
#include "sandbox/slot_uids.hpp"
#include "sandbox/zygote_pool.hpp"

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
  std::string host_filter;  ///< The seccomp program, as bytes, of runs that see the host.
  bool allow_warm = true;
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
  enum class source : std::uint8_t { wake, forker, zygote, control, ready, in, out, err, pidfd };
  struct order {
    std::unique_ptr<active_run> run;  ///< To start; else:
    run_handle to = 0;
    std::string bytes;  ///< to write.
  };

  // On the thread.
  void main();
  void take_inbox();
  void launch(std::unique_ptr<active_run> run);
  void dispatch(active_run& run);
  bool send_cold(active_run& run, std::vector<unique_fd> descriptors, std::string& reason);
  void send_warm(active_run& run);
  bool make_ends(active_run& run, unique_fd& in, unique_fd& out, unique_fd& err);
  bool prepare(active_run& run, std::vector<unique_fd>& descriptors);
  bool ensure_forker(std::string& error);
  void on_event(source what, std::uint64_t run);
  void on_forker();
  void on_reply(forker_link::reply reply);
  void on_forker_down(std::optional<zygote_book::id> zygote);
  void on_first_process_end(active_run& run);
  void on_deadlines();
  int next_timeout() const;
  void conclude(active_run& run);
  bool watch(int fd, source what, std::uint64_t run, bool is_for_writing = false);
  void rewatch(int fd, source what, std::uint64_t run);
  void wake();
  void give_up();

  // Warm starts: run_warm.cpp.
  void open_zygotes();
  zygote_book::advice choose_zygote(active_run& run);
  void keep_spare(active_run& run, const std::vector<unique_fd>& descriptors);
  void on_zygote(zygote_book::id zygote);
  void on_zygote_unfit(active_run& run);
  void on_zygote_down(zygote_book::id zygote, const std::string& why);
  void look_at_waiting();

  // Processes that wait for runs: run_ready.cpp.
  bool has_devices_alone(active_run& run);
  bool take_ready(active_run& run);
  void hand_over(active_run& waiting, active_run& run);
  void adopt(active_run& waiting, active_run& run);
  void on_ready_word(active_run& run);
  void keep_ready();
  bool start_waiting(const std::string& key);

  run_loop_config config_;
  forker_link forker_;
  zygote_pool zygotes_;
  ready_book ready_;
  std::vector<run_handle> waiting_;  ///< For a zygote that comes up, or for their devices.
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
  std::size_t waiting_count_ = 0;  ///< Of `enders_`, processes that wait for runs.
  bool is_stopping_ = false;

  std::thread thread_;
};

}  // namespace regatta::sandbox
