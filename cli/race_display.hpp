// SPDX-License-Identifier: Apache-2.0
/// \file
/// RACE DISPLAY: shows a race as it goes, in the way that fits where its output leads.
#pragma once

#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/race_view.hpp"

#include <chrono>
#include <string>

namespace regatta::cli {

enum class display_mode : std::uint8_t {
  live,   ///< One line per worker on stderr, redrawn.
  plain,  ///< One line per fact on stderr.
  json,   ///< One JSON object per event on stdout.
  none,
};

enum class stream_mode : std::uint8_t { all, winner, none };

struct display_choice {
  bool is_json = false;
  bool is_quiet = false;
  bool is_terminal = false;
  std::string term{};      ///< $TERM
  std::string no_color{};  ///< $NO_COLOR: any text switches color off.
};
display_mode mode_for(const display_choice& x);
bool has_color(const display_choice& x);

class race_display {
public:
  using clock = std::chrono::steady_clock;

  race_display(display_mode mode, bool color, stream_mode stream, output& out, output& err, clock::time_point start)
      : mode_{mode}, stream_{stream}, out_{out}, err_{err}, screen_{color}, start_{start} {}

  /// `view` has the event already.
  void on(const event& x, const race_view& view, clock::time_point now);
  void on(const race_closed& x);
  /// Redraws if it is time to: not more often than 10 times a second.
  void refresh(const race_view& view, clock::time_point now);
  /// Takes the live lines away before the account.
  void finish();

private:
  void show(const std::string& text);
  void stream(const event& x, const race_view& view);
  std::chrono::milliseconds since_start(clock::time_point now) const;

  display_mode mode_;
  stream_mode stream_;
  output& out_;
  output& err_;
  live_screen screen_;
  delta_lines deltas_;
  clock::time_point start_;
  clock::time_point drawn_at_{};
};

}  // namespace regatta::cli

REGATTA_ENUM_NAMES(regatta::cli::stream_mode, 3, {regatta::cli::stream_mode::all, "all"},
                   {regatta::cli::stream_mode::winner, "winner"}, {regatta::cli::stream_mode::none, "none"});
