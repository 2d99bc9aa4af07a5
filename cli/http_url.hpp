// SPDX-License-Identifier: Apache-2.0
/// \file
/// Is a text the address of an HTTP server? Told before the first call, in words for the user.
#pragma once

#include <string>
#include <string_view>

namespace regatta::cli {

/// Empty if it is; else what is wrong: "no host", "a port that is no number from 1 to 65535".
std::string why_not_http_url(std::string_view text);

/// What every error text about one says is allowed.
inline constexpr std::string_view http_url_form = "http://HOST[:PORT][/PATH] or https://…";

}  // namespace regatta::cli
