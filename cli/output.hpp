// SPDX-License-Identifier: Apache-2.0
/// \file
/// Bytes to stdout and stderr. A reader that has gone away (`| head -1`) silences the stream and ends nothing.
#pragma once

#include "cli/progress.hpp"

#include <string>
#include <string_view>

namespace regatta::cli {

class output {
public:
  explicit output(int fd) : fd_{fd} {}

  /// Blocks while the reader is slow. False if the stream is closed or full; `why` then says so, but for a reader
  /// that has gone.
  bool write(std::string_view text);
  const std::string& why() const { return why_; }

  bool is_terminal() const;
  /// Now: it may be resized at any moment. 80 × 24 if it does not say.
  terminal_size size() const;

private:
  int fd_;
  bool is_closed_ = false;
  std::string why_;
};

}  // namespace regatta::cli
