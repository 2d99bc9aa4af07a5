// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/tree.hpp"

#include "sandbox/judge/ending.hpp"

#include <algorithm>
#include <bit>

namespace regatta::judge {

namespace {

/// Names in texts for the model are cut: they are the candidate's own.
constexpr std::size_t most_name_bytes = 60;

std::string quoted(const std::string& text) {
  return "\"" + plain_line(text, most_name_bytes) + "\"";
}

std::string key_text(const tree_node& key) {
  return key.kind == node_kind::text ? quoted(key.text) : node_text(key);
}

std::string step_text(const tree_node& parent, std::size_t i) {
  if (parent.kind == node_kind::record) {
    return "." + plain_line(parent.fields[i], most_name_bytes);
  }
  return "[" + (parent.kind == node_kind::dict ? key_text(parent.keys[i]) : std::to_string(i)) + "]";
}

void collect(const tree_node& x, const std::string& path, std::vector<leaf>& out) {
  if (x.is_leaf()) {
    out.push_back({&x, path});
    return;
  }
  for (std::size_t i = 0; i < x.items.size(); ++i) {
    collect(x.items[i], path + step_text(x, i), out);
  }
}

bool is_sequence(node_kind x) {
  return x == node_kind::list || x == node_kind::tuple;
}

bool is_same_scalar(const tree_node& a, const tree_node& b) {
  return a.text == b.text && a.is_true == b.is_true;
}

bool is_same_key(const tree_node& a, const tree_node& b) {
  if (a.kind != b.kind || !is_same_scalar(a, b) || a.items.size() != b.items.size() ||
      std::bit_cast<std::uint64_t>(a.number) != std::bit_cast<std::uint64_t>(b.number)) {
    return false;
  }
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!is_same_key(a.items[i], b.items[i])) {
      return false;
    }
  }
  return true;
}

std::string at(const std::string& path, const std::string& what) {
  return "output" + path + ": " + what;
}

std::string difference(const tree_node& got, const tree_node& wanted, const std::string& path);

std::string child_difference(const tree_node& got, const tree_node& wanted, const std::string& path) {
  if (got.items.size() != wanted.items.size()) {
    return at(path, "got " + node_text(got) + ", expected " + node_text(wanted));
  }
  for (std::size_t i = 0; i < wanted.items.size(); ++i) {
    if (wanted.kind == node_kind::dict && !is_same_key(got.keys[i], wanted.keys[i])) {
      return at(path, "key " + std::to_string(i) + " is " + key_text(got.keys[i]) + ", expected " +
                          key_text(wanted.keys[i]));
    }
    if (wanted.kind == node_kind::record && got.fields[i] != wanted.fields[i]) {
      return at(path, "field " + std::to_string(i) + " is " + quoted(got.fields[i]) + ", expected " +
                          quoted(wanted.fields[i]));
    }
    if (auto found = difference(got.items[i], wanted.items[i], path + step_text(wanted, i)); !found.empty()) {
      return found;
    }
  }
  return {};
}

std::string difference(const tree_node& got, const tree_node& wanted, const std::string& path) {
  const bool is_same_kind = got.kind == wanted.kind || (is_sequence(got.kind) && is_sequence(wanted.kind));
  const bool is_same_tensor = got.type == wanted.type && got.shape == wanted.shape;
  if (!is_same_kind || (wanted.kind == node_kind::tensor && !is_same_tensor)) {
    return at(path, "got " + node_text(got) + ", expected " + node_text(wanted));
  }
  if (!wanted.is_leaf()) {
    return child_difference(got, wanted, path);
  }
  if (wanted.kind != node_kind::real && !is_same_scalar(got, wanted)) {
    return at(path, "got " + node_text(got) + ", expected " + node_text(wanted));
  }
  return {};
}

std::string count_text(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

std::vector<leaf> leaves_of(const tree_node& root) {
  std::vector<leaf> out;
  collect(root, {}, out);
  return out;
}

std::uint64_t body_bytes(const tree_node& root) {
  std::uint64_t sum = root.kind == node_kind::tensor ? root.bytes : 0;
  for (const auto& item : root.items) {
    sum += body_bytes(item);
  }
  return sum;
}

bool has_type(const tree_node& root, element_type type) {
  return (root.kind == node_kind::tensor && root.type == type) ||
         std::any_of(root.items.begin(), root.items.end(), [&](const auto& x) { return has_type(x, type); });
}

bool has_tensor(const tree_node& root) {
  bool has = root.kind == node_kind::tensor;
  for (const auto& item : root.items) {
    has = has || has_tensor(item);
  }
  return has;
}

std::string unknown_type(const tree_node& root) {
  if (root.kind == node_kind::unknown) {
    return root.text.empty() ? "?" : plain_line(root.text, most_name_bytes);
  }
  for (const auto& item : root.items) {
    if (auto found = unknown_type(item); !found.empty()) {
      return found;
    }
  }
  return {};
}

std::string structure_difference(const tree_node& got, const tree_node& wanted) {
  return difference(got, wanted, {});
}

std::string node_text(const tree_node& x) {
  switch (x.kind) {
    case node_kind::tensor: return "tensor " + to_string(x.type) + " " + shape_text(x.shape);
    case node_kind::none: return "None";
    case node_kind::boolean: return x.is_true ? "True" : "False";
    case node_kind::integer: return plain_line(x.text, most_name_bytes);
    case node_kind::real: return number_text(x.number);
    case node_kind::text: return "str " + quoted(x.text);
    case node_kind::list: return "list of " + count_text(x.items.size(), "item");
    case node_kind::tuple: return "tuple of " + count_text(x.items.size(), "item");
    case node_kind::dict: return "dict with " + count_text(x.items.size(), "key");
    case node_kind::record: return "record with " + count_text(x.items.size(), "field");
    case node_kind::unknown: return "an object of type " + plain_line(x.text, most_name_bytes);
  }
  return {};
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string out = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return out + (shape.size() == 1 ? ",)" : ")");
}

std::string place_text(const std::vector<std::uint64_t>& shape, std::uint64_t element) {
  std::vector<std::uint64_t> place(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    place[i] = shape[i] == 0 ? 0 : element % shape[i];
    element = shape[i] == 0 ? 0 : element / shape[i];
  }
  return shape_text(place);
}

}  // namespace regatta::judge
