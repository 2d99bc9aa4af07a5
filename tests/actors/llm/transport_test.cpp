// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/curl_transport.hpp"
#include "tests/actors/llm/skip.hpp"
#include "tests/actors/llm/waiting_list.hpp"
#include "tests/support/imposter/imposter_process.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <string>

using namespace regatta;
using namespace std::chrono_literals;

namespace {

struct one_transport {
  explicit one_transport(const std::string& script, const std::vector<std::string>& flags = {})
      : server{script, flags}, http{[this](exchange_event x) { events.add(std::move(x)); }} {}

  http_request request(const std::string& path = "/x") const {
    http_request out;
    out.url = server.base_url() + path;
    out.body = "{}";
    out.ca_file = server.ca();
    out.headers = {{"Authorization", "Bearer sk-key"}};
    return out;
  }
  exchange_ended end_of(exchange_id id) {
    exchange_ended out;
    const bool has_ended = events.wait([&](const auto& all) {
      return std::any_of(all.begin(), all.end(), [&](const auto& x) {
        const auto* end = std::get_if<exchange_ended>(&x);
        out = end != nullptr && end->id == id ? *end : out;
        return out.id == id;
      });
    });
    BOOST_TEST(has_ended, "exchange " << id << " has ended");
    return out;
  }
  std::string body_of(exchange_id id) {
    std::string out;
    for (const auto& x : events.all()) {
      const auto* body = std::get_if<exchange_body>(&x);
      out += body != nullptr && body->id == id ? body->bytes : "";
    }
    return out;
  }
  bool has_body(exchange_id id) {
    return events.wait([&](const auto& all) {
      return std::any_of(all.begin(), all.end(), [&](const auto& x) {
        const auto* body = std::get_if<exchange_body>(&x);
        return body != nullptr && body->id == id;
      });
    });
  }

  test::imposter server;
  test::waiting_list<exchange_event> events;
  curl_transport http;
};

std::string call(int number) {
  return "\"call\": " + std::to_string(number);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(transport_http1)

BOOST_AUTO_TEST_CASE(an_answer_comes_as_head_pieces_and_one_end) {
  one_transport t{R"({"rules": [{"status": 201, "headers": {"X-Odd": "Yes"}, "steps":
    [{"text": "one "}, {"pause_ms": 50}, {"text": "two", "cut": [1]}]}]})"};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  t.http.start(1, t.request());
  BOOST_TEST((t.end_of(1).how == exchange_end::complete));
  BOOST_TEST(t.body_of(1) == "one two");
  const auto first = t.events.all().front();
  BOOST_REQUIRE(std::holds_alternative<exchange_head>(first));
  const auto head = std::get<exchange_head>(first);
  BOOST_TEST(head.status == 201U);
  BOOST_TEST((std::find(head.headers.begin(), head.headers.end(),
                        std::pair<std::string, std::string>{"x-odd", "Yes"}) != head.headers.end()));
  const auto seen = t.server.wait_for({"\"event\": \"call\""});
  BOOST_TEST(seen.find("\"authorization\": \"Bearer sk-key\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_cancel_closes_the_connection_at_once) {
  one_transport t{R"({"rules": [{"steps": [{"text": "x"}, {"stall": true}]}]})"};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  t.http.start(1, t.request());
  BOOST_REQUIRE(t.has_body(1));
  const auto start = std::chrono::steady_clock::now();
  t.http.cancel(1);
  BOOST_TEST((t.end_of(1).how == exchange_end::cancelled));
  BOOST_TEST(!t.server.wait_for({"closed_by_client", call(1)}).empty());
  BOOST_TEST((std::chrono::steady_clock::now() - start < 2s));
}

BOOST_AUTO_TEST_CASE(a_cancel_before_the_head_closes_too) {
  one_transport t{R"({"rules": [{"before": [{"stall": true}]}]})"};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  t.http.start(1, t.request());
  BOOST_REQUIRE(!t.server.wait_for({"\"call\""}).empty());
  t.http.cancel(1);
  BOOST_TEST((t.end_of(1).how == exchange_end::cancelled));
  BOOST_TEST(!t.server.wait_for({"closed_by_client"}).empty());
}

BOOST_AUTO_TEST_CASE(a_reset_and_an_early_close_are_cut) {
  one_transport t{R"({"rules": [{"path": "/reset", "steps": [{"text": "x"}, {"reset": true}]},
    {"path": "/close", "steps": [{"text": "x"}, {"close": true}]},
    {"path": "/short", "framing": "length", "headers": {"x": "y"}, "steps": [{"text": "x"}, {"pause_ms": 100}, {"close": true}, {"text": "more"}]}]})"};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  exchange_id id = 0;
  for (const auto* path : {"/reset", "/close", "/short"}) {
    t.http.start(++id, t.request(path));
    BOOST_TEST((t.end_of(id).how == exchange_end::cut), path);
  }
}

