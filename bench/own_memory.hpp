// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the drivers of the benches measure by.
#pragma once

#include <fstream>
#include <string>

namespace regatta {

/// Memory of this process that is its own alone (Pss), in bytes.
inline double own_memory() {
  std::ifstream in{"/proc/self/smaps_rollup"};
  std::string word;
  double kib = 0;
  while (in >> word) {
    if (word == "Pss:") {
      in >> kib;
      break;
    }
  }
  return kib * 1024;
}

}  // namespace regatta
