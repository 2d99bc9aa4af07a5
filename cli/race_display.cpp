// SPDX-License-Identifier: Apache-2.0
#include "cli/race_display.hpp"

#include "cli/terminal_text.hpp"
#include "messages/codec.hpp"
#include "messages/event_codec.hpp"

#include <cstdio>
#include <variant>

namespace regatta::cli {

namespace {

constexpr std::chrono::milliseconds redraw_interval{100};

std::string stamp(std::chrono::milliseconds elapsed) {
  char text[32];
  std::snprintf(text, sizeof text, "[%8.3f s] ", static_cast<double>(elapsed.count()) / 1e3);
  return text;
}

}  // namespace

display_mode mode_for(const display_choice& x) {
  if (x.is_json) {
    return display_mode::json;
  }
  if (x.is_quiet) {
    return display_mode::none;
  }
  const bool can_redraw = x.is_terminal && !x.term.empty() && x.term != "dumb";
  return can_redraw ? display_mode::live : display_mode::plain;
}

bool has_color(const display_choice& x) {
  return mode_for(x) == display_mode::live && x.no_color.empty();
}

std::chrono::milliseconds race_display::since_start(clock::time_point now) const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - start_);
}

void race_display::show(const std::string& text) {
  if (!text.empty()) {
    err_.write(mode_ == display_mode::live ? screen_.print_above(text, err_.size()) : text);
  }
}

void race_display::stream(const event& x, const race_view& view) {
  if (const auto* delta = std::get_if<reply_delta>(&x.body); delta != nullptr && stream_ == stream_mode::all) {
    show(deltas_.add(delta->worker, delta->text));
  } else if (const auto* reply = std::get_if<reply_ended>(&x.body); reply != nullptr && stream_ == stream_mode::all) {
    show(deltas_.flush(reply->worker));
  } else if (const auto* won = std::get_if<winner_decided>(&x.body); won != nullptr && stream_ == stream_mode::winner) {
    // Which reply wins is known only now.
    delta_lines whole;
    auto text = whole.add(won->worker, view.winning_reply());
    show(text + whole.flush(won->worker));
  }
}

void race_display::on(const event& x, const race_view& view, clock::time_point now) {
  const bool is_delta = std::holds_alternative<reply_delta>(x.body);
  if (mode_ == display_mode::json) {
    if (!is_delta || stream_ == stream_mode::all) {
      out_.write(event_to_json(x) + "\n");
    }
    return;
  }
  if (mode_ == display_mode::none) {
    return;
  }
  stream(x, view);
  if (const auto* reply = std::get_if<reply_ended>(&x.body); reply != nullptr && !reply->warning.empty()) {
    show("regatta: " + clean_line(reply->warning) + "\n");
  }
  const auto line = mode_ == display_mode::plain ? plain_line(x) : std::nullopt;
  if (line) {
    err_.write(stamp(since_start(now)) + *line + "\n");
  }
}

void race_display::on(const race_closed& x) {
  if (mode_ == display_mode::json) {
    out_.write(msgpack_to_json(encode(std::variant<race_closed>{x})) + "\n");
  }
}

void race_display::refresh(const race_view& view, clock::time_point now) {
  if (mode_ != display_mode::live || !view.has_started() || now - drawn_at_ < redraw_interval) {
    return;
  }
  drawn_at_ = now;
  const auto size = err_.size();
  err_.write(screen_.paint(progress_lines(view, size, since_start(now)), size));
}

void race_display::finish() {
  if (mode_ == display_mode::live) {
    err_.write(screen_.erase(err_.size()));
  }
}

}  // namespace regatta::cli
