// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/kept_answer.hpp"

#include "sandbox/judge/answer_comparison.hpp"
#include "sandbox/judge/exchange.hpp"
#include "sandbox/judge/seeds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

namespace regatta::judge {

namespace {

/// A tensor leaf and its bytes.
struct tensor_view {
  const tree_node* node = nullptr;
  std::span<const std::byte> bytes;
};

std::vector<tensor_view> tensors_of(const tree_node& root, std::span<const std::byte> bytes) {
  std::vector<tensor_view> out;
  for (const auto& leaf : leaves_of(root)) {
    if (leaf.node->kind == node_kind::tensor) {
      out.push_back({leaf.node, bytes.first(leaf.node->bytes)});
      bytes = bytes.subspan(leaf.node->bytes);
    }
  }
  return out;
}

void exact_leaves(const tree_node& eager, const tree_node* exact, std::vector<const tree_node*>& out) {
  const bool has = exact != nullptr && exact->kind == eager.kind;
  if (eager.kind == node_kind::tensor) {
    out.push_back(has ? exact : nullptr);
  }
  for (std::size_t i = 0; i < eager.items.size(); ++i) {
    exact_leaves(eager.items[i], has ? &exact->items[i] : nullptr, out);
  }
}

/// Takes eager and exact apart.
void take_outputs(channel& from, kept_answer& out) {
  const auto* const exact = out.head.exact ? &*out.head.exact : nullptr;
  const auto eager_bytes = body_bytes(out.head.outputs);
  out.outputs = byte_buffer{eager_bytes + (exact == nullptr ? 0 : body_bytes(*exact))};
  out.eager = byte_buffer{eager_bytes};
  std::vector<const tree_node*> exact_of;
  exact_leaves(out.head.outputs, exact, exact_of);
  std::vector<std::byte> piece;
  std::size_t number = 0;
  for (const auto& leaf : leaves_of(out.head.outputs)) {
    if (leaf.node->kind != node_kind::tensor) {
      continue;
    }
    const auto* const twin = exact_of.at(number++);
    for (auto left = leaf.node->elements(); left > 0;) {
      const auto count = std::min<std::uint64_t>(left, piece_elements);
      piece.resize(count * element_size(leaf.node->type));
      from.read(piece);
      out.outputs.add(piece);
      out.eager.add(piece);
      piece.resize(twin == nullptr ? 0 : count * element_size(twin->type));
      from.read(piece);
      out.outputs.add(piece);
      left -= count;
    }
  }
}

/// The element that is nearest to the mean: a constant that somebody knows who has seen other outputs.
std::span<const std::byte> typical_element(const tensor_view& x) {
  const auto size = element_size(x.node->type);
  const auto count = x.node->elements();
  std::array<double, 2> value{};
  double sum = 0;
  std::uint64_t finite = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    to_doubles(x.node->type, x.bytes.data() + i * size, 1, value.data());
    sum += std::isfinite(value[0]) ? value[0] : 0;
    finite += std::isfinite(value[0]) ? 1 : 0;
  }
  const double mean = finite == 0 ? 0 : sum / static_cast<double>(finite);
  std::uint64_t best = 0;
  double nearest = std::numeric_limits<double>::infinity();
  for (std::uint64_t i = 0; i < count; ++i) {
    to_doubles(x.node->type, x.bytes.data() + i * size, 1, value.data());
    if (const double distance = std::fabs(value[0] - mean); distance < nearest) {
      nearest = distance;
      best = i;
    }
  }
  return x.bytes.subspan(best * size, size);
}

void add_zeros(byte_buffer& out, std::size_t count) {
  const std::vector<std::byte> zeros(std::min(count, piece_bytes));
  for (std::size_t done = 0; done < count; done += zeros.size()) {
    out.add(std::span{zeros}.first(std::min(zeros.size(), count - done)));
  }
}

void zero_floats(tree_node& x) {
  x.number = 0;
  for (auto& item : x.items) {
    zero_floats(item);
  }
}

using maybe_answer = std::optional<synthetic_answer>;

synthetic_answer zeros_for(const kept_answer& truth) {
  synthetic_answer out{truth.head.outputs, byte_buffer{truth.eager.size()}};
  zero_floats(out.outputs);
  add_zeros(out.bytes, truth.eager.size());
  return out;
}

maybe_answer constant_for(const kept_answer& truth, const kept_answer& other) {
  if (!structure_difference(other.head.outputs, truth.head.outputs).empty()) {
    return std::nullopt;
  }
  synthetic_answer out{other.head.outputs, byte_buffer{truth.eager.size()}};
  for (const auto& x : tensors_of(other.head.outputs, other.eager.bytes())) {
    const auto element = x.bytes.empty() ? x.bytes : typical_element(x);
    for (std::uint64_t i = 0; i < x.node->elements(); ++i) {
      out.bytes.add(element);
    }
  }
  return out;
}

maybe_answer input_copy_for(const kept_answer& truth) {
  synthetic_answer out{truth.head.outputs, byte_buffer{truth.eager.size()}};
  const auto inputs = tensors_of(truth.head.inputs, truth.inputs.bytes());
  const auto wanted = tensors_of(truth.head.outputs, truth.eager.bytes());
  for (const auto& x : wanted) {
    const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const auto& y) {
      return y.node->type == x.node->type && y.node->shape == x.node->shape;
    });
    if (found == inputs.end()) {
      return std::nullopt;
    }
    out.bytes.add(found->bytes);
  }
  return wanted.empty() ? std::nullopt : maybe_answer{std::move(out)};
}

