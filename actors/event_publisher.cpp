// SPDX-License-Identifier: Apache-2.0
#include "actors/event_publisher.hpp"

#include "actors/event_endpoint.hpp"
#include "actors/event_files.hpp"
#include "messages/event_codec.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <sys/stat.h>
#include <zmq.hpp>

#include <chrono>
#include <memory>
#include <utility>

namespace regatta {

namespace {

/// Events that a slow reader may lag behind before it loses some: a race of 1,000 workers that all start at once.
/// Most have less than 1 KiB; a reader that reads nothing costs some 10 MiB. Judgement.
constexpr int send_high_water_mark = 4'000;
/// For the last events to leave at an orderly exit. Blocks one thread of the scheduler that long at most, and only if
/// a reader does not take what is his.
constexpr std::chrono::milliseconds last_linger{200};

struct publisher_socket {
  zmq::context_t context{1};
  zmq::socket_t socket{context, zmq::socket_type::pub};
};

/// Comes after everything that was sent before the exit message, which overtakes ordinary messages.
struct last_call {
  std::uint32_t exit_code = 0;
  REGATTA_MESSAGE(last_call, exit_code);
};
using publisher_shell = event_sink_actor::extend<caf::reacts_to<last_call>>;

struct publisher_state {
  publisher_state() = default;

  void publish(const event& x) const {
    const auto body = has_kept_files(x) ? encode_event(without_kept_files(x)) : encode_event(x);
    // Never waits: a PUB socket drops for whoever is too slow. A frame that cannot be sent is seen as a gap in `seq`.
    try {
      socket->socket.send(zmq::buffer(topic_of(x)), zmq::send_flags::sndmore | zmq::send_flags::dontwait);
      socket->socket.send(zmq::buffer(std::to_string(x.seq)), zmq::send_flags::sndmore | zmq::send_flags::dontwait);
      socket->socket.send(zmq::buffer(body), zmq::send_flags::dontwait);
    } catch (const zmq::error_t&) {
      return;
    }
  }
  void close() {
    socket->socket.set(zmq::sockopt::linger, static_cast<int>(last_linger.count()));
    socket->socket.close();
    socket->context.close();
  }

  static inline const char* name = "event-publisher";
  std::shared_ptr<publisher_socket> socket;
};

publisher_shell::behavior_type publisher(publisher_shell::stateful_pointer<publisher_state> self,
                                         const std::shared_ptr<publisher_socket>& socket) {
  self->state.socket = socket;
  self->set_exit_handler([self](const caf::exit_msg&) { self->send(self, last_call{}); });
  return {
      [self](const event& x) { self->state.publish(x); },
      [](const race_closed&) {},
      [self](const last_call&) {
        self->state.close();
        self->quit();
      },
  };
}

caf::error bind_socket(publisher_socket& it, const std::string& endpoint) {
  try {
    it.socket.set(zmq::sockopt::linger, 0);
    it.socket.set(zmq::sockopt::sndhwm, send_high_water_mark);
    it.socket.set(zmq::sockopt::ipv6, endpoint.starts_with("tcp://["));
    it.socket.bind(endpoint);
  } catch (const zmq::error_t& why) {
    return fail(ec::io_failed, "cannot bind the event socket to \"" + endpoint + "\": " + why.what());
  }
  const auto path = socket_path(endpoint);
  if (!path.empty()) {
    ::chmod(path.c_str(), 0600);
  }
  return {};
}

}  // namespace

caf::expected<published_at> spawn_event_publisher(caf::actor_system& system, const event_publisher_config& config) {
  auto endpoint = prepare_event_endpoint(config.endpoint, config.makes_folder);
  if (!endpoint) {
    return std::move(endpoint.error());
  }
  auto socket = std::make_shared<publisher_socket>();
  if (auto error = bind_socket(*socket, *endpoint)) {
    return error;
  }
  auto bound = socket->socket.get(zmq::sockopt::last_endpoint);
  auto sink = event_sink_actor{system.spawn(publisher, std::move(socket))};
  return published_at{sink, std::move(bound)};
}

}  // namespace regatta
