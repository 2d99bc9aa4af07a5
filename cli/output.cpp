// SPDX-License-Identifier: Apache-2.0
#include "cli/output.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace regatta::cli {

bool output::write(std::string_view text) {
  while (!text.empty() && !is_closed_) {
    const auto written = ::write(fd_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      // Somebody else made the shared description non-blocking.
      pollfd ready{fd_, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      is_closed_ = true;
      why_ = errno == EPIPE ? "" : std::strerror(errno);
    }
  }
  return !is_closed_;
}

bool output::is_terminal() const {
  return ::isatty(fd_) == 1;
}

terminal_size output::size() const {
  winsize now{};
  if (::ioctl(fd_, TIOCGWINSZ, &now) != 0 || now.ws_col == 0 || now.ws_row == 0) {
    return {};
  }
  return {now.ws_col, now.ws_row};
}

}  // namespace regatta::cli