synthetic_answer other_seed_for(const kept_answer& other) {
  synthetic_answer out{other.head.outputs, byte_buffer{other.eager.size()}};
  out.bytes.add(other.eager.bytes());
  return out;
}

/// The right elements in the wrong places. Empty where that changes nothing.
maybe_answer shuffled_for(const kept_answer& truth) {
  synthetic_answer out{truth.head.outputs, byte_buffer{truth.eager.size()}};
  std::mt19937_64 random{draw_seed()};
  bool is_other = false;
  for (const auto& x : tensors_of(truth.head.outputs, truth.eager.bytes())) {
    const auto size = element_size(x.node->type);
    std::vector<std::byte> all(x.bytes.begin(), x.bytes.end());
    for (auto i = x.node->elements(); i > 1; --i) {
      const auto a = all.begin() + static_cast<std::ptrdiff_t>((i - 1) * size);
      std::swap_ranges(a, a + static_cast<std::ptrdiff_t>(size),
                       all.begin() + static_cast<std::ptrdiff_t>(random() % i * size));
    }
    is_other = is_other || !std::equal(all.begin(), all.end(), x.bytes.begin());
    out.bytes.add(all);
  }
  return is_other ? maybe_answer{std::move(out)} : std::nullopt;
}

}  // namespace

kept_answer take_answer(channel& reference, const question& x, std::chrono::milliseconds patience) {
  kept_answer out;
  out.asked = x;
  out.head = ask_reference(reference, x, patience);
  out.inputs = byte_buffer{body_bytes(out.head.inputs)};
  out.inputs.fill(reference);
  take_outputs(reference, out);
  out.after = byte_buffer{out.head.inputs_after.body_bytes()};
  out.after.fill(reference);
  return out;
}

std::optional<synthetic_answer> make_cheap_answer(cheap_answer kind, const kept_answer& truth,
                                                  const kept_answer& other) {
  switch (kind) {
    case cheap_answer::zeros: return zeros_for(truth);
    case cheap_answer::constant: return constant_for(truth, other);
    case cheap_answer::input_copy: return input_copy_for(truth);
    case cheap_answer::other_seed: return other_seed_for(other);
    case cheap_answer::shuffled: return shuffled_for(truth);
  }
  return std::nullopt;
}

}  // namespace regatta::judge
