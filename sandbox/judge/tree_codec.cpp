// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/tree_codec.hpp"

#include "sandbox/judge/ending.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace regatta::judge {

namespace {

/// A tree of 32 levels takes two of JSON for each; a few for the head around it.
constexpr std::size_t most_json_depth = 2 * most_tree_depth + 12;
/// Commas, colons and brackets. A tensor takes some 20 with its shape, a parameter as many.
constexpr std::size_t most_json_marks = std::size_t{1} << 18;
/// torch's own limit of dimensions.
constexpr std::size_t most_dimensions = 64;
/// No tensor or sum of tensors is larger, so sums of a few never overflow.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 60;
/// Python's own limit for reading an integer from digits.
constexpr std::size_t most_digits = 4300;

struct tree_budget {
  std::size_t leaves = 0;
  std::size_t nodes = 0;
  std::uint64_t bytes = 0;
};

/// Ends early where limits are passed; whether the text is JSON is the parser's to say.
void check_marks(std::string_view text) {
  std::size_t depth = 0, marks = 0;
  bool is_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char x = text[i];
    if (is_string) {
      i += x == '\\' ? 1U : 0U;
      is_string = x != '"';
      continue;
    }
    is_string = x == '"';
    const bool opens = x == '[' || x == '{';
    depth += opens ? 1U : 0U;
    depth -= (x == ']' || x == '}') && depth > 0 ? 1U : 0U;
    marks += opens || x == ',' || x == ':' ? 1U : 0U;
    if (depth > most_json_depth) {
      throw malformed{"a head nested too deep"};
    }
    if (marks > most_json_marks) {
      throw malformed{"a head with too many values"};
    }
  }
}

std::string integer_text_of(const std::string& text) {
  const bool is_negative = text.starts_with('-');
  const auto digits = text.substr(is_negative ? 1 : 0);
  const bool is_good = !digits.empty() && digits.size() <= most_digits &&
                       std::all_of(digits.begin(), digits.end(), [](char x) { return x >= '0' && x <= '9'; });
  if (!is_good) {
    throw malformed{"an int that is none"};
  }
  const auto first = std::min(digits.find_first_not_of('0'), digits.size() - 1);
  const auto rest = digits.substr(first);
  return (is_negative && rest != "0" ? "-" : "") + rest;
}

double real_of(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  text.remove_prefix(is_negative ? 1 : 0);
  double value = 0;
  if (text == "inf") {
    value = std::numeric_limits<double>::infinity();
  } else if (text == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    const bool is_hex = text.starts_with("0x");
    const auto* const end = text.data() + text.size();
    const auto got = std::from_chars(text.data() + (is_hex ? 2 : 0), end, value, std::chars_format::hex);
    if (!is_hex || got.ec != std::errc{} || got.ptr != end || !(value >= 0)) {
      throw malformed{"a float that is none"};
    }
  }
  return is_negative ? -value : value;
}

std::string real_text(double x) {
  if (!std::isfinite(x)) {
    return std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
  }
  char text[40];
  const auto* const end = std::to_chars(text, text + sizeof text, std::fabs(x), std::chars_format::hex).ptr;
  return (std::signbit(x) ? "-0x" : "0x") + std::string(text, static_cast<std::size_t>(end - text));
}

void read_tensor(const json& x, tree_node& out, tree_budget& budget) {
  out.type = read_element_type(member(x, "dtype"));
  out.shape = read_shape(member(x, "shape"));
  const auto& bytes = member(x, "bytes");
  if (!bytes.is_number_unsigned()) {
    throw malformed{"a tensor's bytes are no number"};
  }
  out.bytes = bytes.get<std::uint64_t>();
  std::uint64_t wanted = element_size(out.type);
  for (const auto size : out.shape) {
    if (__builtin_mul_overflow(wanted, size, &wanted)) {
      throw malformed{"a tensor's shape is too large"};
    }
  }
  if (wanted != out.bytes) {
    throw malformed{"a tensor of shape " + shape_text(out.shape) + " and dtype " + to_string(out.type) + " has " +
                    std::to_string(wanted) + " bytes, not " + std::to_string(out.bytes)};
  }
  if (out.bytes > most_bytes || budget.bytes + out.bytes > most_bytes) {
    throw malformed{"tensors are too large"};
  }
  budget.bytes += out.bytes;
}

tree_node read_node(const json& x, std::size_t depth, tree_budget& budget);

void read_items(const json& list, std::vector<tree_node>& out, std::size_t depth, tree_budget& budget) {
  if (!list.is_array()) {
    throw malformed{"a node's items are no list"};
  }
  for (const auto& item : list) {
    out.push_back(read_node(item, depth + 1, budget));
  }
}

void check_dict(const tree_node& x) {
  if (x.keys.size() != x.items.size()) {
    throw malformed{"a dict with unlike numbers of keys and values"};
  }
  for (const auto& key : x.keys) {
    if (has_tensor(key) || !unknown_type(key).empty()) {
      throw malformed{"a dict's key that is no plain value"};
    }
  }
}

void read_record(const json& x, tree_node& out) {
  out.text = text_member(x, "name");
  const auto& fields = member(x, "f");
  if (!fields.is_array() || fields.size() != out.items.size()) {
    throw malformed{"a record with unlike numbers of fields and values"};
  }
  for (const auto& field : fields) {
    if (!field.is_string()) {
      throw malformed{"a record's field without a name"};
    }
    out.fields.push_back(field.get<std::string>());
  }
}

