// SPDX-License-Identifier: Apache-2.0
/// \file
/// SIGNALS: the first SIGINT, SIGTERM or SIGHUP asks for a clean end, the second ends the program at once.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace regatta::cli {

/// Made once, before any other thread: threads inherit the mask. SIGPIPE is ignored from then on. Signals that are
/// already ignored (nohup, a shell's background job) stay ignored.
class signal_watch {
public:
  signal_watch();
  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;
  ~signal_watch();

  /// What the first signal does, on the watch's thread; it must not block. As long as there is nothing (before a race
  /// starts) the first signal, too, ends the program at once: there is nothing yet that could be lost.
  void on_first(std::function<void(int signal)> handler);

private:
  void watch();
  void on_signal(int signal);

  int signals_ = -1;
  int stop_ = -1;
  std::mutex mutex_;
  std::function<void(int)> handler_;
  bool has_seen_one_ = false;
  std::thread thread_;
};

/// "SIGINT (Ctrl-C)" and so on.
const char* signal_name(int signal);

}  // namespace regatta::cli
