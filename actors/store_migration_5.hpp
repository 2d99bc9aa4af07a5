// SPDX-License-Identifier: Apache-2.0
/// \file
/// SQL of the version that keeps timings.
#pragma once

#include <string_view>

namespace regatta {

std::string_view store_schema_5();

}  // namespace regatta
