// SPDX-License-Identifier: Apache-2.0
/// \file
/// The gateway's rules with a ledger that is played by hand, and a provider with prices.
#pragma once

#include "tests/actors/llm/gateway_fixture.hpp"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace regatta::test {

inline provider_config priced_provider() {
  auto x = chat_provider();
  x.max_output_tokens = 100;
  x.prices["*"] = {1'000'000'000, 1'000'000'000, 2'000'000'000};
  return x;
}

/// The ledger is played by hand.
struct booked_gateway : one_gateway {
  explicit booked_gateway(std::vector<provider_config> providers = {priced_provider()})
      : one_gateway{std::move(providers), {}, {true, {}, {}, 1}} {}

  const open_call& opening(std::size_t i) const { return std::get<open_call>(asked.at(i).what); }
  const close_call& closing(std::size_t i) const { return std::get<close_call>(asked.at(i).what); }
  void opened(std::size_t i, std::uint64_t row) {
    call_opened answer;
    answer.call = row;
    rules.on_opened(asked.at(i).id, answer, now);
    collect();
  }
  void closed(std::size_t i) {
    rules.on_closed(asked.at(i).id, now);
    collect();
  }
  void ledger_says(std::size_t i, ec code, const std::string& text) {
    rules.on_ledger_error(asked.at(i).id, fail(code, text), now);
    collect();
  }
  void usage(exchange_id id, int input, int output) {
    body(id, R"(data: {"choices":[],"usage":{"prompt_tokens":)" + std::to_string(input) + R"(,"completion_tokens":)" +
                 std::to_string(output) + "}}\n\ndata: [DONE]\n\n");
  }
  void answer_with_usage(exchange_id id, int input, int output) {
    head(id, 200);
    delta(id, "hi");
    finish(id);
    usage(id, input, output);
    end(id);
  }
};

/// "user", the overhead and the cap at one and two nano-units.
inline constexpr nano_units whole_bound = (4 + 64) * 1'000 + 100 * 2'000;

}  // namespace regatta::test
