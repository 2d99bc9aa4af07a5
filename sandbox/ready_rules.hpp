// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which processes wait ready for later runs: forked, confined, their GPU up, and nothing of a candidate in them. Each
/// serves one run. Pure: takes the time, owns no process.
#pragma once

#include "sandbox/run_spec.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace regatta::sandbox {

/// Runs of equal keys can be served by one waiting process: it has their environment, devices and limits, and lacks only
/// program, files, standard streams and wall limit. Empty for a run that none can serve.
std::string ready_key_of(const run_spec& spec);

/// Whether both lists name the same GPU. The driver's own nodes are in all of them.
bool share_a_gpu(const std::vector<std::string>& one, const std::vector<std::string>& other);

/// What a process that waits for runs like this one is started as.
run_spec waiting_spec(const run_spec& like);

struct ready_limits {
  /// Of all kinds together. On an H200 each holds 0.6 GB of the GPU and 0.2 GB of the host.
  std::size_t most = 16;
  /// Of one kind at once: the driver makes contexts one after the other.
  std::size_t coming_up = 2;
  /// Without a run of their kind they end. A worker's call to a model mostly takes less.
  std::chrono::seconds idle{60};
  /// Measured: 0.3 to 0.5 s. The rest is for a machine on its knees.
  std::chrono::seconds come_up{30};
  std::chrono::seconds first_pause{10};  ///< After one that did not come up; doubled by each further one.
  std::chrono::seconds longest_pause{600};
};

class ready_book {
public:
  using clock = std::chrono::steady_clock;
  using id = std::uint64_t;

  explicit ready_book(ready_limits limits = {}) : limits_(limits) {}

  /// A run of this kind is to start; `run_spec::ready` says how many are to wait for the next ones.
  void want(const std::string& key, const run_spec& like, clock::time_point now);

  /// One that is ready, which is forgotten here; 0 if there is none.
  id take(const std::string& key);

  /// A run that is alone on these devices comes: those that must end before it starts, told again until they have. None are
  /// started there until `leave_alone` was called as often.
  void claim_alone(const std::vector<std::string>& devices);
  void leave_alone(const std::vector<std::string>& devices);
  std::vector<id> on(const std::vector<std::string>& devices) const;

  struct orders {
    std::vector<std::string> to_start;  ///< Keys. `on_started` for those that were.
    std::vector<id> to_end;             ///< Told until `on_end`.
  };
  orders due(clock::time_point now);

  const run_spec& like(const std::string& key) const { return kinds_.at(key).like; }
  void on_started(id process, const std::string& key, clock::time_point now);
  void on_ready(id process);
  /// It is gone, without having been taken.
  void on_end(id process, clock::time_point now);

private:
  struct wish {
    run_spec like;
    clock::time_point wanted_at;
    clock::time_point not_before;  ///< After a failure.
    std::chrono::seconds pause{};
  };
  struct process {
    std::string key;
    clock::time_point since;
    bool is_ready = false;
    bool is_ending = false;
  };

  bool is_alone(const run_spec& like) const;
  std::size_t missing(const std::string& key, const wish& what) const;

  const ready_limits limits_;
  std::map<std::string, wish> kinds_;
  std::map<id, process> processes_;
  std::map<std::string, std::uint32_t> claimed_;  ///< Device node -> runs that have it alone.
};

}  // namespace regatta::sandbox
