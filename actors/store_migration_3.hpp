// SPDX-License-Identifier: Apache-2.0
/// \file
/// SQL from version 2 to 3: the currency of a race's money, and input that was written to a provider's cache.
#pragma once

#include <string_view>

namespace regatta {

std::string_view store_schema_3();

}  // namespace regatta
