// SPDX-License-Identifier: Apache-2.0
/// \file
/// TRANSPORT by libcurl: every exchange in one thread, HTTP/2 by ALPN over TLS, else HTTP/1.1.
///
/// One per gateway. Talks to its sink, in its own thread. Owns that thread and all connections; its destructor closes
/// them and joins. No time limits but the connect's: the gateway has the clock.
#pragma once

#include "actors/llm/transport.hpp"

#include <memory>

namespace regatta {

class curl_transport final : public transport {
public:
  explicit curl_transport(exchange_sink sink);
  ~curl_transport() override;

  void start(exchange_id id, http_request request) override;
  void cancel(exchange_id id) override;

private:
  class loop;
  std::unique_ptr<loop> loop_;
};

}  // namespace regatta
