// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/judge/toy_sides.hpp"

#include <cstring>
#include <functional>
#include <random>

namespace regatta::judge::testing {

namespace {

template <class T>
std::string raw(const std::vector<T>& x) {
  return {reinterpret_cast<const char*>(x.data()), x.size() * sizeof(T)};
}

json digest_of(const char* name, const std::vector<float>& x) {
  // Any function of the bytes does for a test.
  return {{"name", name},
          {"dtype", "float32"},
          {"shape", {x.size()}},
          {"sha256", std::to_string(std::hash<std::string>{}(raw(x)))}};
}

json digests_of(const toy_weights& x) {
  return json::array({digest_of("weight", x.weight), digest_of("bias", x.bias)});
}

json input_node() {
  return list_node({tensor_node("float32", {toy_rows, toy_columns}, toy_rows * toy_columns * sizeof(float))});
}

json output_node() {
  return tensor_node("float32", {toy_rows, toy_columns}, toy_rows * toy_columns * sizeof(float));
}

std::uint64_t seed_of(const message& question, const char* key) {
  return question.head.at(key).get<std::uint64_t>();
}

}  // namespace

std::string bytes_of(const std::vector<float>& x) {
  return raw(x);
}

std::string bytes_of(const std::vector<double>& x) {
  return raw(x);
}

std::vector<float> floats_of(std::string_view bytes) {
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(float));
  return out;
}

json tensor_node(const std::string& dtype, const std::vector<std::size_t>& shape, std::size_t bytes) {
  return {{"t", "tensor"}, {"dtype", dtype}, {"shape", shape}, {"bytes", bytes}};
}

json list_node(const std::vector<json>& items) {
  return {{"t", "list"}, {"v", items}};
}

std::vector<float> toy_inputs(std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::normal_distribution<float> draw;
  std::vector<float> out(toy_rows * toy_columns);
  for (auto& x : out) {
    x = draw(random);
  }
  return out;
}

toy_weights weights_of_seed(std::uint64_t seed, const std::string& style) {
  toy_weights out{std::vector<float>(toy_columns, 1), std::vector<float>(toy_columns, 0)};
  if (style.ends_with("+affine")) {
    std::mt19937_64 random{seed};
    std::uniform_real_distribution<float> draw{0.2F, 0.5F};
    for (std::size_t i = 0; i < toy_columns; ++i) {
      out.weight[i] += draw(random);
      out.bias[i] += draw(random);
    }
  }
  return out;
}

std::vector<float> toy_forward(const std::vector<float>& x, const toy_weights& weights) {
  auto out = x;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = out[i] * weights.weight[i % toy_columns] + weights.bias[i % toy_columns];
  }
  return out;
}

message reference_hello_message() {
  return {{{"op", "hello"},
           {"side", "reference"},
           {"python", "3.11.2"},
           {"torch", "2.13.0"},
           {"device", "cpu"},
           {"mode", "as_constructed"},
           {"init_args", list_node({})},
           {"inputs", input_node()},
           {"is_random", false},
           {"problem_sha256", "00"}},
          {}};
}

message candidate_hello_message() {
  return {{{"op", "hello"},
           {"side", "candidate"},
           {"python", "3.11.2"},
           {"torch", "2.13.0"},
           {"device", "cpu"},
           {"engine", "triton-interpreter"},
           {"defines", {"ModelNew", "kernel_function"}}},
          {}};
}

message reference_answer_message(const message& question, const std::vector<float>& eager,
                                 const std::vector<double>& exact) {
  const auto weights = weights_of_seed(seed_of(question, "init_seed"), question.head.at("style"));
  json exact_node;
  if (!exact.empty()) {
    exact_node = tensor_node("float64", {toy_rows, toy_columns}, exact.size() * sizeof(double));
  }
  return {{{"op", "answer"},
           {"id", question.head.at("id")},
           {"inputs", input_node()},
           {"outputs", output_node()},
           {"exact", exact_node},
           {"inputs_after", json::array()},
           {"parameters", digests_of(weights)}},
          raw(toy_inputs(seed_of(question, "input_seed"))) + raw(eager) + raw(exact)};
}

message toy_reference(const message& question) {
  const auto op = question.head.at("op").get<std::string>();
  if (op == "hello") {
    return reference_hello_message();
  }
  const auto weights = weights_of_seed(seed_of(question, "init_seed"), question.head.at("style"));
  if (op == "parameters") {
    const auto tensor = tensor_node("float32", {toy_columns}, toy_columns * sizeof(float));
    const json keys{{{"t", "str"}, {"v", "weight"}}, {{"t", "str"}, {"v", "bias"}}};
    return {{{"op", "parameters"},
             {"id", question.head.at("id")},
             {"tree", {{"t", "dict"}, {"k", keys}, {"v", {tensor, tensor}}}}},
            raw(weights.weight) + raw(weights.bias)};
  }
  const auto x = toy_inputs(seed_of(question, "input_seed"));
  std::vector<double> exact(x.begin(), x.end());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    exact[i] = exact[i] * static_cast<double>(weights.weight[i % toy_columns]) +
               static_cast<double>(weights.bias[i % toy_columns]);
  }
  return reference_answer_message(question, toy_forward(x, weights), exact);
}

std::vector<float> asked_inputs_of(const message& question) {
  return floats_of(std::string_view{question.body}.substr(0, toy_rows * toy_columns * sizeof(float)));
}

toy_weights asked_weights_of(const message& question) {
  if (question.head.at("parameters").is_null()) {
    return weights_of_seed(seed_of(question, "init_seed"), question.head.at("style"));
  }
  const auto given = floats_of(std::string_view{question.body}.substr(toy_rows * toy_columns * sizeof(float)));
  const auto middle = given.begin() + static_cast<std::ptrdiff_t>(toy_columns);
  return {{given.begin(), middle}, {middle, given.end()}};
}

message candidate_answer_message(const message& question, const std::vector<float>& out, const toy_weights& own) {
  return {{{"op", "answer"},
           {"id", question.head.at("id")},
           {"outputs", output_node()},
           {"inputs_after", json::array()},
           {"parameters", digests_of(own)},
           {"function", nullptr},
           {"launches", 1},
           {"kernel_evidence", "seen"}},
          raw(out)};
}

message toy_candidate(const message& question) {
  const auto weights = asked_weights_of(question);
  return candidate_answer_message(question, toy_forward(asked_inputs_of(question), weights), weights);
}

message failed_message(const message& question, const std::string& judgement, const std::string& reason) {
  return {{{"op", "failed"},
           {"id", question.head.is_object() ? question.head.value("id", std::uint64_t{0}) : 0},
           {"judgement", judgement},
           {"reason", reason},
           {"detail", "Traceback: " + reason}},
          {}};
}

}  // namespace regatta::judge::testing
