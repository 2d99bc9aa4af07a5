// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/command_folder.hpp"
#include "actors/store_gc.hpp"
#include "cli/commands.hpp"
#include "cli/gc_codec.hpp"
#include "cli/log.hpp"
#include "cli/options.hpp"
#include "cli/terminal_text.hpp"
#include "messages/error.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

namespace regatta::cli {

namespace {

std::string size_text(std::uint64_t bytes) {
  constexpr std::array names = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto x = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; x >= 1024 && unit + 1 < names.size(); ++unit) {
    x /= 1024;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", x, names[unit]);
  return text.data();
}

/// `30d`, `12h`, `90m`, `3600s`; 0 is no age.
std::optional<std::int64_t> age_us(const std::string& text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string unit{end, text.data() + text.size()};
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> units = {
      {{"w", 604'800}, {"d", 86'400}, {"h", 3'600}, {"m", 60}, {"s", 1}}};
  // A thousand years.
  constexpr std::int64_t most = 31'557'600'000;
  for (const auto& [name, seconds] : units) {
    if (error == std::errc{} && unit == name && count > 0 && count <= most / seconds) {
      return count * seconds * 1'000'000;
    }
  }
  return std::nullopt;
}

caf::expected<gc_limits> limits_of(const command_line& line) {
  gc_limits out;
  if (!line.older_than.empty()) {
    const auto age = age_us(line.older_than);
    if (!age) {
      return fail(ec::invalid_config, "--older-than: got \"" + clean_line(line.older_than) +
                                          "\", allowed: a whole number from 1 with w, d, h, m or s behind it, e.g. 30d");
    }
    out.older_than_us = *age;
  }
  if (!line.keep_size.empty()) {
    const value_rule rule{value_kind::size, 1, 9e15};
    if (!fits(rule, line.keep_size)) {
      return fail(ec::invalid_config,
                  "--keep-size: got \"" + clean_line(line.keep_size) + "\", allowed: " + allowed_text(rule));
    }
    out.keep_bytes = to_bytes(line.keep_size);
  }
  return out;
}

std::string line_of(const gc_race& x) {
  return fit_to(clean_line(x.end), 20) + " " + fit_to(clean_line(x.problem), 24) + " " + size_text(x.bytes) + "\n";
}

std::string kept_text(const gc_plan& plan) {
  std::string out = std::to_string(plan.ended - plan.races.size()) + " ended, " + std::to_string(plan.running) +
                    " running, " + std::to_string(plan.resumable) + " killed (regatta resume)";
  return out;
}

exit_code tell_plan(const gc_plan& plan, bool is_json, streams to) {
  if (is_json) {
    to.out.write(gc_json({plan, plan.races, {}, true}));
    return exit_code::won;
  }
  for (const auto& x : plan.races) {
    to.out.write("would remove " + x.race.text + "  " + line_of(x));
  }
  for (const auto& path : plan.leftovers) {
    to.out.write("would remove " + clean_line(path) + "\n");
  }
  to.out.write("would remove " + plural(plan.races.size(), "race") + " and " +
               plural(plan.leftovers.size(), "leftover") + " of " + size_text(plan.bytes) +
               "; would keep: " + kept_text(plan) + "\n");
  return exit_code::won;
}

exit_code carry_out(store_gc& gc, const gc_plan& plan, std::int64_t now_us, bool is_json, streams to) {
  std::vector<gc_race> removed;
  const auto told = [&](const gc_race& race) {
    removed.push_back(race);
    if (!is_json) {
      to.out.write("removed " + race.race.text + "  " + line_of(race));
    }
  };
  const auto done = gc.run(plan, now_us, told);
  if (!done) {
    return complain(done.error(), to);
  }
  for (const auto& why : done->kept) {
    to.err.write("regatta: " + clean_line(why) + "\n");
  }
  if (is_json) {
    to.out.write(gc_json({plan, removed, *done, false}));
    return done->kept.empty() ? exit_code::won : exit_code::failed;
  }
  to.out.write("removed " + plural(done->races, "race") + " and " + plural(done->leftovers, "leftover") + ", " +
               size_text(done->bytes) + "; kept: " + kept_text(plan) + "\n");
  return done->kept.empty() ? exit_code::won : exit_code::failed;
}

}  // namespace

exit_code run_gc(const session& x, streams to) {
  const auto limits = limits_of(x.line);
  if (!limits) {
    return complain(limits.error(), to);
  }
  auto gc = store_gc::open(state_dir_of(x));
  if (!gc) {
    return complain(gc.error(), to);
  }
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t now_us = std::chrono::duration_cast<std::chrono::microseconds>(since).count();
  auto plan = (*gc)->plan(*limits, now_us);
  if (!plan) {
    return complain(plan.error(), to);
  }
  for (auto& folder : left_command_folders()) {
    plan->leftovers.push_back(std::move(folder));
  }
  if (x.line.is_dry_run) {
    return tell_plan(*plan, x.values.flag("json"), to);
  }
  return carry_out(**gc, *plan, now_us, x.values.flag("json"), to);
}

}  // namespace regatta::cli
