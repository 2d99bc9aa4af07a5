// SPDX-License-Identifier: Apache-2.0
/// \file
/// `ec` as a `caf::error`: make one with `fail(ec::…, "text that names the thing")`.
#pragma once

#include "messages/ec.hpp"

#include <caf/error.hpp>
#include <caf/make_message.hpp>

#include <string>

CAF_ERROR_CODE_ENUM(regatta::ec, "regatta")

namespace regatta {

/// `context` names the thing (path, digest, host, HTTP status); no full stop at the end.
inline caf::error fail(ec code, std::string context) {
  return caf::make_error(code, std::move(context));
}

/// The `ec` of an error; errors of other categories are `ec::remote_error` (CAF's own time-out is `reply_timeout`).
ec code_of(const caf::error& x);

/// The context string alone, or CAF's rendering of a foreign error.
std::string text_of(const caf::error& x);

/// `io_failed: cannot write "/x/y": No space left on device`.
std::string describe(const caf::error& x);

}  // namespace regatta
