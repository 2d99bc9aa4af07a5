// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/system_certificates.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>

namespace regatta {

namespace {

// Debian, Ubuntu, Arch, Gentoo; Fedora, RHEL and their kin (newer, older); openSUSE; Alpine, FreeBSD.
constexpr std::array places{
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",   "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
};

}  // namespace

std::string certificates_in(const std::function<std::string(const char*)>& variable,
                            const std::function<bool(const std::string&)>& is_file) {
  for (const char* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE"}) {
    if (auto chosen = variable(name); !chosen.empty()) {
      return chosen;
    }
  }
  for (const char* place : places) {
    if (is_file(place)) {
      return place;
    }
  }
  return {};
}

const std::string& system_certificates() {
  static const std::string found = certificates_in(
      [](const char* name) {
        const char* value = std::getenv(name);
        return std::string{value == nullptr ? "" : value};
      },
      [](const std::string& path) {
        std::error_code ignored;
        return std::filesystem::is_regular_file(path, ignored);
      });
  return found;
}

}  // namespace regatta