const std::vector<std::pair<std::string_view, node_kind>>& kinds() {
  static const std::vector<std::pair<std::string_view, node_kind>> table{
      {"tensor", node_kind::tensor}, {"none", node_kind::none},     {"bool", node_kind::boolean},
      {"int", node_kind::integer},   {"float", node_kind::real},    {"str", node_kind::text},
      {"list", node_kind::list},     {"tuple", node_kind::tuple},   {"dict", node_kind::dict},
      {"record", node_kind::record}, {"unknown", node_kind::unknown}};
  return table;
}

node_kind kind_of(const std::string& name) {
  for (const auto& [known, kind] : kinds()) {
    if (known == name) {
      return kind;
    }
  }
  throw malformed{"a node of kind " + name};
}

void read_leaf(const json& x, tree_node& out, tree_budget& budget) {
  switch (out.kind) {
    case node_kind::tensor: return read_tensor(x, out, budget);
    case node_kind::integer: out.text = integer_text_of(text_member(x, "v", most_digits + 1)); return;
    case node_kind::real: out.number = real_of(text_member(x, "v")); return;
    case node_kind::text: out.text = text_member(x, "v", std::size_t{1} << 20); return;
    case node_kind::unknown: out.text = text_member(x, "v"); return;
    case node_kind::boolean:
      if (!member(x, "v").is_boolean()) {
        throw malformed{"a bool that is none"};
      }
      out.is_true = member(x, "v").get<bool>();
      return;
    default: return;
  }
}

tree_node read_node(const json& x, std::size_t depth, tree_budget& budget) {
  if (depth > most_tree_depth) {
    throw malformed{"a tree deeper than " + std::to_string(most_tree_depth)};
  }
  tree_node out;
  out.kind = kind_of(text_member(x, "t", 16));
  budget.leaves += out.is_leaf() ? 1 : 0;
  if (budget.leaves > most_tree_leaves || ++budget.nodes > 4 * most_tree_leaves) {
    throw malformed{"a tree of more than " + std::to_string(most_tree_leaves) + " leaves"};
  }
  if (out.is_leaf()) {
    read_leaf(x, out, budget);
    return out;
  }
  if (out.kind == node_kind::dict) {
    read_items(member(x, "k"), out.keys, depth, budget);
  }
  read_items(member(x, "v"), out.items, depth, budget);
  if (out.kind == node_kind::dict) {
    check_dict(out);
  } else if (out.kind == node_kind::record) {
    read_record(x, out);
  }
  return out;
}

json write_items(const std::vector<tree_node>& items) {
  auto out = json::array();
  for (const auto& item : items) {
    out.push_back(write_tree(item));
  }
  return out;
}

}  // namespace

json parse_object(std::string_view text) {
  check_marks(text);
  auto out = json::parse(text, nullptr, false);
  if (!out.is_object()) {
    throw malformed{"a head that is no JSON object"};
  }
  return out;
}

const json& member(const json& x, const char* key) {
  if (!x.is_object()) {
    throw malformed{std::string{"no object where one with "} + key + " belongs"};
  }
  const auto found = x.find(key);
  if (found == x.end()) {
    throw malformed{std::string{"no "} + key};
  }
  return *found;
}

std::string text_member(const json& x, const char* key, std::size_t most) {
  const auto& value = member(x, key);
  const auto* text = value.get_ptr<const std::string*>();
  if (text == nullptr || text->size() > most) {
    throw malformed{std::string{key} + (text == nullptr ? " is no string" : " is too long")};
  }
  return *text;
}

element_type read_element_type(const json& x) {
  const auto* name = x.get_ptr<const std::string*>();
  const auto type = name == nullptr ? std::nullopt : from_name<element_type>(*name);
  if (!type) {
    throw malformed{"a dtype that is not known" + (name == nullptr ? std::string{} : ": " + *name)};
  }
  return *type;
}

std::vector<std::uint64_t> read_shape(const json& x) {
  if (!x.is_array() || x.size() > most_dimensions) {
    throw malformed{"a shape that is no list of at most 64 numbers"};
  }
  std::vector<std::uint64_t> out;
  for (const auto& size : x) {
    if (!size.is_number_unsigned()) {
      throw malformed{"a shape that is no list of numbers"};
    }
    out.push_back(size.get<std::uint64_t>());
  }
  return out;
}

tree_node read_tree(const json& x) {
  tree_budget budget;
  return read_node(x, 0, budget);
}

json write_tree(const tree_node& x) {
  json out{{"t", std::find_if(kinds().begin(), kinds().end(), [&](const auto& y) { return y.second == x.kind; })->first}};
  switch (x.kind) {
    case node_kind::tensor:
      out["dtype"] = name_of(x.type);
      out["shape"] = x.shape;
      out["bytes"] = x.bytes;
      break;
    case node_kind::none: break;
    case node_kind::boolean: out["v"] = x.is_true; break;
    case node_kind::real: out["v"] = real_text(x.number); break;
    case node_kind::integer:
    case node_kind::text:
    case node_kind::unknown: out["v"] = x.text; break;
    case node_kind::dict: out["k"] = write_items(x.keys); [[fallthrough]];
    case node_kind::list:
    case node_kind::tuple: out["v"] = write_items(x.items); break;
    case node_kind::record:
      out["name"] = x.text;
      out["f"] = x.fields;
      out["v"] = write_items(x.items);
      break;
  }
  return out;
}

}  // namespace regatta::judge
