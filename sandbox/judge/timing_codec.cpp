// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/timing_codec.hpp"

#include "sandbox/judge/side_codec.hpp"

#include <cmath>
#include <limits>

namespace regatta::judge {

namespace {

constexpr std::size_t most_event_trials = 1000;
constexpr std::size_t most_input_sets = 256;

std::uint64_t whole_number(const json& x, const char* key) {
  const auto& value = member(x, key);
  if (!value.is_number_unsigned()) {
    throw malformed{std::string{key} + " wants a number from 0"};
  }
  return value.get<std::uint64_t>();
}

bool is_true(const json& x, const char* key) {
  return x.contains(key) && x.at(key) == true;
}

json load_head(const load_question& x) {
  json out{{"op", "time_load"}, {"id", x.id}, {"init_seed", x.init_seed}, {"style", "plain"}, {"model", name_of(x.model)},
           {"calls", x.calls}};
  if (x.recipe != nullptr) {
    out["recipe"] = *x.recipe;
  }
  return out;
}

json write_spread(const spread& x) {
  return {{"median", x.median}, {"low", x.low}, {"high", x.high}, {"mad", x.mad}, {"least", x.least}};
}

json write_events(const std::optional<event_times>& x) {
  if (!x) {
    return {};
  }
  return {{"mean", x->mean}, {"std", x->std}, {"min", x->least}, {"max", x->most}, {"num_trials", x->trials}};
}

}  // namespace

std::string write_load_question(const load_question& x) {
  auto head = load_head(x);
  head["input_seeds"] = x.input_seeds;
  return head.dump();
}

std::string write_load_question(const load_question& x, const std::vector<tree_node>& inputs) {
  auto head = load_head(x);
  if (x.recipe != nullptr) {
    head["input_seeds"] = x.input_seeds;
    return head.dump();
  }
  auto trees = json::array();
  for (const auto& each : inputs) {
    trees.push_back(write_tree(each));
  }
  head["inputs"] = std::move(trees);
  return head.dump();
}

std::string write_go_question(std::uint64_t id, std::uint64_t nonce, unsigned calls) {
  return json{{"op", "time_go"}, {"id", id}, {"nonce", nonce}, {"calls", calls}}.dump();
}

std::string write_pick_question(std::uint64_t id, unsigned call) {
  return json{{"op", "time_pick"}, {"id", id}, {"call", call}}.dump();
}

std::string write_events_question(std::uint64_t id, unsigned trials) {
  return json{{"op", "time_events"}, {"id", id}, {"trials", trials}}.dump();
}

loaded_answer read_loaded_answer(std::string_view head, side who, std::uint64_t id) {
  const auto x = open_answer(head, who, "loaded", id);
  loaded_answer out;
  out.is_undrawn = is_true(x, "undrawn");
  if (x.contains("input_digests")) {
    const auto& all = x.at("input_digests");
    if (!all.is_array() || all.size() > most_input_sets * most_tree_leaves) {
      throw malformed{"input_digests is no list"};
    }
    for (const auto& each : all) {
      out.digests.push_back(each.is_string() ? each.get<std::string>() : std::string{});
    }
  }
  if (who == side::candidate) {
    return out;
  }
  const auto& all = member(x, "inputs");
  if (!all.is_array() || all.empty() || all.size() > most_input_sets) {
    throw malformed{"inputs wants 1 to " + std::to_string(most_input_sets) + " sets"};
  }
  for (const auto& each : all) {
    out.inputs.push_back(read_tree(each));
  }
  return out;
}

batch_answer read_batch_answer(std::string_view head, side who, std::uint64_t id) {
  constexpr double ns_per_ms = 1e6;
  const auto x = open_answer(head, who, "timed", id);
  batch_answer out;
  // Whatever it says is looked at only beside the judge's own clock.
  const auto& own = member(x, "own_ns");
  out.own_ms = own.is_number() ? own.get<double>() / ns_per_ms : std::numeric_limits<double>::quiet_NaN();
  out.threads = whole_number(x, "threads");
  out.cache_bytes = whole_number(x, "cache_bytes");
  out.has_copies = is_true(x, "copies");
  return out;
}

tree_node read_picked_answer(std::string_view head, side who, std::uint64_t id) {
  return read_tree(member(open_answer(head, who, "picked", id), "outputs"));
}

std::vector<double> read_events_answer(std::string_view head, side who, std::uint64_t id) {
  const auto x = open_answer(head, who, "events", id);
  const auto& all = member(x, "ms");
  if (!all.is_array() || all.size() > most_event_trials) {
    throw malformed{"ms is no list of at most " + std::to_string(most_event_trials)};
  }
  std::vector<double> out;
  for (const auto& each : all) {
    out.push_back(each.is_number() ? each.get<double>() : 0);
  }
  return out;
}

json write_timing(const timing_report& x) {
  const auto& facts = x.facts;
  json out{{"status", name_of(x.status)},
           {"reason", x.reason},
           {"reference_ms", write_spread(x.reference)},
           {"candidate_ms", write_spread(x.candidate)},
           {"speedup", write_spread(x.speedup)},
           {"own_ms", {{"reference", x.own_reference_ms}, {"candidate", x.own_candidate_ms}}},
           {"pairs", x.pairs},
           {"rejected_pairs", x.rejected_pairs},
           {"checked_calls", x.checked_calls},
           {"calls", {facts.plan.few, facts.plan.many}},
           {"input_sets", facts.plan.sets},
           {"bytes_moved", facts.size.moved()},
           {"bytes_per_s", facts.memory.bytes_per_s},
           {"bytes_per_s_source", facts.memory.source},
           {"cache_bytes", facts.memory.cache_bytes},
           {"floor_ms", x.floor_ms},
           {"dtypes", x.dtypes},
           {"flags", x.flags}};
  if (x.reference_events || x.candidate_events) {
    out["kernelbench"] = {{"timing_method", "cuda_event"},
                          {"reference_ms", write_events(x.reference_events)},
                          {"candidate_ms", write_events(x.candidate_events)}};
  }
  return out;
}

}  // namespace regatta::judge
