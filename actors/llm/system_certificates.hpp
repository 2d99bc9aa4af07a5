// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where this host keeps the certificates that it trusts. A libcurl that was built on one distribution knows only that one's
/// place, and the relocatable tarball carries its own libcurl to all of them.
#pragma once

#include <functional>
#include <string>

namespace regatta {

/// Pure. `SSL_CERT_FILE` and `CURL_CA_BUNDLE`, as OpenSSL's and curl's users know them, win even if no such file is there (it
/// is said then, not passed over); else the first known place that exists; else empty: libcurl's own.
std::string certificates_in(const std::function<std::string(const char*)>& variable,
                            const std::function<bool(const std::string&)>& is_file);

/// Of this host; looked up once.
const std::string& system_certificates();

}  // namespace regatta
