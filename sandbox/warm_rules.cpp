// SPDX-License-Identifier: Apache-2.0
#include "sandbox/warm_rules.hpp"

#include <algorithm>
#include <iterator>

namespace regatta::sandbox {

namespace {

bool is_known_flag(const std::string& text) {
  static const char* const known[] = {"-B", "-E", "-I", "-s", "-u"};
  return std::find(std::begin(known), std::end(known), text) != std::end(known);
}

/// Keys of other environments that failed are forgotten beyond this.
constexpr std::size_t most_pauses = 16;

}  // namespace

std::optional<zygote_key> zygote_key_of(const run_spec& spec, std::string& why_cold) {
  if (!spec.preload) {
    return std::nullopt;
  }
  const auto first = spec.argv.begin() + (spec.argv.empty() ? 0 : 1);
  const auto script = std::find_if_not(first, spec.argv.end(), is_known_flag);
  const auto is_script = [&](const input_file& file) { return script != spec.argv.end() && file.name == *script; };
  if (!spec.waits && std::none_of(spec.files.begin(), spec.files.end(), is_script)) {
    why_cold = "not a script of the run's own files after flags of -B -E -I -s -u";
    return std::nullopt;
  }
  return zygote_key{{spec.argv.begin(), script}, spec.environment, *spec.preload, spec.kernel_target,
                    spec.kernel_helpers};
}

zygote_book::answer zygote_book::ask(const zygote_key& key, clock::time_point now) {
  const auto has_key = [&](const auto& item) { return item.second.key == key; };
  for (auto& [number, zygote] : zygotes_) {
    if (zygote.state == state::serves && zygote.key == key) {
      ++zygote.runs;
      ++zygote.live;
      zygote.since = now;
      return {advice::use, number, {}, false};
    }
  }
  if (const auto found = std::find_if(zygotes_.begin(), zygotes_.end(), [&](const auto& item) {
        return has_key(item) && item.second.state == state::comes_up;
      }); found != zygotes_.end()) {
    return {advice::wait, found->first, {}, false};
  }
  if (const auto found = pauses_.find(key); found != pauses_.end() && now < found->second.until) {
    return {advice::cold, 0, found->second.why, false};
  }
  if (zygotes_.size() >= limits_.most && !make_room()) {
    return {advice::cold, 0, "all " + std::to_string(limits_.most) + " zygotes are for other runs", false};
  }
  return {advice::wait, add(key, now), {}, true};
}

zygote_book::id zygote_book::add(const zygote_key& key, clock::time_point now) {
  zygotes_[++last_] = {key, state::comes_up, now, 0, 0};
  return last_;
}

bool zygote_book::make_room() {
  auto oldest = zygotes_.end();
  for (auto at = zygotes_.begin(); at != zygotes_.end(); ++at) {
    const bool is_free = at->second.state != state::comes_up && at->second.live == 0;
    if (is_free && (oldest == zygotes_.end() || at->second.since < oldest->second.since)) {
      oldest = at;
    }
  }
  if (oldest == zygotes_.end()) {
    return false;
  }
  given_up_.push_back(oldest->first);
  zygotes_.erase(oldest);
  return true;
}

void zygote_book::on_ready(id number, clock::time_point now) {
  const auto found = zygotes_.find(number);
  if (found == zygotes_.end()) {
    return;
  }
  for (auto& [other, zygote] : zygotes_) {
    if (other != number && zygote.key == found->second.key) {
      zygote.state = state::drains;
    }
  }
  found->second.state = state::serves;
  found->second.since = now;
  pauses_.erase(found->second.key);
}

void zygote_book::on_run_end(id number, clock::time_point now) {
  if (const auto found = zygotes_.find(number); found != zygotes_.end()) {
    --found->second.live;
    found->second.since = now;
  }
}

void zygote_book::on_failure(id number, const std::string& why, clock::time_point now) {
  const auto found = zygotes_.find(number);
  if (found == zygotes_.end()) {
    return;
  }
  hold_back(found->second.key, why, now);
  zygotes_.erase(found);
}

void zygote_book::on_unfit(id number, const std::string& why, clock::time_point now) {
  if (const auto found = zygotes_.find(number); found != zygotes_.end()) {
    found->second.state = state::drains;
    hold_back(found->second.key, why, now);
  }
}

void zygote_book::hold_back(const zygote_key& key, const std::string& why, clock::time_point now) {
  if (pauses_.size() >= most_pauses) {
    pauses_.erase(pauses_.begin());
  }
  auto& held = pauses_[key];
  held.length = std::clamp(held.length * 2, limits_.first_pause, limits_.longest_pause);
  held.until = now + held.length;
  held.why = why;
}

zygote_book::orders zygote_book::due(clock::time_point now) {
  orders out;
  out.to_end.swap(given_up_);
  std::vector<zygote_key> worn;
  for (auto at = zygotes_.begin(); at != zygotes_.end();) {
    const auto& [number, zygote] = *at;
    const bool is_over = zygote.live == 0 && (zygote.state == state::drains ||
                                              (zygote.state == state::serves && now - zygote.since >= limits_.idle));
    if (zygote.state == state::comes_up && now - zygote.since >= limits_.come_up) {
      out.too_late.push_back(number);
    }
    if (zygote.state == state::serves && zygote.runs >= limits_.runs) {
      worn.push_back(zygote.key);
    }
    if (is_over) {
      out.to_end.push_back(number);
    }
    at = is_over ? zygotes_.erase(at) : std::next(at);
  }
  for (const auto& key : worn) {
    const bool has_successor = std::any_of(zygotes_.begin(), zygotes_.end(), [&](const auto& item) {
      return item.second.key == key && item.second.state == state::comes_up;
    });
    const auto blocked = pauses_.find(key);
    if (!has_successor && (blocked == pauses_.end() || now >= blocked->second.until)) {
      out.to_start.push_back(add(key, now));
    }
  }
  return out;
}

}  // namespace regatta::sandbox
