// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stands between a node session and its node agent, and passes every message, answer and error through the codec,
/// as the wire between hosts does.
#pragma once

#include "messages/codec.hpp"
#include "messages/coordinator_handles.hpp"
#include "messages/node_handles.hpp"

#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace regatta::test {

using wire_relay_actor = uplink_actor::extend_with<node_actor>;

/// An error as the wire carries it.
struct error_frame {
  ec code = ec::none;
  std::string text;
  REGATTA_MESSAGE(error_frame, code, text);
};

struct relay_log {
  std::uint64_t frames = 0;
  std::uint64_t errors = 0;
};

struct wire_relay_state {
  wire_relay_state() {}
  static inline const char* name = "wire-relay";
  node_actor node;
  uplink_actor uplink;
  std::shared_ptr<relay_log> log;

  template <class T>
  T recoded(const T& x) {
    ++log->frames;
    auto copy = decode<T>(encode(x));
    if (!copy) {
      throw std::logic_error{"a message of ours does not survive the codec"};
    }
    return std::move(*copy);
  }
  caf::error recoded(const caf::error& x) {
    ++log->errors;
    const auto frame = recoded(error_frame{code_of(x), text_of(x)});
    return fail(frame.code, frame.text);
  }
};
using wire_relay_pointer = wire_relay_actor::stateful_pointer<wire_relay_state>;

template <class Reply, class Message>
caf::result<Reply> pass_request(wire_relay_pointer self, const auto& to, const Message& msg) {
  auto promise = self->template make_response_promise<Reply>();
  self->request(to, caf::infinite, self->state.recoded(msg))
      .then([=](const Reply& answer) mutable { promise.deliver(self->state.recoded(answer)); },
            [=](const caf::error& why) mutable { promise.deliver(self->state.recoded(why)); });
  return promise;
}

/// A reacts_to that may be asked as a request, too.
template <class Message>
caf::result<void> pass_note(wire_relay_pointer self, const auto& to, const Message& msg) {
  if (!self->current_mailbox_element()->mid.is_request()) {
    self->send(to, self->state.recoded(msg));
    return caf::unit;
  }
  auto promise = self->template make_response_promise<void>();
  caf::response_promise answer = promise;  // The typed one cannot deliver "nothing".
  self->request(to, caf::infinite, self->state.recoded(msg))
      .then([=]() mutable { answer.deliver(caf::unit); },
            [=](const caf::error& why) mutable { answer.deliver(self->state.recoded(why)); });
  return promise;
}

inline wire_relay_actor::behavior_type wire_relay(
    wire_relay_pointer self, uplink_actor uplink, const std::shared_ptr<relay_log>& log,
    const std::function<node_actor(caf::actor_system&, uplink_actor)>& connect) {
  self->state.uplink = std::move(uplink);
  self->state.log = log;
  self->state.node = connect(self->system(), uplink_actor{self});
  self->link_to(self->state.node);
  self->set_exit_handler([=](caf::exit_msg& msg) {
    if (msg.source == self->state.node) {
      self->quit(msg.reason);
    } else {
      caf::anon_send_exit(self->state.node, caf::exit_reason::user_shutdown);
    }
  });
  return {
      [=](const prompt& x) { return pass_request<accepted>(self, self->state.uplink, x); },
      [=](const reserve& x) { return pass_request<reservation>(self, self->state.uplink, x); },
      [=](const settle& x) { return pass_note(self, self->state.uplink, x); },
      [=](const release& x) { return pass_note(self, self->state.uplink, x); },
      [=](const report& x) { return pass_note(self, self->state.uplink, x); },
      [=](const winner& x) { return pass_note(self, self->state.uplink, x); },
      [=](const worker_ended& x) { return pass_note(self, self->state.uplink, x); },
      [=](const node_quiet& x) { return pass_note(self, self->state.uplink, x); },
      [=](const run_ended& x) { return pass_note(self, self->state.uplink, x); },
      [=](const spawn_worker& x) { return pass_request<accepted>(self, self->state.node, x); },
      [=](const cancel& x) { return pass_request<cancelled>(self, self->state.node, x); },
      [=](const run& x) { return pass_request<accepted>(self, self->state.node, x); },
      [=](const prompt_progress& x) { return pass_note(self, self->state.node, x); },
      [=](const prompt_ended& x) { return pass_note(self, self->state.node, x); },
      [=](const reservation_resolved& x) { return pass_note(self, self->state.node, x); },
  };
}

}  // namespace regatta::test
