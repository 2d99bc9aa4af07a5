// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/answer_comparison.hpp"

#include <algorithm>
#include <cmath>

namespace regatta::judge {

namespace {

constexpr std::size_t most_reports = 3;

void note_wrong(answer_report& report, leaf_report leaf) {
  report.is_right = false;
  if (report.wrong_leaves++ < most_reports) {
    report.wrong.push_back(std::move(leaf));
  }
}

struct tensor_sources {
  byte_source& got;
  byte_source& eager;
  const tree_node* exact = nullptr;  ///< In turns with eager, if there is one.
  byte_buffer* keep = nullptr;
};

leaf_figures compare_tensor(const tree_node& node, const tolerance& limits, std::optional<own_error> known,
                            const tensor_sources& from) {
  const auto size = element_size(node.type);
  const bool has_exact = from.exact != nullptr;
  const auto exact_size = has_exact ? element_size(from.exact->type) : 0;
  // Of an integer there is nothing more exact than eager.
  const bool uses_exact = has_exact && is_inexact(node.type);
  const auto room = std::min<std::uint64_t>(node.elements(), piece_elements);
  std::vector<std::byte> got(room * size), eager(room * size), exact(room * exact_size);
  leaf_comparison comparison{node.type, limits, known};
  for (auto left = node.elements(); left > 0;) {
    const auto count = std::min<std::uint64_t>(left, piece_elements);
    from.eager.read(std::span{eager}.first(count * size));
    if (has_exact) {
      from.eager.read(std::span{exact}.first(count * exact_size));
    }
    from.got.read(std::span{got}.first(count * size));
    if (from.keep != nullptr) {
      from.keep->add(std::span{got}.first(count * size));
    }
    comparison.add(got.data(), eager.data(), uses_exact ? exact.data() : nullptr, count);
    left -= count;
  }
  return comparison.finish();
}

/// A Python float: one float32's worth, whatever computed it.
leaf_figures compare_real(const tree_node& got, const tree_node& eager, const tree_node* exact,
                          const tolerance& limits, std::optional<own_error> known) {
  leaf_comparison comparison{element_type::float64, limits, known};
  const auto* const bytes = exact == nullptr ? nullptr : reinterpret_cast<const std::byte*>(&exact->number);
  comparison.add(reinterpret_cast<const std::byte*>(&got.number), reinterpret_cast<const std::byte*>(&eager.number),
                 bytes, 1);
  return comparison.finish();
}

/// The leaf of `exact` beside each of eager's; null where there is none.
void pair_exact(const tree_node& eager, const tree_node* exact, std::vector<const tree_node*>& out) {
  const bool has = exact != nullptr && exact->kind == eager.kind;
  if (eager.is_leaf()) {
    out.push_back(has && (eager.kind == node_kind::tensor || eager.kind == node_kind::real) ? exact : nullptr);
    return;
  }
  for (std::size_t i = 0; i < eager.items.size(); ++i) {
    pair_exact(eager.items[i], has && i < exact->items.size() ? &exact->items[i] : nullptr, out);
  }
}

void take_figures(answer_report& report, leaf_report leaf) {
  report.figures.add(leaf.figures);
  if (!leaf.figures.is_right) {
    note_wrong(report, std::move(leaf));
  }
}

struct changed_leaf {
  const tree_node& node;  ///< As asked, with its bytes.
  std::span<const std::byte> before;
  const tree_node* got = nullptr;  ///< Null: not changed.
  const tree_node* wanted = nullptr;
};

bool compare_changed(const std::string& name, const changed_leaf& x, byte_source& got_bytes,
                     byte_source& wanted_bytes, const tolerance_table& limits, answer_report& report) {
  const auto& got = x.got == nullptr ? x.node : *x.got;
  const auto& wanted = x.wanted == nullptr ? x.node : *x.wanted;
  leaf_report leaf{name + " after the call", wanted, limits.of(wanted.type), {}, {}};
  leaf.text = x.wanted == nullptr ? "your code changes it, the reference leaves it as it was"
              : x.got == nullptr  ? "the reference changes it in place, your code does not"
                                  : "";
  if (!structure_difference(got, wanted).empty()) {
    leaf.text = "got " + node_text(got) + ", expected " + node_text(wanted);
    note_wrong(report, std::move(leaf));
    return false;
  }
  if (wanted.kind != node_kind::tensor) {
    if (wanted.kind == node_kind::real) {
      leaf.figures = compare_real(got, wanted, nullptr, limits.of(element_type::float32), std::nullopt);
    }
    take_figures(report, std::move(leaf));
    return true;
  }
  if (x.before.size() != x.node.bytes && x.node.kind == node_kind::tensor && (x.got == nullptr || x.wanted == nullptr)) {
    note_wrong(report, std::move(leaf));
    return false;
  }
  memory_source was_for_got{x.before}, was_for_wanted{x.before};
  byte_source& from_got = x.got == nullptr ? static_cast<byte_source&>(was_for_got) : got_bytes;
  byte_source& from_wanted = x.wanted == nullptr ? static_cast<byte_source&>(was_for_wanted) : wanted_bytes;
  leaf.figures = compare_tensor(wanted, leaf.limits, std::nullopt, {from_got, from_wanted, nullptr, nullptr});
  take_figures(report, std::move(leaf));
  return true;
}

/// At least one side built its inputs anew.
bool compare_whole(const changed_inputs& got, byte_source& got_bytes, const changed_inputs& wanted,
                   byte_source& wanted_bytes, const tolerance_table& limits, answer_report& report) {
  if (!got.whole || !wanted.whole) {
    leaf_report leaf{"inputs after the call", {}, {}, {}, {}};
    leaf.text = got.whole ? "your code changes how they are built, the reference does not"
                          : "the reference changes how they are built (a list grows), your code does not";
    note_wrong(report, std::move(leaf));
    return false;
  }
  auto inner = compare_outputs(*got.whole, got_bytes, {*wanted.whole, nullptr, wanted_bytes, nullptr}, limits,
                               "inputs after the call");
  if (!inner.structure.empty()) {
    leaf_report leaf{"inputs after the call", {}, {}, {}, inner.structure};
    note_wrong(report, std::move(leaf));
    return false;
  }
  for (auto& leaf : inner.wrong) {
    note_wrong(report, std::move(leaf));
  }
  return true;
}

}  // namespace

void trial_figures::add(const leaf_figures& x) {
  worst_abs = std::max(worst_abs, x.worst_abs);
  is_finite = is_finite && x.endless == 0;
  if (x.scale <= least_scale) {
    return;  // Relative to next to nothing, every error is huge.
  }
  worst_rel = std::max(worst_rel, x.worst_rel());
  norm = std::max(norm, x.norm);
  eager_norm = std::max(eager_norm, x.own.norm);
}

answer_report compare_outputs(const tree_node& got, byte_source& got_bytes, const reference_outputs& wanted,
                              const tolerance_table& limits, const std::string& name, byte_buffer* keep) {
  answer_report report;
  report.structure = structure_difference(got, wanted.eager);
  if (!report.structure.empty()) {
    report.structure.replace(0, std::string_view{"output"}.size(), name);
    report.is_right = false;
    return report;
  }
  const auto got_leaves = leaves_of(got);
  const auto leaves = leaves_of(wanted.eager);
  std::vector<const tree_node*> exact;
  pair_exact(wanted.eager, wanted.exact, exact);
  report.own.resize(leaves.size());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto& node = *leaves[i].node;
    const auto known = wanted.known == nullptr ? std::nullopt : std::optional{wanted.known->at(i)};
    leaf_report leaf{name + leaves[i].path, node, limits.of(node.type), {}, {}};
    if (node.kind == node_kind::tensor) {
      const tensor_sources from{got_bytes, wanted.bytes, exact[i], keep};
      leaf.figures = compare_tensor(node, leaf.limits, known, from);
    } else if (node.kind == node_kind::real) {
      leaf.limits = limits.of(element_type::float32);
      leaf.figures = compare_real(*got_leaves[i].node, node, exact[i], leaf.limits, known);
    } else {
      continue;
    }
    report.own[i] = leaf.figures.own;
    take_figures(report, std::move(leaf));
  }
  return report;
}

