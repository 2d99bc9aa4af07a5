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

/// One piece of `step` is kept, from the first on.
std::uint64_t kept_elements(std::uint64_t count, std::uint64_t step) {
  std::uint64_t out = 0;
  for (std::uint64_t at = 0; at < count; at += step * piece_elements) {
    out += std::min<std::uint64_t>(piece_elements, count - at);
  }
  return out;
}

/// Where pieces are left out, a tensor is told as a line of what is left.
void shrink(tree_node& x, std::uint64_t step) {
  if (x.kind == node_kind::tensor && step > 1) {
    const auto left = kept_elements(x.elements(), step);
    x.shape = {left};
    x.bytes = left * element_size(x.type);
  }
  for (auto& item : x.items) {
    shrink(item, step);
  }
}

/// By what does not depend on whether there is an exact answer.
std::uint64_t step_for(const reference_answer& x, std::uint64_t most_probed) {
  constexpr std::uint64_t most_growth = 9;  // eager of one byte, exact of eight
  const auto all = body_bytes(x.inputs) + most_growth * body_bytes(x.outputs);
  return all / most_probed + 1;
}

void take_inputs(channel& from, const tree_node& told, std::uint64_t step, byte_buffer& out) {
  std::vector<std::byte> piece;
  for (const auto& leaf : leaves_of(told)) {
    std::uint64_t number = 0;
    for (auto left = leaf.node->kind == node_kind::tensor ? leaf.node->elements() : 0; left > 0; ++number) {
      const auto count = std::min<std::uint64_t>(left, piece_elements);
      piece.resize(count * element_size(leaf.node->type));
      from.read(piece);
      if (number % step == 0) {
        out.add(piece);
      }
      left -= count;
    }
  }
}

/// Takes eager and exact apart.
void take_outputs(channel& from, const reference_answer& told, std::uint64_t step, kept_answer& out) {
  const auto* const exact = told.exact ? &*told.exact : nullptr;
  std::vector<const tree_node*> exact_of;
  exact_leaves(told.outputs, exact, exact_of);
  std::vector<std::byte> piece;
  std::size_t number = 0;
  for (const auto& leaf : leaves_of(told.outputs)) {
    if (leaf.node->kind != node_kind::tensor) {
      continue;
    }
    const auto* const twin = exact_of.at(number++);
    std::uint64_t at = 0;
    for (auto left = leaf.node->elements(); left > 0; ++at) {
      const auto count = std::min<std::uint64_t>(left, piece_elements);
      const bool is_kept = at % step == 0;
      piece.resize(count * element_size(leaf.node->type));
      from.read(piece);
      if (is_kept) {
        out.outputs.add(piece);
        out.eager.add(piece);
      }
      piece.resize(twin == nullptr ? 0 : count * element_size(twin->type));
      from.read(piece);
      if (is_kept) {
        out.outputs.add(piece);
      }
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

kept_answer take_answer(channel& reference, const question& x, std::chrono::milliseconds patience,
                        std::uint64_t most_probed) {
  kept_answer out;
  out.asked = x;
  auto told = ask_reference(reference, x, patience);
  const auto step = step_for(told, most_probed);
  out.is_sampled = step > 1;
  out.head = told;
  shrink(out.head.inputs, step);
  shrink(out.head.outputs, step);
  if (out.head.exact) {
    shrink(*out.head.exact, step);
  }
  out.inputs = byte_buffer{body_bytes(out.head.inputs)};
  take_inputs(reference, told.inputs, step, out.inputs);
  const auto eager_bytes = body_bytes(out.head.outputs);
  out.outputs = byte_buffer{eager_bytes + (out.head.exact ? body_bytes(*out.head.exact) : 0)};
  out.eager = byte_buffer{eager_bytes};
  take_outputs(reference, told, step, out);
  if (out.is_sampled) {
    reference.skip_body();
    return out;
  }
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
