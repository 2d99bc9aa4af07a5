// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/exchange.hpp"

#include "sandbox/judge/seeds.hpp"
#include "sandbox/judge/side_codec.hpp"

#include <algorithm>
#include <utility>

namespace regatta::judge {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

milliseconds since(steady_clock::time_point start) {
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
}

}  // namespace

void check_body(channel& from, std::uint64_t named) {
  if (from.body_left() != named) {
    from.fail("a body of " + std::to_string(from.body_left()) + " bytes where the head names " + std::to_string(named));
  }
}

reference_answer ask_reference(channel& reference, const question& x, milliseconds patience) {
  reference.arm(patience);
  reference.send_head(write_reference_question(x), 0);
  auto answer = read_from(reference, [&](const std::string& head) { return read_reference_answer(head, x); });
  check_body(reference, answer.body_bytes());
  return answer;
}

exchange::exchange(channel& reference, channel& candidate, exchange_rules rules)
    : reference_(reference), candidate_(candidate), rules_(rules) {}

void exchange::read_reference_hello(milliseconds patience, bool is_warm) {
  reference_.arm(patience);
  if (is_warm) {
    reference_.send_head(write_hello_question(), 0);
  }
  reference_hello_ = read_from(reference_, [](const std::string& head) { return judge::read_reference_hello(head); });
  check_body(reference_, body_bytes(reference_hello_.init_args));
  init_args_ = byte_buffer{reference_.body_left()};
  init_args_.fill(reference_);
}

std::vector<policy_finding> exchange::read_policy(milliseconds patience) {
  candidate_.arm(patience);
  auto found = read_from(candidate_, [&](const std::string& head) {
    auto out = judge::read_policy(head);
    head_ = out ? std::nullopt : std::optional{head};
    return out;
  });
  check_body(candidate_, 0);
  return std::move(found).value_or(std::vector<policy_finding>{});
}

void exchange::read_candidate_hello(milliseconds patience) {
  candidate_.arm(patience);
  const auto read = [](const std::string& head) { return judge::read_candidate_hello(head); };
  candidate_hello_ = head_ ? parsed_as_read(candidate_, *head_, read) : read_from(candidate_, read);
  check_body(candidate_, 0);
}

bool exchange::may_draw() const {
  return !draws_unlike_ && !reference_hello_.recipe.empty() && body_bytes(reference_hello_.inputs) > rules_.most_kept;
}

/// From the reference to the candidate; kept only if there is room.
void exchange::pass_on(byte_buffer& into, std::uint64_t bytes) {
  const auto send = [&](std::span<const std::byte> piece) { candidate_.send_body(piece); };
  if (bytes <= rules_.most_kept) {
    into = byte_buffer{bytes};
    into.fill(reference_, send);
    return;
  }
  std::vector<std::byte> piece(piece_bytes);
  for (auto left = bytes; left > 0;) {
    const auto next = std::span{piece}.first(std::min<std::uint64_t>(left, piece.size()));
    reference_.read(next);
    send(next);
    left -= next.size();
  }
}

exchange::transplant exchange::take_parameters(const question& x) {
  reference_.arm(rules_.question_timeout);
  reference_.send_head(write_parameters_question(x), 0);
  transplant out;
  out.tree = read_from(reference_, [&](const std::string& head) { return read_parameters_answer(head, x.id); });
  const auto bytes = body_bytes(out.tree);
  check_body(reference_, bytes);
  out.is_sent = bytes > rules_.most_kept;
  if (!out.is_sent) {
    out.bytes = byte_buffer{bytes};
    out.bytes.fill(reference_);
    return out;
  }
  candidate_.arm(rules_.question_timeout);
  candidate_.send_head(write_keep_question(x.id, out.tree), bytes);
  pass_on(out.bytes, bytes);
  candidate_.arm(rules_.question_timeout);
  read_from(candidate_, [&](const std::string& head) {
    read_kept_answer(head, x.id);
    return true;
  });
  check_body(candidate_, 0);
  return out;
}

void exchange::send_question(const question& x, const reference_answer& answer, byte_buffer& inputs,
                             const transplant* weights) {
  const auto input_bytes = x.is_drawn ? 0 : body_bytes(answer.inputs);
  const bool has_weights = weights != nullptr && !weights->is_sent;
  candidate_question asked{x, reference_hello_.mode, reference_hello_.init_args, answer.inputs};
  asked.parameters = has_weights ? &weights->tree : nullptr;
  asked.has_kept_parameters = weights != nullptr && weights->is_sent;
  asked.recipe = x.is_drawn ? &reference_hello_.recipe : nullptr;
  asked.wants_function = body_bytes(answer.outputs) <= rules_.most_kept && input_bytes <= rules_.most_kept && !x.is_drawn;
  candidate_.arm(rules_.question_timeout);
  candidate_.send_head(write_candidate_question(asked),
                       init_args_.size() + input_bytes + (has_weights ? weights->bytes.size() : 0));
  candidate_.send_body(init_args_.bytes());
  pass_on(inputs, input_bytes);
  if (has_weights) {
    candidate_.send_body(weights->bytes.bytes());
  }
}

