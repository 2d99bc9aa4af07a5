// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/http_reply.hpp"

#include "actors/llm/anthropic_codec.hpp"
#include "actors/llm/chat_codec.hpp"
#include "actors/llm/error_body_codec.hpp"
#include "actors/llm/relay_codec.hpp"
#include "actors/llm/responses_codec.hpp"
#include "actors/llm/utf8_text.hpp"
#include "messages/limits.hpp"

#include <algorithm>
#include <utility>

namespace regatta {

namespace {

/// What a foreign answer shows in its error text.
constexpr std::size_t snippet_bytes = 200;
/// Enough for any error body.
constexpr std::size_t error_body_bytes = 64 * KiB;
/// A whole JSON answer, with the same allowance as an event's.
constexpr std::size_t json_body_bytes = sse_parser::max_event_bytes;

std::string content_type_of(const header_list& headers) {
  for (const auto& [name, value] : headers) {
    if (name == "content-type") {
      return value;
    }
  }
  return "none";
}

}  // namespace

void http_reply::on_head(const exchange_head& head) {
  status_ = head.status;
  headers_ = head.headers;
}

bool http_reply::on_body(std::string_view bytes) {
  if (is_settled()) {
    return false;
  }
  if (status_ < 200 || status_ >= 300) {
    body_.append(bytes.substr(0, error_body_bytes - std::min(error_body_bytes, body_.size())));
    return false;
  }
  start_ += bytes.substr(0, snippet_bytes - std::min(snippet_bytes, start_.size()));
  if (shape_ == body_shape::events) {
    return read_events(parser_.feed(bytes));
  }
  keep_body(bytes);
  if (shape_ == body_shape::unknown) {
    look_at_start();
  }
  return shape_ == body_shape::events ? read_events(parser_.feed(std::exchange(body_, {}))) : false;
}

void http_reply::keep_body(std::string_view bytes) {
  body_ += bytes;
  if (shape_ == body_shape::foreign) {
    body_.resize(std::min(body_.size(), error_body_bytes));
  } else if (body_.size() > json_body_bytes) {
    fail(llm_outcome::malformed, "the answer is larger than " + std::to_string(json_body_bytes) + " bytes");
  }
}

/// By its first character, not by Content-Type: servers send events as text/plain, and HTML with status 200.
void http_reply::look_at_start() {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  auto start = std::string_view{body_};
  if (start.starts_with(byte_order_mark)) {
    start.remove_prefix(byte_order_mark.size());
  } else if (byte_order_mark.starts_with(start)) {
    return;
  }
  const auto first = start.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    return;
  }
  const char c = start[first];
  const bool is_json = c == '{' || c == '[';
  // `:` begins a comment, the letters begin data, event, id, retry.
  const bool is_events = c == ':' || c == 'd' || c == 'e' || c == 'i' || c == 'r';
  shape_ = is_json ? body_shape::json : is_events ? body_shape::events : body_shape::foreign;
}

bool http_reply::read_events(const std::vector<sse_event>& events) {
  bool is_alive = false;
  for (const auto& event : events) {
    is_alive = take_event(event) || is_alive;
    cut_giant();
    if (reply_.failure) {
      break;
    }
  }
  if (parser_.is_overflown()) {
    fail(llm_outcome::malformed, "an event is larger than " + std::to_string(sse_parser::max_event_bytes) + " bytes");
  }
  return is_alive;
}

void http_reply::cut_giant() {
  if (reply_.text.size() > reply_bytes) {
    reply_.text.resize(whole_characters(std::string_view{reply_.text}.substr(0, reply_bytes)));
    fail(llm_outcome::malformed, "the reply is larger than " + std::to_string(reply_bytes) + " bytes; cut");
  }
}

bool http_reply::take_event(const sse_event& event) {
  switch (wire_) {
    case provider_kind::responses:
      return read_responses_event(event.name, event.data, output_cap_, reply_);
    case provider_kind::chat:
      return read_chat_event(event.data, reply_);
    case provider_kind::anthropic:
      return read_anthropic_event(event.name, event.data, reply_);
    case provider_kind::relay:
      return read_relay_event(event.data, reply_);
    case provider_kind::command:
    case provider_kind::replay:
      break;
  }
  return false;
}

void http_reply::take_body() {
  switch (wire_) {
    case provider_kind::responses:
      read_responses_body(body_, output_cap_, reply_);
      break;
    case provider_kind::chat:
      read_chat_body(body_, reply_);
      break;
    case provider_kind::anthropic:
      read_anthropic_body(body_, reply_);
      break;
    case provider_kind::relay:
      read_relay_body(body_, reply_);
      break;
    case provider_kind::command:
    case provider_kind::replay:
      break;
  }
  if (reply_.failure == llm_outcome::malformed) {
    reply_.error += ": " + start_;
  }
  cut_giant();
}

void http_reply::fail(llm_outcome outcome, std::string error) {
  if (!reply_.failure) {
    reply_.failure = outcome;
    reply_.error = std::move(error);
  }
}

try_result http_reply::on_end(const exchange_ended& end) {
  const bool is_good_status = status_ >= 200 && status_ < 300;
  if (is_good_status && shape_ == body_shape::events && !is_settled()) {
    read_events(parser_.finish());
  } else if (is_good_status && shape_ == body_shape::json && !is_settled() && end.how == exchange_end::complete) {
    take_body();
  } else if (!is_good_status && status_ != 0) {
    judge_error_status();
  }
  auto result = judge(end);
  result.http_status = status_;
  // Kept here, too: its last piece may not have been shown yet.
  result.text = reply_.text;
  result.finish_reason = std::move(reply_.finish_reason);
  result.response_id = std::move(reply_.response_id);
  result.usage = reply_.usage;
  return result;
}

void http_reply::judge_error_status() {
  const auto error = read_error_body(body_);
  auto text = describe(status_, error);
  if (status_ >= 300 && status_ < 400) {
    // Following would carry the key to another host.
    text += " (redirects are not followed: set base_url to the final address)";
  }
  fail(classify(status_, error), std::move(text));
}

try_result http_reply::judge(const exchange_ended& end) {
  try_result out;
  if (reply_.failure) {
    out.outcome = *reply_.failure;
    out.error = reply_.error;
  } else if (reply_.is_finished && reply_.has_content) {
    out.outcome = judge_finished();
    if (out.outcome == llm_outcome::refused) {
      out.error = reply_.refusal.empty() ? reply_.finish_reason : reply_.refusal;
    } else if (out.outcome == llm_outcome::empty) {
      out.error = reply_.has_reasoning ? "reasoning and no text: raise max_output_tokens" : "no text";
    }
  } else if (end.how != exchange_end::complete && end.how != exchange_end::cancelled) {
    out.outcome = end.how == exchange_end::too_large ? llm_outcome::malformed : llm_outcome::transport_failed;
    out.error = end.error;
    out.is_permanent = end.how == exchange_end::refused_by_tls || end.how == exchange_end::misconfigured;
  } else if (reply_.has_content) {
    out.outcome = llm_outcome::transport_failed;
    out.error = "the stream ended before the reply did";
  } else {
    out.outcome = llm_outcome::malformed;
    out.error = "not a reply (content type " + content_type_of(headers_) + "): " + start_;
  }
  return out;
}

llm_outcome http_reply::judge_finished() {
  if (reply_.is_filtered || !reply_.refusal.empty()) {
    return llm_outcome::refused;
  }
  if (!has_readable(reply_.text)) {
    return llm_outcome::empty;
  }
  return reply_.is_cut ? llm_outcome::truncated : llm_outcome::replied;
}

}  // namespace regatta
