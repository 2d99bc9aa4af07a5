// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/json_codec.hpp"

#include "actors/llm/utf8_text.hpp"

#include <charconv>

namespace regatta::json {

namespace {

const value null_value;

/// The library copies and writes values by recursion: a level costs some 250 bytes of stack, and a server sends as many
/// levels as it likes. No wire of ours has more than ten.
constexpr std::size_t deepest = 100;

bool is_too_deep(std::string_view bytes) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '[' || c == '{') {
      if (++depth > deepest) {
        return true;
      }
    } else if (c == ']' || c == '}') {
      depth -= depth > 0 ? 1 : 0;
    } else {
      in_string = c == '"';
    }
  }
  return false;
}

/// The code unit of a `\uXXXX` at `at`; empty if there is none.
std::optional<std::uint32_t> escaped_unit(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') {
    return std::nullopt;
  }
  std::uint32_t unit = 0;
  const auto* first = text.data() + at + 2;
  const auto [end, error] = std::from_chars(first, first + 4, unit, 16);
  return error == std::errc{} && end == first + 4 ? std::optional{unit} : std::nullopt;
}

/// A provider that sends a character's halves in two events leaves each of them alone.
std::string without_lone_surrogates(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      out += text[i++];
      continue;
    }
    const auto unit = escaped_unit(text, i);
    if (!unit) {
      out += text.substr(i, 2);
      i += 2;
      continue;
    }
    const auto next = escaped_unit(text, i + 6);
    const bool is_high = *unit >= 0xD800 && *unit < 0xDC00;
    const bool is_pair = is_high && next && *next >= 0xDC00 && *next < 0xE000;
    const std::size_t used = is_pair ? 12 : 6;
    out += !is_pair && *unit >= 0xD800 && *unit < 0xE000 ? std::string_view{"\\ufffd"} : text.substr(i, used);
    i += used;
  }
  return out;
}

}  // namespace

value parse(std::string_view bytes) {
  if (is_too_deep(bytes)) {
    value nothing(value::value_t::discarded);  // In braces it would be a list of one.
    return nothing;
  }
  auto result = value::parse(bytes, nullptr, false);
  if (result.is_discarded()) {
    result = value::parse(without_lone_surrogates(repair_utf8(bytes)), nullptr, false);
  }
  return result;
}

std::string to_text(const value& x) {
  return x.dump(-1, ' ', false, value::error_handler_t::replace);
}

const value& at(const value& x, const char* key) {
  if (!x.is_object()) {
    return null_value;
  }
  const auto it = x.find(key);
  return it == x.end() ? null_value : *it;
}

std::string text(const value& x, const char* key) {
  const auto* found = at(x, key).get_ptr<const std::string*>();
  return found == nullptr ? std::string{} : *found;
}

std::string loose_text(const value& x, const char* key) {
  const auto& found = at(x, key);
  return found.is_number() || found.is_boolean() ? to_text(found) : text(x, key);
}

std::optional<std::uint64_t> count(const value& x, const char* key) {
  const auto& found = at(x, key);
  if (found.is_number_unsigned()) {
    return found.get<std::uint64_t>();
  }
  if (found.is_number_integer()) {
    const auto number = found.get<std::int64_t>();
    return number >= 0 ? std::optional{static_cast<std::uint64_t>(number)} : std::nullopt;
  }
  if (found.is_number_float()) {
    const auto number = found.get<double>();
    // 2^53: past it a double is no count.
    return number >= 0 && number <= 9007199254740992.0 ? std::optional{static_cast<std::uint64_t>(number)}
                                                       : std::nullopt;
  }
  return std::nullopt;
}

std::optional<provider_error> error_in(const value& body) {
  if (body.is_array() && !body.empty() && body.front().is_object()) {
    return error_in(body.front());
  }
  const auto& error = at(body, "error");
  if (error.is_string()) {
    return provider_error{"", "", text(body, "error")};
  }
  if (error.is_object()) {
    return provider_error{loose_text(error, "code"), loose_text(error, "type"), loose_text(error, "message")};
  }
  if (const auto message = text(body, "message"); !message.empty()) {
    return provider_error{loose_text(body, "code"), loose_text(body, "type"), message};
  }
  if (const auto& detail = at(body, "detail"); !detail.is_null()) {
    return provider_error{"", "", detail.is_string() ? text(body, "detail") : to_text(detail)};
  }
  return std::nullopt;
}

}  // namespace regatta::json
