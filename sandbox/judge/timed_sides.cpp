// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/timed_sides.hpp"

#include "sandbox/judge/byte_buffer.hpp"
#include "sandbox/judge/exchange.hpp"
#include "sandbox/judge/seeds.hpp"

#include <algorithm>
#include <span>

namespace regatta::judge {

namespace {

/// What both sides multiply in place (sandbox/python/judge/timing.py).
bool is_alterable(const tree_node& x) {
  const auto is_float8 = x.type == element_type::float8_e4m3fn || x.type == element_type::float8_e5m2;
  return x.kind == node_kind::tensor && x.bytes > 0 && is_inexact(x.type) && !is_float8;
}

}  // namespace

void timed_sides::pass_on(std::uint64_t bytes) {
  std::vector<std::byte> piece(std::min<std::uint64_t>(bytes, piece_bytes));
  for (auto left = bytes; left > 0;) {
    const auto next = std::span{piece}.first(std::min<std::uint64_t>(left, piece.size()));
    reference_.read(next);
    candidate_.send_body(next);
    left -= next.size();
  }
}

bool timed_sides::load(load_question x) {
  x.id = draw_seed();
  reference_.arm(patience_);
  reference_.send_head(write_load_question(x), 0);
  const auto drawn = read_from(reference_, [&](const std::string& head) {
    return read_loaded_answer(head, side::reference, x.id);
  });
  std::uint64_t bytes = 0;
  for (const auto& each : drawn.inputs) {
    bytes += x.recipe == nullptr ? body_bytes(each) : 0;
  }
  check_body(reference_, bytes);
  candidate_.arm(patience_);
  candidate_.send_head(write_load_question(x, drawn.inputs), bytes);
  pass_on(bytes);
  candidate_.arm(patience_);
  const auto got = read_from(candidate_, [&](const std::string& head) {
    return read_loaded_answer(head, side::candidate, x.id);
  });
  check_body(candidate_, 0);
  if (got.is_undrawn || got.digests != drawn.digests) {
    throw session_end{ending::not_judgeable, "the candidate's side does not draw the same inputs", {}, true};
  }
  return std::ranges::any_of(drawn.inputs, [](const tree_node& tree) {
    return std::ranges::any_of(leaves_of(tree), [](const leaf& y) { return is_alterable(*y.node); });
  });
}

std::pair<double, batch_answer> timed_sides::run(side who, std::uint64_t nonce, unsigned calls) {
  auto& at = of(who);
  const auto id = draw_seed();
  const auto question = write_go_question(id, nonce, calls);
  at.arm(patience_);
  const auto start = std::chrono::steady_clock::now();
  at.send_head(question, 0);
  const auto head = at.read_head();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  auto said = parsed_as_read(at, head, [&](const std::string& text) { return read_batch_answer(text, who, id); });
  check_body(at, 0);
  if (who == side::reference) {
    cache_bytes_ = said.cache_bytes;
  }
  return {took.count(), said};
}

answer_report timed_sides::compare(unsigned call, const tolerance_table& limits, const std::vector<own_error>& own,
                                   std::uint64_t& output_bytes) {
  const auto ask = [&](side who) {
    const auto id = draw_seed();
    of(who).arm(patience_);
    of(who).send_head(write_pick_question(id, call), 0);
    auto tree = read_from(of(who), [&](const std::string& head) { return read_picked_answer(head, who, id); });
    check_body(of(who), body_bytes(tree));
    return tree;
  };
  // The candidate first: whoever is late has no time to catch up.
  const auto got = ask(side::candidate);
  const auto wanted = ask(side::reference);
  output_bytes = body_bytes(wanted);
  const bool is_known = own.size() == leaves_of(wanted).size();
  candidate_.arm(patience_);
  reference_.arm(patience_);
  auto out = compare_outputs(got, candidate_, {wanted, nullptr, reference_, is_known ? &own : nullptr}, limits, "output");
  candidate_.skip_body();
  reference_.skip_body();
  return out;
}

std::vector<double> timed_sides::events(side who, unsigned trials) {
  auto& at = of(who);
  const auto id = draw_seed();
  at.arm(patience_);
  at.send_head(write_events_question(id, trials), 0);
  auto out = read_from(at, [&](const std::string& head) { return read_events_answer(head, who, id); });
  check_body(at, 0);
  return out;
}

}  // namespace regatta::judge
