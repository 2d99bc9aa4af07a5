// SPDX-License-Identifier: Apache-2.0
/// \file
/// Trees and heads as JSON. Sizes are checked before anything is built from them.
#pragma once

#include "sandbox/judge/tree.hpp"

#include <nlohmann/json.hpp>

#include <string_view>

namespace regatta::judge {

using json = nlohmann::json;

/// One JSON object. Throws malformed. Bounded before it is parsed: nesting, and the number of values, as each costs
/// many times its bytes.
json parse_object(std::string_view text);

/// Throws malformed: kinds, limits, shape times element size unlike bytes.
tree_node read_tree(const json& x);
json write_tree(const tree_node& x);

/// A member that must be there and be a string, of at most 4 KiB unless said. Throws malformed.
std::string text_member(const json& x, const char* key, std::size_t most = 4096);
const json& member(const json& x, const char* key);
std::vector<std::uint64_t> read_shape(const json& x);
element_type read_element_type(const json& x);

}  // namespace regatta::judge
