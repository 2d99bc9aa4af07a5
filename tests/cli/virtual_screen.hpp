// SPDX-License-Identifier: Apache-2.0
/// \file
/// The little of a terminal that a progress display uses: lines that wrap and scroll, cursor up, erase below. What
/// has scrolled off the top is kept, as a scrollback does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace regatta::test {

class virtual_screen {
public:
  virtual_screen(std::size_t columns, std::size_t rows) : columns_{columns}, rows_{rows} {}

  void write(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\x1B' && text[i + 1] == '[') {
        i = control(text, i + 2);
      } else if (text[i] == '\n') {
        next_row();
        x_ = 0;
      } else if (text[i] == '\r') {
        x_ = 0;
      } else {
        put(text[i]);
      }
    }
  }

  /// Old rows wrap anew, as terminals do.
  void resize(std::size_t columns) {
    std::vector<std::string> wrapped;
    for (const auto& row : lines_) {
      for (std::size_t at = 0; at == 0 || at < row.size(); at += columns) {
        wrapped.push_back(row.substr(at, columns));
      }
    }
    x_ = wrapped.back().size();
    lines_ = wrapped;
    y_ = lines_.size() - 1;
    columns_ = columns;
  }

  /// All rows, without blank ones at the end.
  std::string text() const {
    std::string out;
    for (const auto& row : lines_) {
      out += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
    }
    return out.substr(0, out.find_last_not_of('\n') + 1);
  }

private:
  std::size_t top() const { return lines_.size() > rows_ ? lines_.size() - rows_ : 0; }

  void next_row() {
    ++y_;
    if (y_ == lines_.size()) {
      lines_.emplace_back();
    }
  }

  void put(char c) {
    if (x_ == columns_) {
      next_row();
      x_ = 0;
    }
    auto& row = lines_[y_];
    row.resize(std::max(row.size(), x_ + 1), ' ');
    row[x_++] = c;
  }

  std::size_t control(std::string_view text, std::size_t at) {
    std::size_t number = 0;
    bool has_number = false;
    while (text[at] >= '0' && text[at] <= '9') {
      number = number * 10 + static_cast<std::size_t>(text[at++] - '0');
      has_number = true;
    }
    if (text[at] == 'A') {
      const auto up = has_number ? number : 1;
      y_ = y_ >= top() + up ? y_ - up : top();
    } else if (text[at] == 'J') {
      lines_.resize(y_ + 1);
      lines_[y_].resize(std::min(lines_[y_].size(), x_));
    }
    return at;
  }

  std::size_t columns_;
  std::size_t rows_;
  std::vector<std::string> lines_{""};
  std::size_t x_ = 0;
  std::size_t y_ = 0;
};

}  // namespace regatta::test
