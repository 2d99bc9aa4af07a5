// SPDX-License-Identifier: Apache-2.0
// Bytes that earlier versions wrote must still be read, with every key that they knew. Samples lie in
// tests/data/wire/<kind>.msgpack; REGATTA_WRITE_SAMPLES=1 adds those that are missing, and never changes one.
#include "messages/codec.hpp"
#include "messages/coordinator_handles.hpp"
#include "messages/event_codec.hpp"
#include "messages/node_handles.hpp"
#include "tests/support/filled.hpp"

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace regatta;

namespace {

std::string folder() {
  const char* root = std::getenv("REGATTA_SOURCE_DIR");
  return std::string{root == nullptr ? "." : root} + "/tests/data/wire/";
}

std::string sample_of(std::string_view kind, const std::string& now) {
  const auto path = folder() + std::string{kind} + ".msgpack";
  if (std::getenv("REGATTA_WRITE_SAMPLES") != nullptr && !std::filesystem::exists(path)) {
    std::ofstream{path, std::ios::binary} << now;
  }
  std::ifstream in{path, std::ios::binary};
  BOOST_TEST_REQUIRE(in.good(), "no sample of " << kind << ": run once with REGATTA_WRITE_SAMPLES=1 and commit it");
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// Every key of `old` is in `now` with the same value; `now` may have more.
void check_contains(const nlohmann::json& now, const nlohmann::json& old, const std::string& where) {
  if (old.is_array() && now.is_array() && old.size() == now.size()) {
    for (std::size_t i = 0; i < old.size(); ++i) {
      check_contains(now.at(i), old.at(i), where + "[" + std::to_string(i) + "]");
    }
    return;
  }
  // A newer msgpack-cxx writes 2.0 as 2.
  if (old.is_number() && now.is_number()) {
    BOOST_TEST(now == old, where);
    return;
  }
  if (!old.is_object()) {
    BOOST_TEST(now.dump() == old.dump(), where);
    return;
  }
  for (const auto& [key, value] : old.items()) {
    BOOST_TEST_REQUIRE(now.contains(key), where << " has lost the key " << key);
    check_contains(now.at(key), value, where + "." + key);
  }
}

using all_messages =
    boost::mpl::list<accepted, spawn_worker, winner, cancel, cancelled, node_quiet, worker_ended, prompt,
                     prompt_progress, prompt_delta, prompt_ended, withdraw_prompts, prompts_withdrawn, reserve,
                     reservation, settle, release, reservation_resolved, forget_race>;
using all_run_messages = boost::mpl::list<run, run_progress, run_ended, cancel_runs, runs_signalled, check_source,
                                          source_report, start_race, stop_race, race_closed, commit, committed>;

template <class T>
void check_sample() {
  const auto now = encode(test::filled<T>());
  const auto old = sample_of(T::kind, now);
  const auto read = decode<T>(old);
  BOOST_TEST_REQUIRE(static_cast<bool>(read), std::string{T::kind});
  check_contains(nlohmann::json::from_msgpack(encode(*read)), nlohmann::json::from_msgpack(old), std::string{T::kind});
}

template <std::size_t... Is>
std::vector<fact> one_of_each(std::index_sequence<Is...>) {
  return {fact{std::in_place_index<Is>}...};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(wire_samples)

BOOST_AUTO_TEST_CASE_TEMPLATE(old_bytes_are_still_read, T, all_messages) { check_sample<T>(); }
BOOST_AUTO_TEST_CASE_TEMPLATE(old_bytes_of_runs_and_control_are_still_read, T, all_run_messages) { check_sample<T>(); }

BOOST_AUTO_TEST_CASE(old_events_of_every_kind_are_still_read) {
  for (const auto& body : one_of_each(std::make_index_sequence<std::variant_size_v<fact>>{})) {
    const auto sent = test::filled(event{1, 0, 0, {}, body});
    const auto name = "event." + std::string{kind_of(body)};
    const auto old = sample_of(name, encode_event(sent));
    const auto read = decode_event(old);
    BOOST_TEST_REQUIRE(static_cast<bool>(read), name);
    check_contains(nlohmann::json::from_msgpack(encode_event(*read)), nlohmann::json::from_msgpack(old), name);
  }
}

BOOST_AUTO_TEST_SUITE_END()
