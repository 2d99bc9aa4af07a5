// SPDX-License-Identifier: Apache-2.0
// Frames and events from a peer. What was read can be written, read again, and says the same then.
#include "messages/codec.hpp"
#include "messages/dedup.hpp"
#include "messages/evaluation.hpp"
#include "messages/event.hpp"
#include "messages/event_codec.hpp"
#include "messages/llm.hpp"
#include "messages/race.hpp"
#include "tests/fuzz/demands.hpp"

using namespace regatta;
using fuzz::demand;

namespace {

template <class T>
void check(std::string_view bytes) {
  if (const auto got = decode<T>(bytes)) {
    const auto written = encode(*got);
    const auto again = decode<T>(written);
    demand(again.engaged() && encode(*again) == written, "a message survives the codec");
  }
}

void check_event(std::string_view bytes) {
  const auto got = decode_event(bytes);
  if (!got) {
    return;
  }
  const auto written = encode_event(*got);
  const auto again = decode_event(written);
  demand(again.engaged() && encode_event(*again) == written, "an event survives the codec");
  demand(fuzz::is_utf8(event_to_json(*got)), "an event as JSON is UTF-8");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::text_of(data, size);
  check<report>(bytes);
  check<spawn_worker>(bytes);
  check<prompt>(bytes);
  check<prompt_ended>(bytes);
  check<reserve>(bytes);
  check<winner>(bytes);
  check<worker_ended>(bytes);
  check<run_ended>(bytes);
  check_event(bytes);
  return 0;
}
