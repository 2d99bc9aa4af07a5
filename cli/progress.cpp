// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include "cli/terminal_text.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

namespace regatta::cli {

namespace {

std::string rounded(double x, const char* unit) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%s", x, unit);
  return text;
}

std::string worker_line(const race_view& view, std::size_t index) {
  const auto& worker = view.record().workers[index];
  const auto round = std::to_string(worker.round) + "/" + std::to_string(view.record().race.rounds);
  auto state = worker.phase == "ended" ? worker.end : worker.phase;
  std::string out = fit_to(worker.worker.text, 10) + " round " + fit_to(round, 6) + " " + fit_to(state, 14) + " ";
  const auto tokens = worker.input_tokens + worker.output_tokens;
  out += fit_to(tokens == 0 ? "" : short_count(tokens) + " tok", 9) + " ";
  const auto word = worker.note.empty() ? view.last_word(index) : worker.note;
  return out + word;
}

std::string head_line(const race_view& view, std::chrono::milliseconds elapsed) {
  const auto& race = view.record().race;
  std::string out = clean_line(race.problem) + ": " + std::to_string(race.workers) + " workers, " + short_time(elapsed);
  if (view.is_decided()) {
    out += ", won by " + race.winner.text + " in round " + std::to_string(race.winner_round) + " (" + race.standing +
           (view.may_be_timing() ? "), being timed alone" : "), stopping the others");
  } else if (view.is_stopping()) {
    out += ", stopping";
  }
  return out;
}

/// "5 evaluating, 7 prompting"
std::string phases_of(const race_view& view, const std::vector<std::size_t>& order, std::size_t from) {
  std::map<std::string, std::size_t> states;
  for (std::size_t i = from; i < order.size(); ++i) {
    ++states[view.record().workers[order[i]].phase];
  }
  std::string out;
  for (const auto& [state, count] : states) {
    out += (out.empty() ? "" : ", ") + std::to_string(count) + " " + state;
  }
  return out;
}

/// "+ 12 more: 5 evaluating, 7 prompting"
std::string rest_line(const race_view& view, const std::vector<std::size_t>& order, std::size_t shown) {
  return "+ " + std::to_string(order.size() - shown) + " more: " + phases_of(view, order, shown);
}

std::vector<std::size_t> in_order(std::size_t count) {
  std::vector<std::size_t> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = i;
  }
  return out;
}

}  // namespace

std::string short_count(std::uint64_t x) {
  if (x < 1'000) {
    return std::to_string(x);
  }
  const auto value = static_cast<double>(x);
  return x < 1'000'000 ? rounded(value / 1e3, "k") : rounded(value / 1e6, "M");
}

std::string short_time(std::chrono::microseconds x) {
  const auto us = static_cast<double>(x.count());
  if (us < 1e6) {
    return rounded(us / 1e3, " ms");
  }
  if (us < 120e6) {
    return rounded(us / 1e6, " s");
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(x).count();
  return std::to_string(seconds / 60) + " min " + std::to_string(seconds % 60) + " s";
}

std::string status_line(const race_view& view, std::chrono::milliseconds elapsed) {
  const auto phases = phases_of(view, in_order(view.record().workers.size()), 0);
  return head_line(view, elapsed) + (phases.empty() ? "" : ": " + phases);
}

std::vector<std::string> progress_lines(const race_view& view, terminal_size size, std::chrono::milliseconds elapsed) {
  const auto columns = std::max<std::size_t>(size.columns, 2) - 1;
  const auto most = std::max<std::size_t>(size.rows, 2) - 1;
  std::vector<std::string> out{cut_to(head_line(view, elapsed), columns)};
  const auto& workers = view.record().workers;
  auto order = in_order(workers.size());
  if (workers.size() + 1 > most) {
    std::stable_partition(order.begin(), order.end(), [&](auto i) { return workers[i].phase != "ended"; });
  }
  const bool all_fit = workers.size() + 1 <= most;
  const std::size_t shown = all_fit ? workers.size() : (most >= 2 ? most - 2 : 0);
  for (std::size_t i = 0; i < shown; ++i) {
    out.push_back(cut_to(worker_line(view, order[i]), columns));
  }
  if (!all_fit && most >= 2) {
    out.push_back(cut_to(rest_line(view, order, shown), columns));
  }
  return out;
}

std::string live_screen::colored(const std::string& line) const {
  if (!has_color_) {
    return line;
  }
  const auto has = [&](const char* word) { return line.find(word) != std::string::npos; };
  const char* color = has(" won") ? "32" : has(" failed") || has("exited_nonzero") || has("_error") ? "33" : nullptr;
  return color == nullptr ? line : "\x1B[" + std::string{color} + "m" + line + "\x1B[0m";
}

std::string live_screen::erase(terminal_size size) {
  if (shown_.empty()) {
    return {};
  }
  const auto columns = std::max<std::size_t>(size.columns, 1);
  std::size_t rows = 0;
  for (const auto& line : shown_) {
    rows += std::max<std::size_t>(1, (columns_of(line) + columns - 1) / columns);
  }
  shown_.clear();
  // More rows than the terminal has are out of reach of the cursor.
  const auto up = std::min(rows - 1, std::max<std::size_t>(size.rows, 1) - 1);
  return (up == 0 ? "" : "\x1B[" + std::to_string(up) + "A") + "\r\x1B[J";
}

std::string live_screen::paint(const std::vector<std::string>& lines, terminal_size size) {
  auto out = erase(size);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out += (i == 0 ? "" : "\n") + colored(lines[i]);
  }
  shown_ = lines;
  return out;
}

std::string live_screen::print_above(const std::string& text, terminal_size size) {
  const auto lines = shown_;
  auto out = erase(size);
  out += text;
  out += text.ends_with('\n') ? "" : "\n";
  return out + paint(lines, size);
}

std::string delta_lines::add(const worker_id& worker, std::string_view text) {
  auto it = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& x) { return x.first == worker; });
  if (it == waiting_.end()) {
    it = waiting_.insert(waiting_.end(), {worker, ""});
  }
  it->second += text;
  // A line of a model may be as long as it likes; a terminal's need not.
  constexpr std::size_t longest = 4096;
  std::string out;
  for (auto end = it->second.find('\n'); end != std::string::npos || it->second.size() > longest;
       end = it->second.find('\n')) {
    const auto taken = end == std::string::npos ? longest : end;
    out += "[" + worker.text + "] " + clean_text(it->second.substr(0, taken)) + "\n";
    it->second.erase(0, end == std::string::npos ? taken : taken + 1);
  }
  return out;
}

std::string delta_lines::flush(const worker_id& worker) {
  const auto it = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& x) { return x.first == worker; });
  if (it == waiting_.end()) {
    return {};
  }
  const auto text = clean_text(it->second);
  waiting_.erase(it);
  return text.empty() ? "" : "[" + worker.text + "] " + text + "\n";
}

}  // namespace regatta::cli
