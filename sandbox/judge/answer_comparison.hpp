// SPDX-License-Identifier: Apache-2.0
/// \file
/// A whole answer against the reference's: trees side by side, tensors' bytes from two sources as they come.
#pragma once

#include "sandbox/judge/byte_buffer.hpp"
#include "sandbox/judge/leaf_comparison.hpp"
#include "sandbox/judge/side_words.hpp"

#include <optional>
#include <string>
#include <vector>

namespace regatta::judge {

/// Elements of eager that stand before the same elements of exact.
inline constexpr std::size_t piece_elements = std::size_t{1} << 18;

struct leaf_report {
  std::string name;  ///< output[0]["mask"]
  tree_node node;    ///< dtype and shape; for a float: what was expected.
  tolerance limits;
  leaf_figures figures;
  std::string text;  ///< Instead of figures: what differs.
};

struct trial_figures {
  double worst_abs = 0, worst_rel = 0, norm = 0, eager_norm = 0;
  bool is_finite = true;  ///< The reference's outputs.
  void add(const leaf_figures& x);
};

struct answer_report {
  bool is_right = true;
  std::string structure;           ///< If the trees differ, this and nothing else.
  std::vector<leaf_report> wrong;  ///< The first few.
  std::size_t wrong_leaves = 0;
  trial_figures figures;
  std::vector<own_error> own;  ///< One for each leaf of the outputs.
};

struct reference_outputs {
  const tree_node& eager;
  const tree_node* exact = nullptr;
  byte_source& bytes;  ///< As the frame has them: eager and exact in turns.
  /// Judge by these errors, one for each leaf, instead of measuring them.
  const std::vector<own_error>* known = nullptr;
};

/// Both sources are read to the end of the outputs, unless the structure differs: then neither is touched. What was
/// got is added to `keep`, if there is one.
answer_report compare_outputs(const tree_node& got, byte_source& got_bytes, const reference_outputs& wanted,
                              const tolerance_table& limits, const std::string& name, byte_buffer* keep = nullptr);

struct asked_inputs {
  const tree_node& tree;
  std::span<const std::byte> bytes;
  /// False: they are too large to be kept; then what one side alone changes is wrong, whatever it wrote.
  bool is_kept = true;
};

/// Inputs after the call, by the reference's rule: what it changed must be changed alike, what it left alone must be as
/// it was. Adds to `report`. False if something was built differently: then not all bytes were read.
bool compare_inputs_after(const asked_inputs& inputs, const changed_inputs& got, byte_source& got_bytes,
                          const changed_inputs& wanted, byte_source& wanted_bytes, const tolerance_table& limits,
                          answer_report& report);

}  // namespace regatta::judge
