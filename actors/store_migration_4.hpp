// SPDX-License-Identifier: Apache-2.0
/// \file
/// SQL from version 3 to 4: what the judge found, beside the run in which it did.
#pragma once

#include <string_view>

namespace regatta {

std::string_view store_schema_4();

}  // namespace regatta
