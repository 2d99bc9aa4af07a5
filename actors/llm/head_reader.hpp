// SPDX-License-Identifier: Apache-2.0
/// \file
/// The head of an HTTP answer from its lines. Pure.
#pragma once

#include "actors/llm/transport.hpp"

#include <cstdint>
#include <string_view>

namespace regatta {

class head_reader {
public:
  /// One line, with or without its end. Several heads may come (100 Continue); the last one before the body counts.
  /// Trailers after it are ignored. True when the head that counts is whole.
  bool take(std::string_view line);
  bool is_whole() const { return is_whole_; }
  /// 0 before the first line.
  std::uint32_t status() const { return status_; }
  header_list take_headers() { return std::move(headers_); }

private:
  std::uint32_t status_ = 0;
  header_list headers_;
  bool is_whole_ = false;
};

}  // namespace regatta
