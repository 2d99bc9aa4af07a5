// SPDX-License-Identifier: Apache-2.0
#include "messages/digest.hpp"

#include <openssl/evp.h>

#include <array>
#include <cassert>

namespace regatta {

std::string canonical_source(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 1);
  std::string line;
  std::size_t blank_lines = 0;
  const auto end_line = [&] {
    line.erase(line.find_last_not_of(" \t") + 1);
    if (line.empty()) {
      ++blank_lines;
      return;
    }
    out.append(out.empty() ? 0 : blank_lines, '\n');
    blank_lines = 0;
    out += line + '\n';
    line.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool crlf = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if (text[i] == '\n' || text[i] == '\r') {
      end_line();
      line.clear();
      i += crlf ? 1 : 0;
    } else {
      line += text[i];
    }
  }
  end_line();
  return out;
}

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
  unsigned size = 0;
  [[maybe_unused]] const int good = EVP_Digest(bytes.data(), bytes.size(), raw.data(), &size, EVP_sha256(), nullptr);
  assert(good == 1 && size == 32);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    hex += digits[raw[i] >> 4U];
    hex += digits[raw[i] & 0xFU];
  }
  return hex;
}

source_digest digest_of_source(std::string_view text) {
  return source_digest{sha256_hex(canonical_source(text))};
}

}  // namespace regatta
