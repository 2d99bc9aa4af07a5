// SPDX-License-Identifier: Apache-2.0
/// \file
/// One HTTP answer, read in pieces of any size.
#pragma once

#include "actors/llm/http_reply.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace regatta::test {


struct answer {
  provider_kind wire = provider_kind::chat;
  std::uint32_t status = 200;
  std::string type = "text/event-stream";
  exchange_end end = exchange_end::complete;
  std::uint32_t cap = 0;

  try_result read(std::string_view body, std::size_t piece = 1'000'000) const {
    http_reply reply{wire, cap};
    reply.on_head({1, status, {{"content-type", type}}});
    for (std::size_t at = 0; at < body.size(); at += piece) {
      reply.on_body(body.substr(at, piece));
    }
    return reply.on_end({1, end, end == exchange_end::complete ? "" : "reset"});
  }
};

inline const answer chat{};
inline const answer responses{provider_kind::responses};

inline prompt ask_of(const std::string& model) {
  prompt out;
  out.system = "sys";
  out.user = "user";
  out.choice.model = model;
  return out;
}

}  // namespace regatta::test
