// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which outcome a provider's error is. By HTTP status first, then by its `code` and `type`; words of the message
/// count only where nothing else tells (a prompt that is too long). A reply's text never counts. Pure.
#pragma once

#include "messages/outcome.hpp"

#include <cstdint>
#include <string>

namespace regatta {

/// The `error` object of a body or an event, as text whatever JSON type its values had; empty where absent.
struct provider_error {
  std::string code;
  std::string type;
  std::string message;
};

/// `status` below 400: the error came inside a good answer; then a number in `code` stands for it.
llm_outcome classify(std::uint32_t status, const provider_error& error);

/// "429 rate_limit_error: …".
std::string describe(std::uint32_t status, const provider_error& error);

}  // namespace regatta
