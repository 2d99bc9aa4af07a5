// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/support/targets.hpp"

#include "tests/sandbox/support/sandbox_fixture.hpp"

#include <arpa/inet.h>
#include <boost/test/unit_test.hpp>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace regatta::sandbox::test {

namespace {

bool has_client(int listener) {
  pollfd waiting{listener, POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

}  // namespace

tcp_target::tcp_target() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  BOOST_REQUIRE(::bind(listener_.get(), raw, size) == 0 && ::listen(listener_.get(), 8) == 0 &&
                ::getsockname(listener_.get(), raw, &size) == 0);
  port_ = ntohs(address.sin_port);
}

bool tcp_target::was_reached() const {
  return has_client(listener_.get());
}

unix_target::unix_target(kind what) : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), kind_(what) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name_ = what == kind::path ? host().folder + "/open.sock" : "regatta-test-" + std::to_string(::getpid());
  const std::size_t offset = what == kind::path ? 0 : 1;
  std::memcpy(address.sun_path + offset, name_.data(), name_.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + offset + name_.size());
  BOOST_REQUIRE(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                ::listen(listener_.get(), 8) == 0);
  if (what == kind::path) {
    ::chmod(name_.c_str(), 0777);
  }
}

unix_target::~unix_target() {
  if (kind_ == kind::path) {
    ::unlink(name_.c_str());
  }
}

bool unix_target::was_reached() const {
  return has_client(listener_.get());
}

}  // namespace regatta::sandbox::test