bool compare_inputs_after(const asked_inputs& inputs, const changed_inputs& got, byte_source& got_bytes,
                          const changed_inputs& wanted, byte_source& wanted_bytes, const tolerance_table& limits,
                          answer_report& report) {
  if (got.whole || wanted.whole) {
    return compare_whole(got, got_bytes, wanted, wanted_bytes, limits, report);
  }
  const auto leaves = leaves_of(inputs.tree);
  auto next_got = got.leaves.begin();
  auto next_wanted = wanted.leaves.begin();
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto& node = *leaves[i].node;
    const bool is_got = next_got != got.leaves.end() && next_got->first == i;
    const bool is_wanted = next_wanted != wanted.leaves.end() && next_wanted->first == i;
    const auto size = node.kind == node_kind::tensor ? node.bytes : 0;
    if (is_got || is_wanted) {
      const auto before = inputs.is_kept ? inputs.bytes.subspan(at, size) : std::span<const std::byte>{};
      const changed_leaf leaf{node, before, is_got ? &(next_got++)->second : nullptr,
                              is_wanted ? &(next_wanted++)->second : nullptr};
      if (!compare_changed("input" + leaves[i].path, leaf, got_bytes, wanted_bytes, limits, report)) {
        return false;
      }
    }
    at += size;
  }
  return true;
}

}  // namespace regatta::judge
