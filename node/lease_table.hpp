// SPDX-License-Identifier: Apache-2.0
/// \file
/// LEASE TABLE: which run has which slot, and until when.
///
/// A slot is the right to one run: a share of a GPU (`gpu-0.1`; `gpu-0` where it is not shared) or of the CPUs (`cpu-0` …). A
/// lease is given back only when the run's tree is gone, so a run that cannot be killed keeps its slot out of service
/// and nobody is put in its place. Its expiry is the backstop for a sandbox that does not enforce the wall limit.
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

/// How a run takes a device: beside others, or with all of its slots to itself.
enum class sharing : std::uint8_t { shared, exclusive };

struct lease {
  using time_point = std::chrono::steady_clock::time_point;

  slot_kind kind = slot_kind::cpu;
  std::uint32_t device = 0;  ///< A GPU's place in the evaluator's list; 0 for all CPUs together.
  std::uint32_t number = 0;  ///< Of the slot on its device.
  std::string slot;          ///< `gpu-0.1`
  time_point expires_at;
  bool is_exclusive = false;
  bool had_company = false;  ///< Another run has had a slot of the same device at the same time.
};

class lease_table {
public:
  lease_table(std::uint32_t cpu_slots, std::uint32_t gpus, std::uint32_t slots_per_gpu = 1);

  /// What `need` gets on this node: `any` takes a GPU if there is one. Empty if the node has nothing that will do.
  std::optional<slot_kind> kind_for(device_need need) const;

  /// A slot that nobody has, on a device that nobody wants for itself and that has room.
  bool has_free(slot_kind kind) const;

  /// Shared: a slot of the device with the fewest runs, the lowest number; empty if there is none.
  /// Exclusive: empty as long as others are on the device that this run claims by asking. Nobody is put there any more, so
  /// it comes free; ask again then. A claim ends with `release`.
  std::optional<lease> acquire(slot_kind kind, run_number run, lease::time_point expires_at,
                               sharing how = sharing::shared);

  /// At most so many runs on this GPU from now on, as its memory is used up. One is always let in.
  void limit(std::uint32_t gpu, std::uint32_t runs);

  /// The tree of `run` is gone, or it does not want its claim any more. Unknown runs are ignored.
  void release(run_number run);

  /// As it is now; false if `run` has no lease.
  bool had_company(run_number run) const;

  /// Runs past their lease. Answered again at every call until they are released.
  std::vector<run_number> expired(lease::time_point now) const;

  std::uint32_t runs_on(std::uint32_t gpu) const { return gpus_.at(gpu).used(); }

private:
  struct device {
    std::vector<bool> taken;
    std::uint32_t room = 0;
    std::optional<run_number> claimed_by;

    std::uint32_t used() const;
    bool is_open() const { return !claimed_by && used() < room; }
  };

  std::vector<device>& devices(slot_kind kind) { return kind == slot_kind::gpu ? gpus_ : cpus_; }
  const std::vector<device>& devices(slot_kind kind) const { return kind == slot_kind::gpu ? gpus_ : cpus_; }
  lease put(slot_kind kind, std::uint32_t at, run_number run, lease::time_point expires_at);
  device* claim(slot_kind kind, run_number run);

  std::vector<device> cpus_;  ///< One for all, or none.
  std::vector<device> gpus_;
  std::unordered_map<run_number, lease> leases_;
};

}  // namespace regatta
