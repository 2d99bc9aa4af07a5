// SPDX-License-Identifier: Apache-2.0
/// \file
/// PROGRESS: a race as lines. On a terminal one line per worker, redrawn in place; elsewhere one line per fact. Pure:
/// whoever owns the terminal writes the bytes.
#pragma once

#include "cli/race_view.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace regatta::cli {

struct terminal_size {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

/// Head line, one line per worker (those still racing first), and a line that counts the workers for which there is
/// no room. Never more than `size.rows - 1` lines, each of less than `size.columns` columns.
std::vector<std::string> progress_lines(const race_view& view, terminal_size size, std::chrono::milliseconds elapsed);

/// "softmax: 4 workers, 12.3 s: 2 evaluating, 2 prompting": `regatta status`.
std::string status_line(const race_view& view, std::chrono::milliseconds elapsed);

/// One line for a fact, e.g. "worker_01 round 2: exited_nonzero: exit status 1"; empty for facts that say nothing new
/// to a reader (deltas, moves within a round).
std::optional<std::string> plain_line(const event& x);

/// Redraws a block of lines at the bottom of a terminal. Gives the bytes to write.
class live_screen {
public:
  explicit live_screen(bool has_color) : has_color_{has_color} {}

  /// Replaces the block. `size` is the terminal's now: after a resize the old lines may have wrapped.
  std::string paint(const std::vector<std::string>& lines, terminal_size size);
  /// Lines of text that scroll away above the block, which is painted again.
  std::string print_above(const std::string& text, terminal_size size);
  /// Takes the block away.
  std::string erase(terminal_size size);

private:
  std::string colored(const std::string& line) const;

  bool has_color_;
  std::vector<std::string> shown_;
};

/// Pieces of a reply to whole lines, "[worker_01] text". Cleaned.
class delta_lines {
public:
  /// Finished lines, each with a line end; the rest waits.
  std::string add(const worker_id& worker, std::string_view text);
  /// What waits, as a line.
  std::string flush(const worker_id& worker);

private:
  std::vector<std::pair<worker_id, std::string>> waiting_;
};

/// "950", "1.2k", "3.4M".
std::string short_count(std::uint64_t x);
/// "850 ms", "4.2 s", "3 min 20 s".
std::string short_time(std::chrono::microseconds x);

}  // namespace regatta::cli
