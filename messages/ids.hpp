// SPDX-License-Identifier: Apache-2.0
/// \file
/// Strong ids: one type per kind of thing, so that a worker cannot be passed where a race is wanted.
/// Each holds the text that users see in files, logs and events.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace regatta {

/// A name that is only comparable with names of its own kind. Owns its text; empty means "none".
template <class Tag>
struct strong_id {
  std::string text;

  strong_id() = default;
  explicit strong_id(std::string x) : text{std::move(x)} {}

  bool empty() const { return text.empty(); }
  auto operator<=>(const strong_id&) const = default;
};

template <class Tag>
const std::string& to_string(const strong_id<Tag>& x) {
  return x.text;
}

/// `run_<YYYYMMDD>_<HHMMSS>_<8 hex>` (local time), also the name of the run directory.
using race_id = strong_id<struct race_tag>;
/// `worker_01` …: two digits at least, counted from 1; unique within its race.
using worker_id = strong_id<struct worker_tag>;
/// Host name or the name given at enrolment.
using node_id = strong_id<struct node_tag>;
/// SHA-256 of a candidate's canonical source: 64 lower-case hex digits (messages/digest.hpp).
using source_digest = strong_id<struct digest_tag>;

/// `worker_01` for 1.
worker_id make_worker_id(std::uint32_t number);

/// Which round of which worker, and the how-manieth try of that round. Outcomes of `prompt` and `run` carry it
/// back; an outcome whose key is not the current one is ignored. Rounds and attempts count from 1.
struct work_key {
  race_id race;
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  auto operator<=>(const work_key&) const = default;
};
/// `run_…/worker_01/2.1`, for logs.
std::string to_string(const work_key& x);

}  // namespace regatta

template <class Tag>
struct std::hash<regatta::strong_id<Tag>> {
  std::size_t operator()(const regatta::strong_id<Tag>& x) const noexcept {
    return std::hash<std::string>{}(x.text);
  }
};

template <>
struct std::hash<regatta::work_key> {
  std::size_t operator()(const regatta::work_key& x) const noexcept {
    const auto mix = [](std::size_t seed, std::size_t next) { return seed * 1'000'003U ^ next; };
    return mix(mix(mix(std::hash<std::string>{}(x.race.text), std::hash<std::string>{}(x.worker.text)), x.round),
               x.attempt);
  }
};
