// SPDX-License-Identifier: Apache-2.0
/// \file
/// Bytes and descriptors between runner, forker and pid 1. All three are the same build (`wire_version` is compared
/// at the start), so numbers go in the machine's own order.
#pragma once

#include "sandbox/unique_fd.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace regatta::sandbox {

/// Grows with every change of what goes over these sockets.
inline constexpr std::uint32_t wire_version = 3;
/// Of one message: 5 for the run's ends and body, up to 3 for cgroups.
inline constexpr std::size_t most_descriptors = 16;

class byte_writer {
public:
  template <class T>
  requires std::is_arithmetic_v<T>
  void put(T x) { bytes_.append(reinterpret_cast<const char*>(&x), sizeof x); }
  void put(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    bytes_.append(text);
  }
  const std::string& bytes() const { return bytes_; }

private:
  std::string bytes_;
};

/// Once anything is missing, all further reads are zero and `ok()` is false.
class byte_reader {
public:
  explicit byte_reader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  requires std::is_arithmetic_v<T> T number() {
    T x{};
    if (const auto piece = take(sizeof x); ok_) {
      std::memcpy(&x, piece.data(), sizeof x);
    }
    return x;
  }
  std::string text() { return std::string{take(number<std::uint64_t>())}; }
  bool ok() const { return ok_; }

private:
  std::string_view take(std::uint64_t size) {
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const auto piece = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return piece;
  }

  std::string_view rest_;
  bool ok_ = true;
};

/// One message with descriptors. False and errno on failure (EAGAIN on a full non-blocking socket).
bool send_message(int socket, const void* data, std::size_t size, const std::vector<int>& descriptors);

struct received {
  std::size_t size = 0;  ///< 0: the other side is gone.
  std::vector<unique_fd> descriptors;
};
/// -1 in `error`'s place: `errno`. Descriptors are close-on-exec. A message that was cut is an error (EMSGSIZE).
bool receive_message(int socket, void* data, std::size_t capacity, received& out);

/// Both ends close-on-exec, SEQPACKET. False and errno on failure.
bool make_socket_pair(unique_fd& ours, unique_fd& theirs);
bool make_pipe(unique_fd& read_end, unique_fd& write_end);
bool set_nonblocking(int fd);

/// A memory file with this content, at offset 0.
unique_fd make_memory_file(std::string_view content);
std::string read_memory_file(int fd);

}  // namespace regatta::sandbox
