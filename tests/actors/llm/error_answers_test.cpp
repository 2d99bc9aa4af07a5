// SPDX-License-Identifier: Apache-2.0
#include "tests/actors/llm/answer.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace regatta;
using namespace regatta::test;

BOOST_AUTO_TEST_SUITE(error_answers)

BOOST_AUTO_TEST_CASE(the_status_counts_first) {
  const auto outcome = [](std::uint32_t status, const std::string& body) {
    answer x = chat;
    x.status = status;
    return x.read(body).outcome;
  };
  BOOST_TEST(outcome(401, R"({"error":{"type":"server_error"}})") == llm_outcome::unauthorized);
  BOOST_TEST(outcome(429, R"({"error":{"code":"429","type":"throttling_error","param":"None"}})") ==
             llm_outcome::rate_limited);
  BOOST_TEST(outcome(429, R"({"error":{"code":"insufficient_quota"}})") == llm_outcome::quota_exhausted);
  BOOST_TEST(outcome(400, R"({"error":{"code":400,"type":"BadRequestError"}})") == llm_outcome::bad_request);
  BOOST_TEST(outcome(400, R"({"error":{"code":"400","message":"litellm.ContextWindowExceededError: x"}})") ==
             llm_outcome::context_too_long);
  BOOST_TEST(outcome(400, R"({"error":{"code":"400","message":"litellm.ContentPolicyViolationError: x"}})") ==
             llm_outcome::refused);
  BOOST_TEST(outcome(400, R"({"error":{"code":"content_filter"}})") == llm_outcome::refused);
  BOOST_TEST(outcome(400, R"({"error":{"type":"budget_exceeded","code":"400"}})") == llm_outcome::quota_exhausted);
  BOOST_TEST(outcome(404, "") == llm_outcome::bad_request);
  BOOST_TEST(outcome(408, R"({"error":{"type":"invalid_request_error"}})") == llm_outcome::overloaded);
  BOOST_TEST(outcome(529, "busy") == llm_outcome::overloaded);
  BOOST_TEST(outcome(500, "Internal Server Error") == llm_outcome::overloaded);
  BOOST_TEST(outcome(500, "data: {\"error\":{\"message\":\"m\"}}\n\ndata: [DONE]\n\n") == llm_outcome::overloaded);
  BOOST_TEST(outcome(302, "") == llm_outcome::bad_request);
}

BOOST_AUTO_TEST_CASE(the_error_text_is_found_wherever_it_stands) {
  answer x = chat;
  x.status = 500;
  BOOST_TEST(x.read("data: {\"error\":{\"message\":\"deep\"}}\n\n").error == "500: deep");
  x.status = 400;
  BOOST_TEST(x.read(R"({"detail":"plain"})").error == "400: plain");
  BOOST_TEST(x.read(R"([{"error":{"message":"listed","code":400}}])").error == "400 400: listed");
  BOOST_TEST(x.read("oops").error == "400: oops");
}

BOOST_AUTO_TEST_CASE(the_key_stands_in_one_header_only) {
  provider_config provider;
  provider.kind = provider_kind::chat;
  provider.base_url = "http://host/v1/";
  provider.api_key = "sk-secret";
  const auto request = make_request(ask_of("m"), provider);
  BOOST_TEST(request.url == "http://host/v1/chat/completions");
  BOOST_TEST(request.body.find("sk-secret") == std::string::npos);
  int found = 0;
  for (const auto& [name, value] : request.headers) {
    found += value.find("sk-secret") != std::string::npos ? 1 : 0;
  }
  BOOST_TEST(found == 1);
}

BOOST_AUTO_TEST_SUITE_END()
