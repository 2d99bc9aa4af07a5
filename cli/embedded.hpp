// SPDX-License-Identifier: Apache-2.0
/// \file
/// EMBEDDED MODE: a coordinator and one local node in this process, with everything that they need. The only place
/// that knows both sides.
#pragma once

#include "actors/llm/provider_config.hpp"
#include "cli/event_queue.hpp"
#include "messages/ids.hpp"
#include "messages/money.hpp"
#include "messages/race.hpp"
#include "messages/race_control.hpp"
#include "node/evaluator.hpp"
#include "node/judge_specs.hpp"
#include "sandbox/interpreter.hpp"
#include "sandbox/runner.hpp"

#include <caf/error.hpp>
#include <caf/expected.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace regatta::cli {

struct embedded_config {
  std::string state_dir;        ///< Absolute.
  std::string events_endpoint;  ///< Empty: no event socket.
  std::string events_source;    ///< Who asked for that one: `--events`, a file and line; empty: nobody did.
  problem_spec problem;         ///< Checked before anything is written or asked.
  std::vector<provider_config> providers;
  spending_limits process_budget;  ///< 0: none.
  spending_limits day_budget;      ///< Of the UTC day, all processes on this state folder.
  sandbox::runner_config sandbox;
  sandbox::host_facts host;
  sandbox::interpreter python;
  std::map<std::string, std::string> host_environment;
  std::vector<gpu> gpus;
  std::uint32_t cpu_slots = 1;
  std::uint32_t gpu_slots = 1;
  /// The problem must be one that the judge can use; empty: nobody is judged.
  std::optional<judge_question> judge;
  bool refuses_weak = false;  ///< `--refuse-weak`: rather no race than one without a proven winner.
  run_limits limits;  ///< Of the judge's look at the problem.
  node_id node;
  std::uint64_t seed = 0;
  /// Asked once the store is there, before anything that others may have in use is taken: of two processes with one
  /// race, the second is to hear whose it is, and not which socket is taken.
  std::function<caf::error()> claim;
};

class embedded {
public:
  /// Starts every actor. What happens is pushed into `news`. Fails: `ec::sandbox_refused`, `ec::store_failed`,
  /// `ec::io_failed`, `ec::invalid_config` (the problem, an event socket that was asked for), what `claim` says.
  static caf::expected<std::unique_ptr<embedded>> open(embedded_config config, std::shared_ptr<event_queue> news);

  embedded(const embedded&) = delete;
  embedded& operator=(const embedded&) = delete;
  ~embedded();

  /// Begins the race, or goes on with it from `standing`.
  caf::error start(const race_spec& spec, std::optional<race_standing> standing = {});
  /// From any thread; the race then ends by itself and says so.
  void stop(const race_id& race, const std::string& why);
  /// As bound; empty without a socket.
  const std::string& events_endpoint() const;
  sandbox::level level() const;

  /// Ends every actor, bounded by `shutdown_timeout`. Fails: `ec::internal` naming what still lives; the caller must
  /// then leave by `_exit`, as nothing would end it.
  caf::error close();

private:
  embedded();
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace regatta::cli