BOOST_AUTO_TEST_CASE(a_reset_on_a_kept_connection_is_asked_again_on_a_new_one) {
  one_transport t{R"({"rules": [{"times": 1, "steps": [{"text": "first"}]},
    {"times": 1, "before": [{"reset": true}]}, {"steps": [{"text": "third"}]}]})"};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  t.http.start(1, t.request());
  BOOST_TEST((t.end_of(1).how == exchange_end::complete));
  t.http.start(2, t.request());
  BOOST_TEST((t.end_of(2).how == exchange_end::complete));
  BOOST_TEST(t.body_of(2) == "third");
  BOOST_TEST(!t.server.wait_for({"answered", call(3)}).empty());
}

BOOST_AUTO_TEST_CASE(a_kept_connection_that_is_closed_for_idleness_costs_no_exchange) {
  // uvicorn does so after 5 s; here the closing and the next request meet again and again.
  one_transport t{R"({"rules": [{"idle_close_ms": 1, "steps": [{"text": "answer"}]}]})"};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  for (exchange_id id = 1; id <= 20; ++id) {
    t.http.start(id, t.request());
    BOOST_TEST((t.end_of(id).how == exchange_end::complete));
    BOOST_TEST(t.body_of(id) == "answer");
  }
}

BOOST_AUTO_TEST_CASE(a_reset_on_a_new_connection_is_not) {
  one_transport t{R"({"rules": [{"times": 1, "before": [{"reset": true}]}, {"steps": [{"text": "second"}]}]})"};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  t.http.start(1, t.request());
  BOOST_TEST((t.end_of(1).how == exchange_end::cut));
}

BOOST_AUTO_TEST_CASE(nobody_there_is_a_failed_connect_and_a_bad_address_is_misconfigured) {
  int port = 0;
  {
    const test::imposter gone{R"({"rules": []})"};
    port = gone.port();
  }
  one_transport t{R"({"rules": []})"};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  auto request = t.request();
  request.url = "http://127.0.0.1:" + std::to_string(port) + "/x";
  t.http.start(1, request);
  const auto end = t.end_of(1);
  BOOST_TEST((end.how == exchange_end::connect_failed));
  BOOST_TEST(end.error.find("sk-key") == std::string::npos);
  request.url = "ftp://127.0.0.1/x";
  t.http.start(2, request);
  BOOST_TEST((t.end_of(2).how == exchange_end::misconfigured));
}

