// SPDX-License-Identifier: Apache-2.0
/// \file
/// One HTTP answer to a prompt, from its head, its bytes in any pieces and its end to one outcome. Pure.
#pragma once

#include "actors/llm/provider_config.hpp"
#include "actors/llm/reply.hpp"
#include "actors/llm/sse_parser.hpp"
#include "actors/llm/transport.hpp"
#include "actors/llm/wire_request.hpp"

#include <string>
#include <string_view>

namespace regatta {

class http_reply {
public:
  http_reply(provider_kind wire, std::uint32_t output_cap) : wire_{wire}, output_cap_{output_cap} {}

  void on_head(const exchange_head& head);
  /// True if something of the reply came: the idle limit starts anew.
  bool on_body(std::string_view bytes);
  /// Also for a stream that was ended by us because `is_settled` or `is_finished`.
  try_result on_end(const exchange_ended& end);

  const std::string& text() const { return reply_.text; }
  /// The outcome is certain (an error, or the wire's last event): nothing more has to be read.
  bool is_settled() const { return reply_.is_closed || reply_.failure.has_value(); }
  /// The reply is whole; only usage or the wire's last mark may be missing.
  bool is_finished() const { return reply_.is_finished; }
  /// Nothing good can come any more.
  bool has_failed() const { return reply_.failure.has_value(); }
  const header_list& headers() const { return headers_; }
  std::uint32_t status() const { return status_; }

private:
  enum class body_shape : std::uint8_t { unknown, events, json, foreign };

  bool read_events(const std::vector<sse_event>& events);
  bool take_event(const sse_event& event);
  void take_body();
  void cut_giant();
  void look_at_start();
  void keep_body(std::string_view bytes);
  void fail(llm_outcome outcome, std::string error);
  void judge_error_status();
  try_result judge(const exchange_ended& end);
  llm_outcome judge_finished();

  provider_kind wire_;
  std::uint32_t output_cap_;
  std::uint32_t status_ = 0;
  header_list headers_;
  body_shape shape_ = body_shape::unknown;
  std::string start_;  ///< Of a good answer; shown if it turns out to be no reply.
  std::string body_;   ///< Until its shape is known; then only if JSON, foreign, or an error's.
  sse_parser parser_;
  reply_so_far reply_;
};

}  // namespace regatta
