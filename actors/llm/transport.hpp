// SPDX-License-Identifier: Apache-2.0
/// \file
/// TRANSPORT: one streaming HTTP exchange: a request goes out; head, pieces of the body and one end come back.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace regatta {

using exchange_id = std::uint64_t;
using header_list = std::vector<std::pair<std::string, std::string>>;

/// A POST with a JSON body. Secrets stand in `headers` only.
struct http_request {
  std::string url;
  header_list headers;
  std::string body;
  std::string proxy;    ///< Empty: the environment's.
  std::string ca_file;  ///< Empty: the system's.
  std::chrono::milliseconds connect_timeout{30'000};
};

/// Once, before the first piece of the body; not at all if the exchange fails before.
struct exchange_head {
  exchange_id id = 0;
  std::uint32_t status = 0;
  header_list headers;  ///< Names in lower case.
};

struct exchange_body {
  exchange_id id = 0;
  std::string bytes;
  /// Held until the piece is read: a transport stops reading from a server that is faster than we are.
  std::shared_ptr<const void> receipt;
};

enum class exchange_end : std::uint8_t {
  complete,        ///< The whole answer, as far as HTTP can tell.
  cancelled,       ///< By us; the stream is closed.
  connect_failed,  ///< Name, TCP or proxy: nothing was asked.
  refused_by_tls,  ///< Certificate, protocol, CA file: no second try mends it.
  misconfigured,   ///< URL, scheme, proxy name.
  cut,             ///< Reset or closed before the end.
  too_large,       ///< More bytes than any reply has.
};

/// The one end of an exchange; nothing follows.
struct exchange_ended {
  exchange_id id = 0;
  exchange_end how = exchange_end::cut;
  std::string error;  ///< For people; without secrets. Empty if `complete` or `cancelled`.
};

using exchange_event = std::variant<exchange_head, exchange_body, exchange_ended>;
/// Called in the transport's own thread; must not block or throw.
using exchange_sink = std::function<void(exchange_event)>;

class transport {
public:
  transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;
  virtual ~transport() = default;

  /// From any thread, at once. Ids are the caller's and never used twice.
  virtual void start(exchange_id id, http_request request) = 0;
  /// From any thread. The stream is closed (reset on HTTP/2), then `exchange_ended` with `cancelled` comes, unless
  /// another end was faster. Unknown ids are ignored.
  virtual void cancel(exchange_id id) = 0;
};

}  // namespace regatta

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(regatta::exchange_event)
