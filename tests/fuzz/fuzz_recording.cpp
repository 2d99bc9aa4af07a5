// SPDX-License-Identifier: Apache-2.0
// A recording from somebody else.
#include "actors/llm/recording_codec.hpp"
#include "tests/fuzz/demands.hpp"

#include <string>

using namespace regatta;
using fuzz::demand;

namespace {

std::string written(const recording& x) {
  std::string out = recording_header(x.workers);
  for (const auto& [key, reply] : x.replies) {
    out += recording_line(reply);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto got = read_recording(fuzz::text_of(data, size), "r.jsonl");
  if (!got) {
    demand(code_of(got.error()) == ec::invalid_config, "a bad recording is a bad setting");
    demand(text_of(got.error()).starts_with("r.jsonl:"), "the place is named");
    return 0;
  }
  const auto first = written(*got);
  const auto again = read_recording(first, "r.jsonl");
  demand(again.engaged(), "what was read can be written and read again");
  demand(written(*again) == first, "and says the same");
  for (const auto& [key, reply] : got->replies) {
    demand(key.worker > 0 && key.round > 0 && key.attempt > 0, "keys count from 1");
    const auto result = result_of(reply);
    demand(fuzz::is_utf8(result.text), "a reply is UTF-8");
    demand(!reply.error || result.outcome == *reply.error, "a recorded error is the outcome");
  }
  return 0;
}