BOOST_AUTO_TEST_CASE(a_proxy_is_used) {
  one_transport t{R"({"rules": [{"path": "http://no.such.host.invalid/x", "steps": [{"text": "by proxy"}]}]})"};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  auto request = t.request();
  request.url = "http://no.such.host.invalid/x";
  request.proxy = "http://127.0.0.1:" + std::to_string(t.server.port());
  t.http.start(1, request);
  t.end_of(1);
  BOOST_TEST(t.body_of(1) == "by proxy");
}

BOOST_AUTO_TEST_CASE(a_reader_that_is_slow_slows_the_server_down) {
  constexpr std::size_t size = 8'000'000;
  one_transport t{R"({"rules": [{"steps": [{"text": ")" + std::string(size, 'x') + R"("}]}]})"};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  t.http.start(1, t.request());
  // The events that the list keeps hold their receipts: nothing is read as far as the transport can see.
  BOOST_TEST(!t.events.wait(
      [](const auto& all) {
        return std::any_of(all.begin(), all.end(),
                           [](const auto& x) { return std::holds_alternative<exchange_ended>(x); });
      },
      500ms));
  BOOST_TEST(t.body_of(1).size() < 2'000'000U);
  std::size_t read = 0;
  for (bool is_over = false; !is_over;) {
    BOOST_REQUIRE(t.events.wait([](const auto& all) { return !all.empty(); }));
    // One snapshot: more may come between two.
    const auto all = t.events.all();
    for (const auto& x : all) {
      const auto* body = std::get_if<exchange_body>(&x);
      read += body != nullptr ? body->bytes.size() : 0;
    }
    is_over = std::holds_alternative<exchange_ended>(all.back());
    t.events.drop(all.size());
  }
  BOOST_TEST(read >= size);
}

BOOST_AUTO_TEST_CASE(many_streams_run_at_once_and_end_at_once) {
  one_transport t{R"({"rules": [{"steps": [{"text": "x"}, {"stall": true}]}]})"};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  constexpr exchange_id count = 300;
  for (exchange_id id = 1; id <= count; ++id) {
    t.http.start(id, t.request());
  }
  BOOST_TEST(t.events.wait([&](const auto& all) {
    return std::count_if(all.begin(), all.end(),
                         [](const auto& x) { return std::holds_alternative<exchange_body>(x); }) == count;
  }));
  for (exchange_id id = 1; id <= count; ++id) {
    t.http.cancel(id);
  }
  BOOST_TEST((t.end_of(count).how == exchange_end::cancelled));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(transport_tls)

BOOST_AUTO_TEST_CASE(a_cancel_resets_the_stream_and_leaves_its_neighbours) {
  one_transport t{R"({"rules": [{"path": "/stall", "steps": [{"text": "x"}, {"stall": true}]},
    {"steps": [{"text": "a"}, {"pause_ms": 500}, {"text": "b"}]}]})",
                  {"--tls"}};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  t.http.start(1, t.request("/stall"));
  BOOST_REQUIRE(t.has_body(1));
  BOOST_TEST(t.server.wait_for({call(1)}).find("\"h2\"") != std::string::npos);
  t.http.start(2, t.request("/other"));
  BOOST_REQUIRE(t.has_body(2));
  t.http.cancel(1);
  BOOST_TEST((t.end_of(1).how == exchange_end::cancelled));
  BOOST_TEST(!t.server.wait_for({"reset_by_client", call(1)}, 400ms).empty(), "before the neighbour ends");
  BOOST_TEST((t.end_of(2).how == exchange_end::complete));
  BOOST_TEST(t.body_of(2) == "ab");
}

BOOST_AUTO_TEST_CASE(a_lone_stream_is_closed_with_its_connection_at_least) {
  one_transport t{R"({"rules": [{"steps": [{"text": "x"}, {"stall": true}]}]})", {"--tls"}};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  t.http.start(1, t.request());
  BOOST_REQUIRE(t.has_body(1));
  t.http.cancel(1);
  BOOST_TEST((t.end_of(1).how == exchange_end::cancelled));
  BOOST_TEST(!t.server.wait_for({"_by_client", call(1)}).empty());
}

BOOST_AUTO_TEST_CASE(a_whole_race_of_streams_ends_at_once) {
  one_transport t{R"({"rules": [{"steps": [{"text": "x"}, {"stall": true}]}]})", {"--tls"}};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  constexpr exchange_id count = 250;
  for (exchange_id id = 1; id <= count; ++id) {
    t.http.start(id, t.request());
  }
  for (exchange_id id = 1; id <= count; ++id) {
    BOOST_REQUIRE(t.has_body(id));
  }
  for (exchange_id id = 1; id <= count; ++id) {
    t.http.cancel(id);
  }
  for (exchange_id id = 1; id <= count; ++id) {
    BOOST_TEST(!t.server.wait_for({"_by_client"}).empty());
  }
}

BOOST_AUTO_TEST_CASE(http1_over_tls_is_closed) {
  one_transport t{R"({"rules": [{"steps": [{"text": "x"}, {"stall": true}]}]})", {"--tls", "--http1"}};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  t.http.start(1, t.request());
  BOOST_REQUIRE(t.has_body(1));
  t.http.cancel(1);
  BOOST_TEST(!t.server.wait_for({"closed_by_client", call(1)}).empty());
}

BOOST_AUTO_TEST_CASE(a_stranger_with_his_own_certificate_is_refused) {
  one_transport t{R"({"rules": [{"steps": [{"text": "x"}]}]})", {"--tls"}};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  auto request = t.request();
  request.ca_file.clear();
  t.http.start(1, request);
  BOOST_TEST((t.end_of(1).how == exchange_end::refused_by_tls));
  request.ca_file = "/no/such/file";
  t.http.start(2, request);
  BOOST_TEST((t.end_of(2).how == exchange_end::refused_by_tls));
}

BOOST_AUTO_TEST_CASE(a_reset_stream_is_cut) {
  one_transport t{R"({"rules": [{"steps": [{"text": "x"}, {"reset": true}]}]})", {"--tls"}};
  REGATTA_NEEDS(t.server.is_running(), "imposter");
  t.http.start(1, t.request());
  BOOST_TEST((t.end_of(1).how == exchange_end::cut));
}

BOOST_AUTO_TEST_SUITE_END()
