// SPDX-License-Identifier: Apache-2.0
/// \file
/// The real program as a child, its output in files.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace regatta::test {

class program_run {
public:
  /// `folder` holds the output files and is the working directory. The environment is `variables` and PATH alone.
  program_run(const std::string& folder, const std::vector<std::string>& argv,
              const std::map<std::string, std::string>& variables = {});
  program_run(const program_run&) = delete;
  program_run& operator=(const program_run&) = delete;
  ~program_run();

  /// Exit status; 128 + signal if one ended it; -1 if it still ran after `limit` (it is killed then).
  int wait(std::chrono::seconds limit = std::chrono::seconds{60});
  void signal(int number) const;
  /// True as soon as stderr holds `text`; false after `limit`, or when the program has ended.
  bool waits_for(const std::string& text, std::chrono::seconds limit = std::chrono::seconds{30});

  std::string out() const;
  std::string err() const;
  pid_t pid() const { return pid_; }
  /// All processes below it, now.
  std::vector<pid_t> descendants() const;

private:
  bool has_ended();

  std::string folder_;
  pid_t pid_ = -1;
  bool is_reaped_ = false;
  int status_ = -1;
};

std::string read_file(const std::string& path);
/// `regatta` of this build.
std::string regatta_program();
/// A file of the source tree.
std::string source_path(const std::string& name);

}  // namespace regatta::test
