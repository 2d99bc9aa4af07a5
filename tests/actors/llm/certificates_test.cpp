// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/system_certificates.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <set>

using namespace regatta;

namespace {

std::string found_on(const std::set<std::string>& files, const std::map<std::string, std::string>& environment = {}) {
  return certificates_in(
      [&](const char* name) {
        const auto at = environment.find(name);
        return at == environment.end() ? std::string{} : at->second;
      },
      [&](const std::string& path) { return files.contains(path); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(certificates)

BOOST_AUTO_TEST_CASE(each_distributions_place_is_known) {
  for (const char* place : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                            "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/ca-bundle.pem",
                            "/etc/ssl/cert.pem"}) {
    BOOST_TEST(found_on({place}) == place);
  }
}

BOOST_AUTO_TEST_CASE(a_host_without_any_is_left_to_libcurl) {
  BOOST_TEST(found_on({"/etc/hosts"}).empty());
}

BOOST_AUTO_TEST_CASE(what_the_user_names_wins_even_if_it_is_absent) {
  const std::set<std::string> host{"/etc/ssl/certs/ca-certificates.crt"};
  BOOST_TEST(found_on(host, {{"SSL_CERT_FILE", "/site/ca.pem"}}) == "/site/ca.pem");
  BOOST_TEST(found_on(host, {{"CURL_CA_BUNDLE", "/site/b.pem"}}) == "/site/b.pem");
  BOOST_TEST(found_on(host, {{"CURL_CA_BUNDLE", "/b"}, {"SSL_CERT_FILE", "/a"}}) == "/a");
  BOOST_TEST(found_on(host, {{"SSL_CERT_FILE", ""}}) == "/etc/ssl/certs/ca-certificates.crt");
}

BOOST_AUTO_TEST_SUITE_END()
