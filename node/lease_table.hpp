// SPDX-License-Identifier: Apache-2.0
/// \file
/// LEASE TABLE: which run has which slot, and until when.
///
/// A slot is the right to one run: on one whole GPU (`gpu-0` …) or on a share of the CPUs (`cpu-0` …). A lease is
/// given back only when the run's tree is gone, so a run that cannot be killed keeps its slot out of service and
/// nobody is put beside it. Its expiry is the backstop for a sandbox that does not enforce the wall limit.
#pragma once

#include "messages/evaluation.hpp"
#include "node/run_queue.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace regatta {

enum class slot_kind : std::uint8_t { cpu, gpu };

struct lease {
  using time_point = std::chrono::steady_clock::time_point;

  slot_kind kind = slot_kind::cpu;
  std::uint32_t index = 0;  ///< Of its kind; for a GPU also its place in the evaluator's list.
  std::string slot;         ///< `gpu-0`
  time_point expires_at;
};

class lease_table {
public:
  lease_table(std::uint32_t cpu_slots, std::uint32_t gpu_slots);

  /// What `need` gets on this node: `any` takes a GPU if there is one. Empty if the node has nothing that will do.
  std::optional<slot_kind> kind_for(device_need need) const;

  bool has_free(slot_kind kind) const;

  /// The free slot of this kind with the lowest index. Empty if all are leased.
  std::optional<lease> acquire(slot_kind kind, run_number run, lease::time_point expires_at);

  /// The tree of `run` is gone. Unknown runs are ignored.
  void release(run_number run);

  /// Runs past their lease. Answered again at every call until they are released.
  std::vector<run_number> expired(lease::time_point now) const;

private:
  std::vector<bool>& taken(slot_kind kind) { return kind == slot_kind::gpu ? gpus_taken_ : cpus_taken_; }
  const std::vector<bool>& taken(slot_kind kind) const { return kind == slot_kind::gpu ? gpus_taken_ : cpus_taken_; }

  std::vector<bool> cpus_taken_;
  std::vector<bool> gpus_taken_;
  std::unordered_map<run_number, lease> leases_;
};

}  // namespace regatta
