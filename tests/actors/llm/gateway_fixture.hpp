// SPDX-License-Identifier: Apache-2.0
/// \file
/// The gateway's rules with a clock that moves when told to, and everything that they want done.
#pragma once

#include "actors/llm/gateway_rules.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace regatta::test {

using namespace std::chrono_literals;

inline provider_config chat_provider() {
  provider_config x;
  x.name = "p";
  x.kind = provider_kind::chat;
  x.base_url = "http://host";
  x.api_key = "sk-secret";
  return x;
}

struct one_gateway {
  explicit one_gateway(std::vector<provider_config> providers = {chat_provider()},
                       std::map<std::string, caf::expected<recording>> recordings = {},
                       gateway_terms terms = {false, {}, {}, 1})
      : rules{std::move(providers), recordings, terms} {}

  prompt ask_of(std::uint32_t worker, std::uint32_t round = 1) const {
    prompt x;
    x.race = race_id{"r"};
    x.worker = make_worker_id(worker);
    x.round = round;
    x.attempt = 1;
    x.choice.provider = provider;
    x.user = "user";
    return x;
  }
  void ask(std::uint32_t worker, std::uint32_t round = 1) {
    BOOST_REQUIRE(rules.on_prompt(ask_of(worker, round), now));
    collect();
  }
  void advance(std::chrono::milliseconds by) {
    for (; by > 0ms; by -= 20ms) {
      const auto step = std::min<std::chrono::milliseconds>(by, 20ms);
      now.at += step;
      now.utc_us += step.count() * 1'000;
      rules.on_tick(now);
      collect();
    }
  }
  void tell(exchange_event event) {
    rules.on_exchange(std::move(event), now);
    collect();
  }
  void head(exchange_id id, std::uint32_t status, header_list headers = {}) {
    tell(exchange_head{id, status, headers});
  }
  void body(exchange_id id, const std::string& bytes) { tell(exchange_body{id, bytes, nullptr}); }
  void end(exchange_id id, exchange_end how = exchange_end::complete) { tell(exchange_ended{id, how, "why"}); }
  void delta(exchange_id id, const std::string& text) {
    body(id, R"(data: {"choices":[{"delta":{"content":")" + text + "\"}}]}\n\n");
  }
  void finish(exchange_id id) {
    body(id, R"(data: {"choices":[{"delta":{},"finish_reason":"stop"}]})"
             "\n\n");
  }
  void answer(exchange_id id, const std::string& text) {
    head(id, 200);
    delta(id, text);
    finish(id);
    end(id);
  }
  void refuse(exchange_id id, std::uint32_t status, header_list headers = {}) {
    head(id, status, std::move(headers));
    body(id, "{}");
    end(id);
  }
  void withdraw(const std::string& worker = "") {
    rules.on_withdraw({race_id{"r"}, worker_id{worker}}, ++ticket, now);
    collect();
  }
  void collect() {
    for (auto& effect : rules.take_effects()) {
      std::visit([&](auto& x) { keep(x); }, effect);
    }
  }
  void keep(begin_exchange& x) {
    begun.push_back(x.id);
    requests.push_back(x.request);
  }
  void keep(begin_program& x) { programs.push_back(x); }
  void keep(ask_ledger& x) { asked.push_back(x); }
  void keep(stop_exchange& x) { stopped.push_back(x.id); }
  void keep(stop_program& x) { stopped.push_back(x.id); }
  void keep(withdrawal_done& x) { withdrawn.push_back(x); }
  void keep(prompt_progress& x) { progress.push_back(x); }
  void keep(prompt_delta& x) { deltas.push_back(x.text); }
  void keep(prompt_ended& x) { ended.push_back(x); }

  std::string provider = "p";
  gateway_rules rules;
  moment now{moment{}.at + 1h, 1'000'000'000'000};
  std::uint64_t ticket = 0;
  std::vector<exchange_id> begun;
  std::vector<http_request> requests;
  std::vector<begin_program> programs;
  std::vector<std::uint64_t> stopped;
  std::vector<ask_ledger> asked;
  std::vector<withdrawal_done> withdrawn;
  std::vector<prompt_progress> progress;
  std::vector<std::string> deltas;
  std::vector<prompt_ended> ended;
};

}  // namespace regatta::test
