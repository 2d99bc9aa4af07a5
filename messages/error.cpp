// SPDX-License-Identifier: Apache-2.0
#include "messages/error.hpp"

#include <caf/atom.hpp>
#include <caf/message.hpp>
#include <caf/sec.hpp>

namespace regatta {

namespace {
// What CAF_ERROR_CODE_ENUM registers.
const auto own_category = caf::atom("regatta");
}  // namespace

ec code_of(const caf::error& x) {
  if (!x) {
    return ec::none;
  }
  if (x.category() == own_category) {
    return static_cast<ec>(x.code());
  }
  return x == caf::sec::request_timeout ? ec::reply_timeout : ec::remote_error;
}

std::string text_of(const caf::error& x) {
  if (!x) {
    return {};
  }
  if (x.context().match_elements<std::string>()) {
    return x.context().get_as<std::string>(0);
  }
  return x.category() == own_category ? std::string{} : to_string(x);
}

std::string describe(const caf::error& x) {
  const auto text = text_of(x);
  return to_string(code_of(x)) + (text.empty() ? "" : ": " + text);
}

}  // namespace regatta
