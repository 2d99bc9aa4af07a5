// SPDX-License-Identifier: Apache-2.0
/// \file
/// SQL from version 1 to 2: `llm_calls` becomes the ledger, one row per try instead of one per prompt; budgets.
#pragma once

#include <string_view>

namespace regatta {

std::string_view store_schema_2();

}  // namespace regatta
