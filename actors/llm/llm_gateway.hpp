// SPDX-License-Identifier: Apache-2.0
/// \file
/// LLM GATEWAY: every call to a model leaves from here, once, within its limits.
///
/// One per coordinator. Talks to its `sink` (the coordinator, which routes to races). Owns the HTTP thread, the
/// command runner and the recordings. Never blocks, but for reading its recordings at the start. What it decides is
/// in actors/llm/gateway_rules.hpp.
#pragma once

#include "actors/llm/command_runner.hpp"
#include "actors/llm/gateway_rules.hpp"
#include "actors/llm/provider_config.hpp"
#include "actors/llm/transport.hpp"
#include "messages/coordinator_handles.hpp"
#include "messages/ledger.hpp"

#include <caf/actor_system.hpp>
#include <caf/error.hpp>
#include <caf/replies_to.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace regatta {

struct llm_gateway_config {
  std::vector<provider_config> providers;
  prompt_sink_actor sink;
  ledger_actor ledger;             ///< Invalid: calls are neither booked nor bounded (tests).
  spending_limits process_budget;  ///< Of this process, all races. 0: none.
  spending_limits day_budget;      ///< Of the UTC day, all processes on the ledger's store. 0: none.
  std::uint64_t seed = 0;          ///< Of the back-off's jitter.
  /// Path of regatta-lifeline; empty: beside our own program.
  std::string lifeline_program;
  /// For tests; empty: libcurl, real programs, the system's clock.
  std::function<std::unique_ptr<transport>(exchange_sink)> make_transport;
  std::function<std::unique_ptr<program_host>(program_sink)> make_programs;
  std::function<std::int64_t()> utc_us;
};

struct gateway_tick {
  REGATTA_FIELDS(number);
  std::uint32_t number = 0;
};

/// The public interface, and what its own threads and timer say to it.
using llm_gateway_core_actor = llm_gateway_actor::extend<caf::reacts_to<exchange_event>, caf::reacts_to<program_event>,
                                                         caf::reacts_to<gateway_tick>>;

struct llm_gateway_state {
  llm_gateway_state() {}

  static inline const char* name = "llm-gateway";
  llm_gateway_config config;
  gateway_rules rules;
  std::map<std::uint64_t, caf::typed_response_promise<prompts_withdrawn>> tickets;
  std::uint64_t last_ticket = 0;
  bool is_ticking = false;
  std::optional<caf::error> leaving;  ///< Why it was told to end, while the ledger still writes.
  std::chrono::steady_clock::time_point leave_at;
  /// Last, so that their threads are joined before anything else goes.
  std::unique_ptr<transport> http;
  std::unique_ptr<program_host> programs;
};

llm_gateway_core_actor::behavior_type llm_gateway(llm_gateway_core_actor::stateful_pointer<llm_gateway_state> self,
                                                  llm_gateway_config config);

/// Spawns it with whatever threads it needs. It keeps itself alive: the caller ends it with an exit message, which
/// closes every stream, ends every program and joins the threads.
llm_gateway_actor spawn_llm_gateway(caf::actor_system& system, llm_gateway_config config);

}  // namespace regatta
