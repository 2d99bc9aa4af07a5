// SPDX-License-Identifier: Apache-2.0
/// \file
/// Uids that nobody else has: one per slot, one run at a time.
#pragma once

#include "sandbox/unique_fd.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace regatta::sandbox {

/// A block of uids, held by a lock file in /run/regatta as long as this object lives, so that several runners on one
/// host never share one.
class slot_uids {
public:
  /// Null and `error` filled if no block is free. Only as root.
  static std::unique_ptr<slot_uids> acquire(std::string& error);

  std::uint32_t uid_of(std::uint32_t slot) const { return first_ + slot; }

  /// Slots per block.
  static constexpr std::uint32_t block_size = 1024;

private:
  slot_uids(unique_fd lock, std::uint32_t first) : lock_(std::move(lock)), first_(first) {}

  unique_fd lock_;
  std::uint32_t first_;
};

}  // namespace regatta::sandbox
