// SPDX-License-Identifier: Apache-2.0
/// \file
/// Servers of the host that an attack must not reach.
#pragma once

#include "sandbox/unique_fd.hpp"

#include <string>

namespace regatta::sandbox::test {

/// Listens on 127.0.0.1, any port.
class tcp_target {
public:
  tcp_target();
  int port() const { return port_; }
  /// True if a connection waits to be accepted.
  bool was_reached() const;

private:
  unique_fd listener_;
  int port_ = 0;
};

class unix_target {
public:
  enum class kind { abstract, path };
  explicit unix_target(kind what);
  ~unix_target();
  unix_target(const unix_target&) = delete;
  unix_target& operator=(const unix_target&) = delete;
  /// The path, or the abstract name without its NUL.
  const std::string& name() const { return name_; }
  bool was_reached() const;

private:
  unique_fd listener_;
  std::string name_;
  kind kind_;
};

}  // namespace regatta::sandbox::test
