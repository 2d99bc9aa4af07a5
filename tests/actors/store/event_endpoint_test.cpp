// SPDX-License-Identifier: Apache-2.0
#include "actors/event_endpoint.hpp"

#include "tests/actors/store/scratch_folder.hpp"
#include "tests/actors/store/why.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace regatta;
using namespace regatta::test;

namespace {

std::string refusal(const std::string& endpoint) {
  const auto answer = prepare_event_endpoint(endpoint);
  BOOST_REQUIRE_MESSAGE(!answer, endpoint);
  return why(answer);
}

int listen_at(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  BOOST_REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  BOOST_REQUIRE(::listen(fd, 1) == 0);
  return fd;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(event_endpoints)

BOOST_AUTO_TEST_CASE(tcp_is_served_on_loopback_only_and_the_refusal_says_why) {
  BOOST_TEST(*prepare_event_endpoint("tcp://127.0.0.1:0") == "tcp://127.0.0.1:*");
  BOOST_TEST(*prepare_event_endpoint("tcp://localhost:*") == "tcp://127.0.0.1:*");
  BOOST_TEST(*prepare_event_endpoint("tcp://[::1]:5555") == "tcp://[::1]:5555");
  for (const std::string open : {"tcp://0.0.0.0:5555", "tcp://*:5555", "tcp://10.0.0.1:1", "tcp://127.evil.org:1"}) {
    BOOST_TEST(refusal(open).find("no authentication") != std::string::npos, open);
  }
  BOOST_TEST(refusal("tcp://127.0.0.1:70000").find("allowed are 0 to 65535") != std::string::npos);
  BOOST_TEST(refusal("tcp://127.0.0.1").find("HOST:PORT") != std::string::npos);
  BOOST_TEST(refusal("udp://127.0.0.1:1").find("allowed are ipc:///PATH") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_path_that_no_socket_can_have_is_refused_with_both_lengths) {
  const auto text = refusal("ipc:///" + std::string(110, 'x'));
  BOOST_TEST(text.find("has 111 bytes, a socket's may have 107") != std::string::npos, text);
  BOOST_TEST(refusal("ipc://relative").find("absolute") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(our_own_folder_is_made_private_and_any_other_must_be_there) {
  scratch_folder root;
  const auto text = refusal("ipc://" + root.path + "/a/events/e.sock");
  BOOST_TEST(text.find("there is no folder \"" + root.path + "/a/events\"") != std::string::npos, text);
  BOOST_TEST(!std::filesystem::exists(root.path + "/a"));
  BOOST_REQUIRE(prepare_event_endpoint("ipc://" + root.path + "/a/events/e.sock", true));
  struct stat facts = {};
  BOOST_REQUIRE(::stat((root.path + "/a/events").c_str(), &facts) == 0);
  BOOST_TEST((facts.st_mode & 0777U) == 0700U);
}

BOOST_AUTO_TEST_CASE(a_stale_socket_is_replaced_a_live_one_and_a_file_are_not) {
  scratch_folder root;
  const auto path = root.path + "/e.sock";
  const int fd = listen_at(path);
  BOOST_TEST(refusal("ipc://" + path).find("another process listens there") != std::string::npos);
  ::close(fd);
  BOOST_TEST(static_cast<bool>(prepare_event_endpoint("ipc://" + path)));
  BOOST_TEST(!std::filesystem::exists(path));
  std::ofstream{path} << "mine";
  BOOST_TEST(refusal("ipc://" + path).find("something else lies there") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
