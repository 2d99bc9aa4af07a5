// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every way in which an operation of ours can fail. A candidate's failure is data (messages/outcome.hpp), not an
/// error; neither is an LLM's (`llm_outcome`).
#pragma once

#include "messages/enums.hpp"

#include <cstdint>

namespace regatta {

/// Append, never renumber.
enum class ec : std::uint8_t {
  none = 0,
  malformed_frame = 1,   ///< Bytes from a peer that are not the message they claim to be.
  link_down = 2,         ///< The other host is not there (any more); nothing is known about the request.
  reply_timeout = 3,     ///< The other side is there but did not answer in time.
  unknown_kind = 4,      ///< The other side does not serve this kind of message.
  remote_error = 5,      ///< The other side's actor failed with an error that is not one of ours.
  link_busy = 6,         ///< Too many open requests on this link.
  not_current = 7,       ///< The work key is not, or no longer, the current one.
  unknown_race = 8,      ///< No such race here, or it has ended.
  unknown_worker = 9,
  unknown_provider = 10, ///< No LLM provider of this name is configured.
  refused = 11,          ///< Shutting down, draining or cancelled: take the work elsewhere or nowhere.
  invalid_config = 12,   ///< The text names file, key, got and allowed.
  sandbox_refused = 13,  ///< The host offers less isolation than required.
  io_failed = 14,        ///< File, socket or process; the text names it and carries errno's text.
  store_failed = 15,     ///< SQLite said no; the text names statement and reason.
  store_full = 16,       ///< No room on the disk of the store.
  not_found = 17,
  already_exists = 18,
  not_holder = 19,       ///< A digest was settled by somebody who does not hold it.
  internal = 20,         ///< A bug: an actor ended that should not have.
  budget_spent = 21,     ///< A reservation does not fit; the text names budget, limit, spent, asked.
  weak_oracle = 22,      ///< Idleness passes for an answer to this problem.
};

}  // namespace regatta

REGATTA_ENUM_NAMES(regatta::ec, 23, {regatta::ec::none, "none"}, {regatta::ec::malformed_frame, "malformed_frame"},
                   {regatta::ec::link_down, "link_down"}, {regatta::ec::reply_timeout, "reply_timeout"},
                   {regatta::ec::unknown_kind, "unknown_kind"}, {regatta::ec::remote_error, "remote_error"},
                   {regatta::ec::link_busy, "link_busy"}, {regatta::ec::not_current, "not_current"},
                   {regatta::ec::unknown_race, "unknown_race"}, {regatta::ec::unknown_worker, "unknown_worker"},
                   {regatta::ec::unknown_provider, "unknown_provider"}, {regatta::ec::refused, "refused"},
                   {regatta::ec::invalid_config, "invalid_config"},
                   {regatta::ec::sandbox_refused, "sandbox_refused"}, {regatta::ec::io_failed, "io_failed"},
                   {regatta::ec::store_failed, "store_failed"}, {regatta::ec::store_full, "store_full"},
                   {regatta::ec::not_found, "not_found"}, {regatta::ec::already_exists, "already_exists"},
                   {regatta::ec::not_holder, "not_holder"}, {regatta::ec::internal, "internal"},
                   {regatta::ec::budget_spent, "budget_spent"}, {regatta::ec::weak_oracle, "weak_oracle"});
