// SPDX-License-Identifier: Apache-2.0
#include "messages/event.hpp"

namespace regatta {

std::string_view kind_of(const fact& x) {
  return std::visit([](const auto& body) -> std::string_view { return body.kind; }, x);
}

}  // namespace regatta
