// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/mismatch_text.hpp"

#include "sandbox/judge/ending.hpp"

#include <algorithm>
#include <cmath>

namespace regatta::judge {

namespace {

constexpr std::size_t most_parameters_told = 6;
/// An output that is c times the reference but for rounding.
constexpr double small_rest = 1e-3;

std::string short_number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

std::string list_text(const std::vector<std::string>& values, std::uint64_t elements) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    out += (i == 0 ? "" : ", ") + values[i];
  }
  return out + (elements > values.size() ? ", …]" : "]");
}

std::string share_text(const leaf_report& x) {
  const auto& f = x.figures;
  if (f.violations == f.elements) {
    return f.elements == 1 ? "the value differs" : "all " + std::to_string(f.elements) + " elements differ";
  }
  return std::to_string(f.violations) + " of " + std::to_string(f.elements) + " elements differ";
}

std::string limit_text(const leaf_report& x) {
  if (x.node.kind == node_kind::tensor && !is_inexact(x.node.type)) {
    return " (must be equal)";
  }
  return " by more than " + short_number(x.figures.atol) + " + " + short_number(x.limits.rtol) + "·|expected|";
}

std::string worst_text(const leaf_report& x) {
  const auto& f = x.figures;
  return "worst" + (x.node.kind == node_kind::tensor ? " at " + place_text(x.node.shape, f.worst_at) : "") + ": got " +
         f.got + ", expected " + f.expected;
}

/// Wrong tiles at an edge show in where violations begin and end.
std::string range_text(const leaf_report& x) {
  const auto& f = x.figures;
  if (f.violations < 2 || f.violations == f.elements || x.node.shape.empty()) {
    return {};
  }
  return "; the first at " + place_text(x.node.shape, f.first_at) + ", the last at " +
         place_text(x.node.shape, f.last_at);
}

std::string hint_text(const leaf_report& x) {
  const auto& f = x.figures;
  if (f.is_constant) {
    const bool is_zero = f.first_got.front() == "0" || f.first_got.front() == "False";
    return is_zero ? "Every element of your output is zero." : "Every element of your output is " + f.first_got.front() + ".";
  }
  if (f.specials > 0) {
    return std::to_string(f.specials) +
           " elements are NaN or infinite on one side only (memory that was not written? masked loads without `other`?).";
  }
  if (is_like_tf32(x.node.type, f)) {
    return "The error is of TF32's size while float32 is asked: use input_precision=\"ieee\" in tl.dot, and do not allow "
           "TF32 elsewhere.";
  }
  if (f.elements > 1 && f.factor_rest < small_rest && std::fabs(f.factor - 1) > small_rest) {
    return "Your output is about " + short_number(f.factor) + " times what is expected, everywhere.";
  }
  if (f.elements > 1 && f.offset_rest < small_rest) {
    return "Your output is what is expected plus about " + short_number(f.offset) + ", everywhere.";
  }
  return {};
}

std::string leaf_text(const leaf_report& x) {
  std::string out = x.name;
  if (x.node.kind == node_kind::tensor) {
    out += " (" + to_string(x.node.type) + ", shape " + shape_text(x.node.shape) + ")";
  }
  if (!x.text.empty()) {
    out += ": " + x.text;
  }
  const auto& f = x.figures;
  if (f.elements == 0) {
    return out + ".\n";
  }
  if (f.violations > 0) {
    out += ": " + share_text(x) + limit_text(x) + range_text(x);
  }
  out += "; " + worst_text(x) + ".\n";
  if (x.node.kind == node_kind::tensor && is_inexact(x.node.type)) {
    out += "Largest error " + short_number(f.worst_abs) + ", error of the whole ‖got - expected‖/‖expected‖ = " +
           short_number(f.norm) + (f.is_norm_right ? "" : " (limit " + short_number(x.limits.norm) + ")") + ".\n";
  }
  if (x.node.kind == node_kind::tensor) {
    out += "First elements: got " + list_text(f.first_got, f.elements) + ", expected " +
           list_text(f.first_expected, f.elements) + ".\n";
    const auto hint = hint_text(x);
    out += hint.empty() ? "" : hint + "\n";
  }
  return out;
}

std::string parameter_text(const parameter_digest& x) {
  return plain_line(x.name, 80) + " " + plain_line(x.dtype, 20) + " " + shape_text(x.shape);
}

/// Those of `a` whose values stand nowhere in `b`.
std::string only_in(const std::vector<parameter_digest>& a, const std::vector<parameter_digest>& b) {
  std::string out;
  std::size_t count = 0;
  for (const auto& x : a) {
    const bool is_there = std::any_of(b.begin(), b.end(), [&](const auto& y) { return x.sha256 == y.sha256; });
    if (!is_there && ++count <= most_parameters_told) {
      out += (out.empty() ? "" : ", ") + parameter_text(x);
    }
  }
  return count == 0 ? "none" : out + (count > most_parameters_told ? ", …" : "");
}

}  // namespace

bool is_like_tf32(element_type type, const leaf_figures& x) {
  constexpr double least = 0x1p-12, most = 0x1p-8, least_norm = 0x1p-14;
  const double worst = x.worst_rel();
  return type == element_type::float32 && x.specials == 0 && worst >= least && worst <= most && x.norm >= least_norm;
}

std::string mismatch_reason(const answer_report& report) {
  if (!report.structure.empty()) {
    return report.structure;
  }
  if (report.wrong.empty()) {
    return {};
  }
  const auto& x = report.wrong.front();
  if (!x.text.empty()) {
    return x.name + ": " + x.text;
  }
  if (x.figures.violations == 0) {
    return x.name + ": relative error of the whole " + short_number(x.figures.norm);
  }
  return x.name + ": " + share_text(x) + ", " + worst_text(x);
}

std::string mismatch_text(const answer_report& report) {
  if (!report.structure.empty()) {
    return report.structure + ".\n";
  }
  std::string out;
  for (const auto& leaf : report.wrong) {
    out += leaf_text(leaf);
  }
  if (report.wrong_leaves > report.wrong.size()) {
    out += "… and " + std::to_string(report.wrong_leaves - report.wrong.size()) + " more outputs are wrong.\n";
  }
  return out;
}

std::string weights_text(const std::vector<parameter_digest>& got, const std::vector<parameter_digest>& wanted) {
  return "The weights differ from the reference's under the same seed. Only in the reference: " + only_in(wanted, got) +
         ". Only in yours: " + only_in(got, wanted) +
         ". Make the same parameters (names, shapes) in the same order with the same initialisers.\n";
}

}  // namespace regatta::judge
