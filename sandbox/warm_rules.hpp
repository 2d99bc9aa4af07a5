// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which run may start warm, from which zygote, and when zygotes come and go. Pure: takes the time, owns no process.
#pragma once

#include "sandbox/run_spec.hpp"

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace regatta::sandbox {

/// Runs of equal keys start from one zygote. The environment is the run's own, as much of it counts at import.
struct zygote_key {
  std::vector<std::string> command;  ///< Interpreter and its flags.
  std::map<std::string, std::string> environment;
  std::vector<std::string> preload;
  std::string kernel_target;
  std::string kernel_helpers;
  auto operator<=>(const zygote_key&) const = default;
};

/// Empty, and `why_cold` filled, for a run that does not ask for warmth or has a form that only exec can give it:
/// warm are an interpreter, flags of -B -E -I -s -u, a script of the run's own files, its arguments.
std::optional<zygote_key> zygote_key_of(const run_spec& spec, std::string& why_cold);

struct zygote_limits {
  std::size_t most = 2;       ///< At once. Each holds 200 to 300 MB with torch and Triton.
  std::uint32_t runs = 1000;  ///< Then a new one, as its runs share hash seed and address layout.
  std::chrono::seconds idle{600};
  /// An import of torch from a cold disk on a busy machine took 10 s.
  std::chrono::seconds come_up{60};
  /// A run waits this long for a zygote that comes up, since its own import would take as long. Below the runner's
  /// launch limit of 30 s.
  std::chrono::seconds patience{15};
  std::chrono::seconds first_pause{10};  ///< After a failure; doubled by each further one.
  std::chrono::seconds longest_pause{600};
};

class zygote_book {
public:
  using clock = std::chrono::steady_clock;
  using id = std::uint64_t;

  explicit zygote_book(zygote_limits limits = {}) : limits_(limits) {}

  enum class advice { use, wait, cold };
  struct answer {
    advice what = advice::cold;
    id zygote = 0;         ///< To use or to wait for.
    std::string why_cold;  ///< If cold.
    bool is_new = false;   ///< It must be started; after that, ask again.
  };
  /// For one run. With `use` the run counts until `on_run_end`.
  answer ask(const zygote_key& key, clock::time_point now);

  void on_ready(id zygote, clock::time_point now);
  void on_run_end(id zygote, clock::time_point now);
  /// It is gone, whatever it was at.
  void on_failure(id zygote, const std::string& why, clock::time_point now);
  /// It may fork no more; its runs go on.
  void on_unfit(id zygote, const std::string& why, clock::time_point now);

  struct orders {
    std::vector<id> to_start;
    std::vector<id> to_end;   ///< No run needs them any more. They are forgotten.
    std::vector<id> too_late; ///< Still not up: `on_failure`, please.
  };
  orders due(clock::time_point now);

  const zygote_key& key_of(id zygote) const { return zygotes_.at(zygote).key; }
  bool is_known(id zygote) const { return zygotes_.count(zygote) != 0; }
  const zygote_limits& limits() const { return limits_; }

private:
  enum class state { comes_up, serves, drains };
  struct entry {
    zygote_key key;
    regatta::sandbox::zygote_book::state state = state::comes_up;
    clock::time_point since;  ///< Started, or last used.
    std::uint32_t runs = 0;
    std::uint32_t live = 0;
  };
  struct pause {
    clock::time_point until;
    std::chrono::seconds length{};
    std::string why;
  };

  id add(const zygote_key& key, clock::time_point now);
  /// True if one that nobody uses could be given up for another.
  bool make_room();
  void hold_back(const zygote_key& key, const std::string& why, clock::time_point now);

  const zygote_limits limits_;
  id last_ = 0;
  std::map<id, entry> zygotes_;
  std::map<zygote_key, pause> pauses_;
  std::vector<id> given_up_;
};

}  // namespace regatta::sandbox
