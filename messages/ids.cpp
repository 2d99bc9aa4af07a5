// SPDX-License-Identifier: Apache-2.0
#include "messages/ids.hpp"

namespace regatta {

worker_id make_worker_id(std::uint32_t number) {
  const auto digits = std::to_string(number);
  return worker_id{"worker_" + std::string(digits.size() < 2 ? 1 : 0, '0') + digits};
}

std::string to_string(const work_key& x) {
  return x.race.text + "/" + x.worker.text + "/" + std::to_string(x.round) + "." + std::to_string(x.attempt);
}

}  // namespace regatta
