// SPDX-License-Identifier: Apache-2.0
#include "sandbox/wire.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace regatta::sandbox {

bool send_message(int socket, const void* data, std::size_t size, const std::vector<int>& descriptors) {
  iovec piece{const_cast<void*>(data), size};
  alignas(cmsghdr) char control[CMSG_SPACE(most_descriptors * sizeof(int))]{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    const auto bytes = descriptors.size() * sizeof(int);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(bytes);
    auto* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(header), descriptors.data(), bytes);
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(size);
}

bool receive_message(int socket, void* data, std::size_t capacity, received& out) {
  iovec piece{data, capacity};
  alignas(cmsghdr) char control[CMSG_SPACE(most_descriptors * sizeof(int))]{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) {
    return false;
  }
  out.size = static_cast<std::size_t>(size);
  out.descriptors.clear();
  for (auto* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= header->cmsg_len; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + at, sizeof fd);
      out.descriptors.emplace_back(fd);
    }
  }
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    errno = EMSGSIZE;
    return false;
  }
  return true;
}

bool make_socket_pair(unique_fd& ours, unique_fd& theirs) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return false;
  }
  ours.reset(ends[0]);
  theirs.reset(ends[1]);
  return true;
}

bool make_pipe(unique_fd& read_end, unique_fd& write_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return false;
  }
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return true;
}

bool set_nonblocking(int fd) {
  return ::fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

unique_fd make_memory_file(std::string_view content) {
  unique_fd file{::memfd_create("regatta-run", MFD_CLOEXEC)};
  std::size_t done = 0;
  while (file && done < content.size()) {
    const auto size = ::write(file.get(), content.data() + done, content.size() - done);
    if (size <= 0) {
      return {};
    }
    done += static_cast<std::size_t>(size);
  }
  return file;
}

std::string read_memory_file(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    return {};
  }
  std::string content(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < content.size()) {
    const auto size = ::pread(fd, content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (size <= 0) {
      return {};
    }
    done += static_cast<std::size_t>(size);
  }
  return content;
}

}  // namespace regatta::sandbox
