// SPDX-License-Identifier: Apache-2.0
/// \file
/// Many conversations at once: one imposter, one gateway, and for each case a provider and a worker of its own, so that
/// no case's back-off holds up another's and all of them take as long as the slowest.
#pragma once

#include "actors/llm/llm_gateway.hpp"
#include "tests/actors/llm/waiting_list.hpp"
#include "tests/actors/llm/wire_case.hpp"
#include "tests/support/imposter/imposter_process.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <nlohmann/json.hpp>

#include <cctype>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace regatta::test {

class wire_house {
public:
  explicit wire_house(std::vector<wire_case> cases)
      : cases_{std::move(cases)}, server_{script()}, sink_{system_.spawn(listener, &ended_)} {
    if (!server_.is_running()) {
      return;
    }
    llm_gateway_config config;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      config.providers.push_back(provider(i));
    }
    config.providers.push_back(last_provider());
    config.sink = sink_;
    gateway_ = spawn_llm_gateway(system_, std::move(config));
  }
  wire_house(const wire_house&) = delete;
  wire_house& operator=(const wire_house&) = delete;
  ~wire_house() {
    if (gateway_) {
      caf::anon_send_exit(gateway_, caf::exit_reason::user_shutdown);
    }
    caf::anon_send_exit(sink_, caf::exit_reason::user_shutdown);
    gateway_ = nullptr;
    sink_ = nullptr;
  }

  bool is_running() const { return server_.is_running(); }

  /// Asks all at once and checks each.
  void run() {
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      ask(i, name_of(i));
    }
    const auto wanted = cases_.size();
    BOOST_TEST(ended_.wait([&](const auto& all) { return all.size() >= wanted; }, std::chrono::seconds{60}),
               ended_.all().size() << " of " << wanted << " have ended");
    std::map<std::string, prompt_ended> by_worker;
    for (const auto& x : ended_.all()) {
      by_worker[x.worker.text] = x;
    }
    const auto calls = count_calls();
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const auto it = by_worker.find(make_worker_id(static_cast<std::uint32_t>(i + 1)).text);
      BOOST_TEST_CONTEXT(name_of(i)) {
        BOOST_REQUIRE_MESSAGE(it != by_worker.end(), name_of(i) << " has not ended");
        check(cases_[i], it->second, calls.contains(path_of(i)) ? calls.at(path_of(i)) : 0);
      }
    }
  }

private:
  static prompt_sink_actor::behavior_type listener(prompt_sink_actor::pointer, waiting_list<prompt_ended>* to) {
    return {[](const prompt_progress&) {}, [](const prompt_delta&) {}, [=](const prompt_ended& x) { to->add(x); }};
  }

  std::string name_of(std::size_t i) const {
    std::string out = cases_[i].name + "." + std::string{words_of(cases_[i].kind).name};
    for (auto& c : out) {
      c = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' ? c : '-';
    }
    return out;
  }
  std::string path_of(std::size_t i) const {
    const auto& wire = words_of(cases_[i].kind);
    return "/" + name_of(i) + (wire.streams() ? "/v1" + std::string{wire.path} : "");
  }

  std::string script() const {
    auto rules = nlohmann::json::array();
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      for (std::size_t n = 0; n < cases_[i].rules.size(); ++n) {
        auto rule = cases_[i].rules[n];
        rule["path"] = path_of(i);
        if (n + 1 < cases_[i].rules.size()) {
          rule["times"] = 1;
        }
        rules.push_back(std::move(rule));
      }
    }
    rules.push_back(good_answer(words_of(provider_kind::chat)));
    return nlohmann::json{{"rules", rules}}.dump();
  }

  std::string root() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }

  provider_config provider(std::size_t i) const {
    const auto& x = cases_[i];
    provider_config out;
    out.name = name_of(i);
    out.kind = x.kind;
    out.base_url = root() + "/" + name_of(i) + (words_of(x.kind).streams() ? "/v1" : "");
    out.api_key = "sk-secret";
    out.tries = 2;
    out.backoff_first = std::chrono::milliseconds{20};
    out.backoff_cap = std::chrono::seconds{5};
    if (x.tune) {
      x.tune(out);
    }
    return out;
  }
  provider_config last_provider() const {
    provider_config out;
    out.name = "last";
    out.kind = provider_kind::chat;
    out.base_url = root() + "/last";
    return out;
  }

  void ask(std::size_t i, const std::string& provider) {
    prompt x;
    x.race = race_id{"r"};
    x.worker = make_worker_id(static_cast<std::uint32_t>(i + 1));
    x.round = 1;
    x.attempt = 1;
    x.choice.provider = provider;
    x.choice.model = "m";
    x.system = "sys";
    x.user = "user";
    caf::scoped_actor from{system_};
    from->request(gateway_, std::chrono::seconds{10}, std::move(x))
        .receive([](accepted) {}, [&](const caf::error& e) { BOOST_ERROR(provider << ": " << describe(e)); });
  }

  /// By path. One more call is made, and what the server has told before it is everything.
  std::map<std::string, std::uint32_t> count_calls() {
    ask(cases_.size(), "last");
    std::map<std::string, std::uint32_t> out;
    for (const auto& line : server_.lines_until({"\"event\": \"call\"", "\"path\": \"/last/"})) {
      const auto told = nlohmann::json::parse(line, nullptr, false);
      if (told.is_object() && told.value("event", "") == "call") {
        ++out[told.value("path", "")];
      }
    }
    return out;
  }

  static void check(const wire_case& x, const prompt_ended& got, std::uint32_t calls) {
    BOOST_TEST(got.outcome == x.outcome, to_string(got.outcome)
                                             << ", wanted " << to_string(x.outcome) << ": " << got.error);
    BOOST_TEST(calls == x.calls);
    BOOST_TEST(got.text == x.text);
    BOOST_TEST((got.error.empty() == (got.outcome == llm_outcome::replied || got.outcome == llm_outcome::truncated)));
    BOOST_TEST(got.error.find("sk-secret") == std::string::npos);
    BOOST_TEST(got.elapsed.count() >= x.at_least.count());
    if (x.check) {
      x.check(got);
    }
  }

  std::vector<wire_case> cases_;
  imposter server_;
  waiting_list<prompt_ended> ended_;
  caf::actor_system_config system_config_;
  caf::actor_system system_{system_config_};
  prompt_sink_actor sink_;
  llm_gateway_actor gateway_;
};

}  // namespace regatta::test
