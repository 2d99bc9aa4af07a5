// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/side_codec.hpp"

#include "sandbox/judge/timing_codec.hpp"
#include "sandbox/judge/tolerance_codec.hpp"
#include "sandbox/judge/tree_codec.hpp"

#include <algorithm>

namespace regatta::judge {

namespace {

/// A traceback's end is what matters; the rest would only fill the model's context.
constexpr std::size_t most_detail_bytes = 6000;
constexpr std::size_t most_reason_bytes = 300;
constexpr std::size_t most_parameters = most_tree_leaves;
constexpr std::size_t most_findings = 64;
/// Sixteen signatures.
constexpr std::size_t most_launched_bytes = std::size_t{1} << 16;
/// A problem file may have 1 MiB.
constexpr std::size_t most_recipe_bytes = std::size_t{1} << 20;
/// Each leaf is at most 2^60, so sums that are checked leaf by leaf do not overflow.
constexpr std::uint64_t most_changed_bytes = std::uint64_t{1} << 60;

std::string optional_text(const json& x, const char* key, std::size_t most) {
  return x.contains(key) && !x.at(key).is_null() ? text_member(x, key, most) : std::string{};
}

std::string short_text(const json& x, const char* key) {
  return plain_line(optional_text(x, key, 4096), 100);
}

/// What each side may call its own failure.
bool may_say(side who, ending x) {
  return who == side::reference
             ? x == ending::problem_failed || x == ending::not_judgeable || x == ending::too_large
             : x == ending::raised || x == ending::contract_violation || x == ending::compile_failed;
}

[[noreturn]] void throw_failed(const json& x, side who) {
  const auto said = from_name<ending>(text_member(x, "judgement", 64));
  session_end end;
  end.judgement = said && may_say(who, *said) ? *said : blame_of(who);
  end.reason = plain_line(text_member(x, "reason", std::size_t{4} << 20), most_reason_bytes);
  end.detail = plain_text(optional_text(x, "detail", std::size_t{4} << 20), most_detail_bytes);
  end.is_in_step = true;
  throw end;
}

/// The object, if it is `op`, answers `id`, and is not `failed`.
json open_head(std::string_view head, side who, const char* op, std::optional<std::uint64_t> id) {
  auto x = parse_object(head);
  const auto got = text_member(x, "op", 64);
  if (id) {
    const auto found = x.find("id");
    if (found == x.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() != *id) {
      throw malformed{"an answer to another question"};
    }
  }
  if (got == "failed") {
    throw_failed(x, who);
  }
  if (got != op) {
    throw malformed{"op " + got + " where " + op + " belongs"};
  }
  return x;
}

side_versions read_versions(const json& x, side who) {
  if (text_member(x, "side", 64) != name_of(who)) {
    throw malformed{"the hello of another side"};
  }
  return {short_text(x, "python"), short_text(x, "torch"), short_text(x, "device")};
}

tree_node read_judgeable(const json& x, const char* what) {
  auto out = read_tree(x);
  if (const auto name = unknown_type(out); !name.empty()) {
    throw session_end{ending::not_judgeable, std::string{what} + " of the reference contain an object of type " + name, {}};
  }
  return out;
}

/// `leaf_count`: of the inputs.
changed_inputs read_changed(const json& x, std::size_t leaf_count) {
  if (!x.is_array() || x.size() > most_tree_leaves) {
    throw malformed{"inputs_after is no list"};
  }
  changed_inputs out;
  for (const auto& pair : x) {
    if (!pair.is_array() || pair.size() != 2 || !pair.at(0).is_number_integer()) {
      throw malformed{"inputs_after with something else than [number, tree]"};
    }
    auto node = read_tree(pair.at(1));
    if (x.size() == 1 && pair.at(0) == -1) {
      out.whole = std::move(node);
      return out;
    }
    const auto number = pair.at(0).get<std::int64_t>();
    if (number < 0 || static_cast<std::uint64_t>(number) >= leaf_count || !node.is_leaf() ||
        (!out.leaves.empty() && static_cast<std::size_t>(number) <= out.leaves.back().first)) {
      throw malformed{"inputs_after with something else than the inputs' leaves in their order"};
    }
    out.leaves.emplace_back(static_cast<std::size_t>(number), std::move(node));
    if (out.body_bytes() > most_changed_bytes) {
      throw malformed{"inputs_after is too large"};
    }
  }
  return out;
}

std::vector<parameter_digest> read_digests(const json& x) {
  if (!x.is_array() || x.size() > most_parameters) {
    throw malformed{"parameters are no list of at most " + std::to_string(most_parameters)};
  }
  std::vector<parameter_digest> out;
  for (const auto& item : x) {
    out.push_back({text_member(item, "name"), text_member(item, "dtype"), read_shape(member(item, "shape")),
                   text_member(item, "sha256", 64)});
  }
  return out;
}

std::vector<std::string> read_input_digests(const json& x) {
  std::vector<std::string> out;
  const auto found = x.find("input_sha256");
  if (found == x.end()) {
    return out;
  }
  if (!found->is_array() || found->size() > most_tree_leaves) {
    throw malformed{"input_sha256 is no list of at most " + std::to_string(most_tree_leaves)};
  }
  for (const auto& each : *found) {
    if (!each.is_string()) {
      throw malformed{"input_sha256 wants texts"};
    }
    out.push_back(plain_line(each.get<std::string>(), 64));
  }
  return out;
}

/// Eager's kinds and shapes; floating tensors as float64 or complex128. Or none, where eager is all there is.
void check_exact(const tree_node& exact, const tree_node& eager) {
  if (exact.kind == node_kind::none) {
    return;
  }
  const bool is_same = exact.kind == eager.kind && exact.shape == eager.shape &&
                       exact.items.size() == eager.items.size();
  const auto wanted = !is_inexact(eager.type)  ? eager.type
                      : is_complex(eager.type) ? element_type::complex128
                                               : element_type::float64;
  if (!is_same || (eager.kind == node_kind::tensor && exact.type != wanted)) {
    throw malformed{"exact outputs that are built unlike the outputs"};
  }
  for (std::size_t i = 0; i < eager.items.size(); ++i) {
    check_exact(exact.items[i], eager.items[i]);
  }
}

json question_head(const char* op, const question& x) {
  return {{"op", op}, {"id", x.id}, {"init_seed", x.init_seed}, {"style", x.style}};
}

}  // namespace

json open_answer(std::string_view head, side who, const char* op, std::uint64_t id) {
  return open_head(head, who, op, id);
}

std::uint64_t changed_inputs::body_bytes() const {
  std::uint64_t sum = whole ? judge::body_bytes(*whole) : 0;
  for (const auto& leaf : leaves) {
    sum += leaf.second.bytes;
  }
  return sum;
}

std::uint64_t reference_answer::body_bytes() const {
  return (is_drawn ? 0 : judge::body_bytes(inputs)) + judge::body_bytes(outputs) + (exact ? judge::body_bytes(*exact) : 0) +
         inputs_after.body_bytes();
}

std::uint64_t candidate_answer::body_bytes() const {
  return judge::body_bytes(outputs) + inputs_after.body_bytes() + (function ? judge::body_bytes(*function) : 0);
}

bool is_same_weights(const std::vector<parameter_digest>& a, const std::vector<parameter_digest>& b) {
  const auto keys = [](const std::vector<parameter_digest>& all) {
    std::vector<std::string> out;
    out.reserve(all.size());
    for (const auto& x : all) {
      out.push_back(x.dtype + shape_text(x.shape) + x.sha256);
    }
    std::sort(out.begin(), out.end());
    return out;
  };
  return keys(a) == keys(b);
}

reference_hello read_reference_hello(std::string_view head) {
  const auto x = open_head(head, side::reference, "hello", std::nullopt);
  reference_hello out;
  out.versions = read_versions(x, side::reference);
  out.mode = short_text(x, "mode");
  out.problem_sha256 = short_text(x, "problem_sha256");
  out.init_args = read_judgeable(member(x, "init_args"), "constructor arguments");
  out.inputs = read_judgeable(member(x, "inputs"), "inputs");
  out.is_random = x.contains("is_random") && x.at("is_random") == true;
  if (const auto bytes = x.find("question_bytes"); bytes != x.end() && bytes->is_number_unsigned()) {
    out.question_bytes = bytes->get<std::uint64_t>();
  }
  out.recipe = optional_text(x, "recipe", most_recipe_bytes);
  if (const auto wishes = x.find("tolerances"); wishes != x.end()) {
    out.tolerances = read_tolerance_wishes(*wishes);
  }
  return out;
}

candidate_hello read_candidate_hello(std::string_view head) {
  const auto x = open_head(head, side::candidate, "hello", std::nullopt);
  candidate_hello out;
  out.versions = read_versions(x, side::candidate);
  out.engine = short_text(x, "engine");
  if (x.contains("defines") && x.at("defines").is_array()) {
    for (const auto& name : x.at("defines")) {
      if (name.is_string() && out.defines.size() < 16) {
        out.defines.push_back(plain_line(name.get<std::string>(), 100));
      }
    }
  }
  return out;
}

std::optional<std::vector<policy_finding>> read_policy(std::string_view head) {
  const auto x = parse_object(head);
  if (text_member(x, "op", 64) != "policy") {
    return std::nullopt;
  }
  std::vector<policy_finding> out;
  const auto& all = member(x, "findings");
  if (!all.is_array() || all.size() > most_findings) {
    throw malformed{"findings wants a list of at most " + std::to_string(most_findings)};
  }
  for (const auto& each : all) {
    if (!each.is_object() || !member(each, "line").is_number_unsigned()) {
      throw malformed{"a finding without a line"};
    }
    out.push_back({plain_line(text_member(each, "rule", 64), 64), plain_line(text_member(each, "text", 1024), 200),
                   each.at("line").get<std::uint64_t>(), text_member(each, "severity", 16) == "error"});
  }
  return out;
}

reference_answer read_reference_answer(std::string_view head, const question& asked) {
  const auto x = open_head(head, side::reference, "answer", asked.id);
  reference_answer out;
  out.is_drawn = asked.is_drawn;
  out.input_digests = read_input_digests(x);
  out.inputs = read_judgeable(member(x, "inputs"), "inputs");
  out.outputs = read_judgeable(member(x, "outputs"), "outputs");
  if (const auto& exact = member(x, "exact"); !exact.is_null()) {
    out.exact = read_tree(exact);
    check_exact(*out.exact, out.outputs);
  }
  out.inputs_after = read_changed(member(x, "inputs_after"), leaves_of(out.inputs).size());
  out.parameters = read_digests(member(x, "parameters"));
  return out;
}

tree_node read_parameters_answer(std::string_view head, std::uint64_t id) {
  const auto x = open_head(head, side::reference, "parameters", id);
  auto out = read_tree(member(x, "tree"));
  if (out.kind != node_kind::dict) {
    throw malformed{"parameters that are no dict"};
  }
  return out;
}

candidate_answer read_candidate_answer(std::string_view head, std::uint64_t id, const tree_node& inputs) {
  const auto x = open_head(head, side::candidate, "answer", id);
  candidate_answer out;
  out.is_undrawn = x.contains("undrawn");
  if (out.is_undrawn) {
    return out;
  }
  out.input_digests = read_input_digests(x);
  out.outputs = read_tree(member(x, "outputs"));
  out.inputs_after = read_changed(member(x, "inputs_after"), leaves_of(inputs).size());
  out.parameters = read_digests(member(x, "parameters"));
  if (const auto function = x.find("function"); function != x.end() && !function->is_null()) {
    if (function->is_object() && function->contains("outputs")) {
      out.function = read_tree(function->at("outputs"));
    } else {
      out.function_refused = plain_line(text_member(*function, "refused", std::size_t{1} << 20), most_reason_bytes);
    }
  }
  out.kernel_evidence = short_text(x, "kernel_evidence");
  out.torch_ops = short_text(x, "torch_ops");
  if (const auto launched = x.find("launched"); launched != x.end() && launched->is_array()) {
    auto text = launched->dump(-1, ' ', true, json::error_handler_t::replace);
    out.launched = text.size() <= most_launched_bytes ? std::move(text) : std::string{};
  }
  return out;
}

std::string write_hello_question() {
  return json{{"op", "hello"}}.dump();
}

std::string write_reference_question(const question& x) {
  auto head = question_head("ask", x);
  head["input_seed"] = x.input_seed;
  if (x.is_drawn) {
    head["inputs"] = "drawn";
  }
  return head.dump();
}

std::string write_parameters_question(const question& x) {
  return question_head("parameters", x).dump();
}

std::string write_candidate_question(const candidate_question& x) {
  auto head = question_head("ask", x.asked);
  head["mode"] = x.mode;
  head["init_args"] = write_tree(x.init_args);
  head["inputs"] = write_tree(x.inputs);
  head["parameters"] = x.has_kept_parameters ? json("kept") : x.parameters == nullptr ? json{} : write_tree(*x.parameters);
  if (x.recipe != nullptr) {
    head["draw"] = {{"recipe", *x.recipe}, {"input_seed", x.asked.input_seed}};
  }
  if (!x.wants_function) {
    head["function"] = false;
  }
  return head.dump();
}

std::string write_keep_question(std::uint64_t id, const tree_node& parameters) {
  return json{{"op", "keep"}, {"id", id}, {"tree", write_tree(parameters)}}.dump();
}

void read_kept_answer(std::string_view head, std::uint64_t id) {
  (void)open_head(head, side::candidate, "kept", id);
}

std::string write_evidence_question(std::uint64_t id) {
  return json{{"op", "evidence"}, {"id", id}}.dump();
}

std::string read_evidence_answer(std::string_view head, std::uint64_t id) {
  return short_text(open_head(head, side::candidate, "evidence", id), "kernel_evidence");
}

}  // namespace regatta::judge
