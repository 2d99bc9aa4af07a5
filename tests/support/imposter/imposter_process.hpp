// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs imposter.py for a test: an HTTP server that says what the script tells it. Ends with the object.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace regatta::test {

class imposter {
public:
  /// `script`: the JSON text that imposter.py describes. `flags`: `--tls`, `--http1`.
  explicit imposter(const std::string& script, const std::vector<std::string>& flags = {});
  imposter(const imposter&) = delete;
  imposter& operator=(const imposter&) = delete;
  ~imposter();

  /// False if there is no Python, or for `--tls` no openssl or no h2 package; `why_not` says which.
  bool is_running() const { return port_ != 0; }
  int port() const { return port_; }
  /// Certificate file to trust; empty without `--tls`.
  const std::string& ca() const { return ca_; }
  /// `http://127.0.0.1:PORT/v1`.
  std::string base_url() const;
  /// Waits for the next line that has all these words, e.g. {"closed_by_client", "\"call\": 2"}; empty if none came in
  /// time. Lines are consumed.
  std::string wait_for(const std::vector<std::string>& words,
                       std::chrono::milliseconds timeout = std::chrono::seconds{10});

  /// All lines up to and with the next one that has all these words; without it if it does not come in time.
  std::vector<std::string> lines_until(const std::vector<std::string>& words,
                                       std::chrono::milliseconds timeout = std::chrono::seconds{10});

private:
  /// Empty at the end or after `timeout`.
  std::string next_line(std::chrono::milliseconds timeout);

  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  int port_ = 0;
  std::string script_path_;
  std::string ca_;
  std::string pending_;
};

}  // namespace regatta::test
