// SPDX-License-Identifier: Apache-2.0
#include "cli/http_url.hpp"

#include <algorithm>
#include <charconv>

namespace regatta::cli {

namespace {

bool is_blank_or_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= 0x20 || byte == 0x7F;
}

bool is_port(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 1 && value <= 65'535;
}

/// `HOST`, `HOST:PORT`, `[v6]`, `[v6]:PORT`.
std::string why_no_authority(std::string_view text) {
  const bool is_v6 = text.starts_with('[');
  const auto bracket = text.find(']');
  if (is_v6 && bracket == std::string_view::npos) {
    return "a [ without ]";
  }
  const auto colon = text.find(':', is_v6 ? bracket : 0);
  const auto host = text.substr(0, colon);
  if (host.empty() || host == "[]") {
    return "no host";
  }
  if (is_v6 && host.size() != bracket + 1) {
    return "something between ] and the port";
  }
  if (colon != std::string_view::npos && !is_port(text.substr(colon + 1))) {
    return "a port that is no number from 1 to 65535";
  }
  return {};
}

}  // namespace

std::string why_not_http_url(std::string_view text) {
  const auto slashes = text.find("://");
  const auto scheme = text.substr(0, slashes);
  if (slashes == std::string_view::npos || (scheme != "http" && scheme != "https")) {
    return "neither http:// nor https://";
  }
  if (std::any_of(text.begin(), text.end(), is_blank_or_control)) {
    return "a blank or a control character";
  }
  const auto rest = text.substr(slashes + 3);
  const auto authority = rest.substr(0, rest.find_first_of("/?#"));
  // Behind a user and password, if there are any.
  return why_no_authority(authority.substr(authority.rfind('@') + 1));
}

}  // namespace regatta::cli
