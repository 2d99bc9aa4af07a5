// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the gateway's rules want done.
#pragma once

#include "actors/llm/ledger_desk.hpp"
#include "actors/llm/program.hpp"
#include "actors/llm/transport.hpp"
#include "messages/llm.hpp"

#include <cstdint>
#include <variant>

namespace regatta {

struct begin_exchange {
  exchange_id id = 0;
  http_request request;
};
struct begin_program {
  program_id id = 0;
  program_spec spec;
};
struct stop_exchange {
  exchange_id id = 0;
};
struct stop_program {
  program_id id = 0;
};
/// Whoever asked by this ticket gets its answer.
struct withdrawal_done {
  std::uint64_t ticket = 0;
  prompts_withdrawn answer;
};
using gateway_effect = std::variant<begin_exchange, begin_program, stop_exchange, stop_program, ask_ledger,
                                    withdrawal_done, prompt_progress, prompt_delta, prompt_ended>;

}  // namespace regatta
