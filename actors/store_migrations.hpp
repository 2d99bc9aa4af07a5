// SPDX-License-Identifier: Apache-2.0
/// \file
/// SQL of the store's schema, step by step. Never edit a step that was released; append one. Times: `_us` columns are
/// µs (points in time: UTC), `_ms` columns ms.
#pragma once

#include <cstdint>
#include <string_view>

namespace regatta {

/// What this program writes and reads; `PRAGMA user_version` of a store that it made.
inline constexpr std::int64_t store_schema_version = 5;

/// Statements that bring version `from` to `from` + 1.
std::string_view store_migration(std::int64_t from);

}  // namespace regatta
