// SPDX-License-Identifier: Apache-2.0
/// \file
/// Part of `probe`: whether what stands in for namespaces holds on this host. Found by confining a throw-away process as
/// a run would be, and looking what it can still do.
#pragma once

#include <cstdint>

namespace regatta::sandbox {

/// `uid` 0: with our own uid. Else also whether we can end that uid's processes and deal with its files.
bool can_confine_on_host(std::uint32_t uid, int landlock_abi);

}  // namespace regatta::sandbox
