// SPDX-License-Identifier: Apache-2.0
#include "coordinator/node_session.hpp"

#include "actors/wake_timer.hpp"
#include "messages/limits.hpp"

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

namespace regatta {

namespace {

using session_shell = node_session_actor::extend<caf::reacts_to<wake_up>>;

struct session_state {
  session_state() {}  // An aggregate would start with its first member set to `self` (CAF 0.17.6, C++20).
  static inline const char* name = "node-session";
  node_actor node;
  uplink_actor coordinator;
  bool is_leaving = false;
};
using session_pointer = session_shell::stateful_pointer<session_state>;

void on_exit(session_pointer self, const caf::exit_msg& msg) {
  auto& st = self->state;
  if (msg.source == st.node) {
    self->quit(st.is_leaving ? caf::make_error(caf::exit_reason::user_shutdown) : msg.reason);
  } else if (!std::exchange(st.is_leaving, true)) {
    // Anonymous: an exit message from a linked actor takes the link down first, and its end would go unnoticed.
    caf::anon_send_exit(st.node, caf::exit_reason::user_shutdown);
    self->delayed_send(self, shutdown_timeout, wake_up{});
  }
}

session_shell::behavior_type node_session(session_pointer self, const node_entry& entry, uplink_actor coordinator) {
  self->state.coordinator = std::move(coordinator);
  self->state.node = entry.connect(self->system(), uplink_actor{self});
  self->set_exit_handler([=](caf::exit_msg& msg) { on_exit(self, msg); });
  self->link_to(self->state.node);
  return {
      [=](const prompt& msg) { return self->delegate(self->state.coordinator, msg); },
      [=](const reserve& msg) { return self->delegate(self->state.coordinator, msg); },
      [=](const settle& msg) { return self->delegate(self->state.coordinator, msg); },
      [=](const release& msg) { self->send(self->state.coordinator, msg); },
      [=](const report& msg) { self->send(self->state.coordinator, msg); },
      [=](const winner& msg) { self->send(self->state.coordinator, msg); },
      [=](const worker_ended& msg) { self->send(self->state.coordinator, msg); },
      [=](const node_quiet& msg) { self->send(self->state.coordinator, msg); },
      [=](const run_ended& msg) { self->send(self->state.coordinator, msg); },
      [=](const spawn_worker& msg) { return self->delegate(self->state.node, msg); },
      [=](const cancel& msg) { return self->delegate(self->state.node, msg); },
      [=](const run& msg) { return self->delegate(self->state.node, msg); },
      [=](const prompt_progress& msg) { self->send(self->state.node, msg); },
      [=](const prompt_ended& msg) { self->send(self->state.node, msg); },
      [=](const reservation_resolved& msg) { self->send(self->state.node, msg); },
      // The node did not end in time. Not `kill`: links would pass it on to the coordinator, past its exit handler.
      [=](const wake_up&) { self->quit(caf::exit_reason::user_shutdown); },
  };
}

}  // namespace

node_session_actor spawn_node_session_under(caf::local_actor& parent, node_entry entry, uplink_actor coordinator) {
  return parent.spawn<caf::linked>(node_session, std::move(entry), std::move(coordinator));
}

}  // namespace regatta
