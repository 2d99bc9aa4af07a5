// SPDX-License-Identifier: Apache-2.0
// Frames and events from a peer.
#include "messages/codec.hpp"
#include "messages/event_codec.hpp"
#include "messages/event.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  if (const auto got = regatta::decode<regatta::report>(bytes)) {
    // What was read can be written and read again.
    if (!regatta::decode<regatta::report>(regatta::encode(*got))) {
      std::abort();
    }
  }
  static_cast<void>(regatta::decode<regatta::spawn_worker>(bytes));
  static_cast<void>(regatta::decode_event(bytes));
  return 0;
}