trial_result exchange::ask(const std::string& style, weights_from weights) {
  if (auto out = try_ask(style, weights, may_draw())) {
    return std::move(*out);
  }
  // Its process draws otherwise (another default dtype, a generator of its own): it gets them byte for byte.
  draws_unlike_ = true;
  return *try_ask(style, weights, false);
}

std::optional<trial_result> exchange::try_ask(const std::string& style, weights_from weights, bool is_drawn) {
  trial_result out;
  out.asked = {draw_seed(), draw_seed(), draw_seed(), style, is_drawn};
  out.weights = weights;
  out.is_drawn = is_drawn;
  std::optional<transplant> given;
  if (weights == weights_from::reference) {
    given = take_parameters(out.asked);
  }
  auto start = steady_clock::now();
  auto wanted = ask_reference(reference_, out.asked, rules_.question_timeout);
  out.reference_time = since(start);
  out.has_exact = wanted.exact.has_value();
  byte_buffer inputs;
  start = steady_clock::now();
  send_question(out.asked, wanted, inputs, given ? &*given : nullptr);
  // Our own sending is not part of its time to compute.
  candidate_.arm(rules_.question_timeout);
  auto got = read_from(candidate_, [&](const std::string& head) {
    return read_candidate_answer(head, out.asked.id, wanted.inputs);
  });
  out.candidate_time = since(start);
  check_body(candidate_, got.body_bytes());
  reference_.arm(rules_.question_timeout);
  const bool is_unlike = is_drawn && (got.is_undrawn || got.input_digests != wanted.input_digests);
  if (!is_unlike) {
    compare(wanted, got, inputs, out);
  }
  // What was built differently was not read.
  candidate_.skip_body();
  reference_.skip_body();
  if (is_unlike) {
    return std::nullopt;
  }
  const bool is_large = body_bytes(wanted.outputs) > rules_.most_kept || body_bytes(wanted.inputs) > rules_.most_kept;
  out.function_refused = std::move(got.function_refused);
  if (rules_.checks_function && is_large) {
    out.function_refused = "too large to be called twice";
  }
  out.kernel_evidence = std::move(got.kernel_evidence);
  out.torch_ops = std::move(got.torch_ops);
  out.launched = std::move(got.launched);
  out.reference_parameters = std::move(wanted.parameters);
  out.candidate_parameters = std::move(got.parameters);
  return out;
}

std::string exchange::ask_evidence() {
  const auto id = draw_seed();
  candidate_.arm(rules_.question_timeout);
  candidate_.send_head(write_evidence_question(id), 0);
  auto out = read_from(candidate_, [&](const std::string& head) { return read_evidence_answer(head, id); });
  check_body(candidate_, 0);
  return out;
}

void exchange::compare(const reference_answer& wanted, const candidate_answer& got, const byte_buffer& inputs,
                       trial_result& out) {
  const bool is_small = body_bytes(wanted.outputs) <= rules_.most_kept;
  const bool has_function = rules_.checks_function && got.function.has_value() && is_small;
  const auto* const exact = wanted.exact ? &*wanted.exact : nullptr;
  // Its size is the reference's once the structure is, and nothing is written before.
  byte_buffer kept{has_function ? body_bytes(wanted.outputs) : 0};
  out.outputs = compare_outputs(got.outputs, candidate_, {wanted.outputs, exact, reference_, nullptr},
                                rules_.tolerances, "output", has_function ? &kept : nullptr);
  if (!out.outputs.structure.empty()) {
    return;
  }
  const bool is_kept = inputs.size() == body_bytes(wanted.inputs);
  if (!compare_inputs_after({wanted.inputs, inputs.bytes(), is_kept}, got.inputs_after, candidate_, wanted.inputs_after,
                            reference_, rules_.tolerances, out.outputs)) {
    return;
  }
  if (has_function && out.outputs.is_right) {
    memory_source forward{kept.bytes()};
    out.function = compare_outputs(*got.function, candidate_, {got.outputs, nullptr, forward, &out.outputs.own},
                                   rules_.tolerances, "kernel_function's output");
  }
}

}  // namespace regatta::judge
