// SPDX-License-Identifier: Apache-2.0
/// \file
/// What stands in a head: arguments, inputs, outputs and parameters as trees. Only tensors have bytes in the body.
#pragma once

#include "sandbox/judge/element_type.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace regatta::judge {

inline constexpr std::size_t most_tree_depth = 32;
inline constexpr std::size_t most_tree_leaves = 4096;

enum class node_kind : std::uint8_t { tensor, none, boolean, integer, real, text, list, tuple, dict, record, unknown };

struct tree_node {
  node_kind kind = node_kind::none;
  element_type type = element_type::float32;  ///< Of a tensor, with shape and bytes.
  std::vector<std::uint64_t> shape;
  std::uint64_t bytes = 0;
  bool is_true = false;
  double number = 0;
  std::string text;                 ///< An integer's digits, a string, a record's or an unknown type's name.
  std::vector<std::string> fields;  ///< Of a record.
  std::vector<tree_node> keys;      ///< Of a dict.
  std::vector<tree_node> items;     ///< Of list, tuple, dict and record.

  bool is_leaf() const { return kind < node_kind::list || kind == node_kind::unknown; }
  std::uint64_t elements() const { return bytes / element_size(type); }
};

struct leaf {
  const tree_node* node = nullptr;
  std::string path;  ///< As Python would write it: [0], ["mask"], .logits
};

/// Pointers into `root`, in order: what a leaf's number counts.
std::vector<leaf> leaves_of(const tree_node& root);
/// Of all tensors.
std::uint64_t body_bytes(const tree_node& root);
bool has_tensor(const tree_node& root);
bool has_type(const tree_node& root, element_type type);
/// The name of the first type that cannot be judged; empty: none.
std::string unknown_type(const tree_node& root);

/// Where and how `got` is built differently from `wanted`; empty: it is not. Kinds, lengths, keys and their order, fields,
/// shapes, dtypes, and everything that is exact: None, bools, integers, strings. Floats are left to tolerances.
std::string structure_difference(const tree_node& got, const tree_node& wanted);

/// "tensor float32 (2, 3)", "dict with 2 keys", "None".
std::string node_text(const tree_node& x);
std::string shape_text(const std::vector<std::uint64_t>& shape);
/// "(1, 0, 7)": the place of an element of a row-major tensor.
std::string place_text(const std::vector<std::uint64_t>& shape, std::uint64_t element);

}  // namespace regatta::judge
