// SPDX-License-Identifier: Apache-2.0
#include "actors/event_endpoint.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace regatta {

namespace {

constexpr std::string_view ipc = "ipc://";
constexpr std::string_view tcp = "tcp://";
/// With the closing NUL (unix(7)).
constexpr std::size_t longest_socket_path = sizeof(sockaddr_un::sun_path) - 1;

caf::error io_error(const std::string& what, const std::string& path) {
  return fail(ec::io_failed, what + " \"" + path + "\": " + std::strerror(errno));
}

bool has_listener(const sockaddr_un& address) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return true;
  }
  const bool is_refused =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno == ECONNREFUSED;
  ::close(fd);
  return !is_refused;
}

caf::error clear_place(const std::string& path) {
  struct stat facts = {};
  if (::lstat(path.c_str(), &facts) != 0) {
    return errno == ENOENT ? caf::error{} : io_error("cannot look at", path);
  }
  if (!S_ISSOCK(facts.st_mode)) {
    return fail(ec::io_failed, "cannot put the event socket at \"" + path + "\": something else lies there");
  }
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(address.sun_path), longest_socket_path);
  if (has_listener(address)) {
    return fail(ec::io_failed, "cannot put the event socket at \"" + path + "\": another process listens there");
  }
  return ::unlink(path.c_str()) == 0 || errno == ENOENT ? caf::error{} : io_error("cannot replace", path);
}

caf::error prepare_folder(const std::string& path, bool is_made) {
  const auto folder = path.substr(0, path.rfind('/'));
  std::error_code ignored;
  if (!is_made) {
    // A slip in an address is no wish for a folder.
    return folder.empty() || std::filesystem::is_directory(folder, ignored)
               ? caf::error{}
               : fail(ec::io_failed, "cannot put the event socket at \"" + path + "\": there is no folder \"" + folder + "\"");
  }
  std::filesystem::create_directories(std::filesystem::path{folder}.parent_path(), ignored);
  return folder.empty() || ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST ? caf::error{}
                                                                                 : io_error("cannot make", folder);
}

caf::expected<std::string> prepare_ipc(const std::string& endpoint, bool makes_folder) {
  const auto path = socket_path(endpoint);
  if (path.size() < 2 || path.front() != '/') {
    return fail(ec::invalid_config, "event endpoint \"" + endpoint + "\": ipc:// wants an absolute path");
  }
  if (path.size() > longest_socket_path) {
    return fail(ec::invalid_config, "event endpoint \"" + endpoint + "\": its path has " + std::to_string(path.size()) +
                                        " bytes, a socket's may have " + std::to_string(longest_socket_path));
  }
  if (auto error = prepare_folder(path, makes_folder)) {
    return error;
  }
  if (auto error = clear_place(path)) {
    return error;
  }
  return endpoint;
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

caf::expected<std::string> prepare_tcp(const std::string& endpoint) {
  const auto address = std::string_view{endpoint}.substr(tcp.size());
  const auto colon = address.rfind(':');
  if (colon == std::string_view::npos) {
    return fail(ec::invalid_config, "event endpoint \"" + endpoint + "\": tcp:// wants HOST:PORT");
  }
  const auto host = address.substr(0, colon);
  const auto port = address.substr(colon + 1);
  if (!is_loopback(host)) {
    return fail(ec::invalid_config, "event endpoint \"" + endpoint +
                                        "\": only loopback addresses are served, as the "
                                        "event socket has no authentication and events carry prompts and candidates");
  }
  std::uint16_t number = 0;
  const auto [end, why] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (port != "*" && (why != std::errc{} || end != port.data() + port.size() || port.empty())) {
    return fail(ec::invalid_config, "event endpoint \"" + endpoint + "\": got port \"" + std::string{port} +
                                        "\", allowed are 0 to 65535 and *");
  }
  return std::string{tcp} + (host == "localhost" ? "127.0.0.1" : std::string{host}) + ":" +
         (number == 0 ? "*" : std::string{port});
}

}  // namespace

std::string socket_path(std::string_view endpoint) {
  return endpoint.starts_with(ipc) ? std::string{endpoint.substr(ipc.size())} : std::string{};
}

caf::expected<std::string> prepare_event_endpoint(const std::string& text, bool makes_folder) {
  if (text.starts_with(ipc)) {
    return prepare_ipc(text, makes_folder);
  }
  if (text.starts_with(tcp)) {
    return prepare_tcp(text);
  }
  return fail(ec::invalid_config, "event endpoint \"" + text + "\": allowed are ipc:///PATH and tcp://127.0.0.1:PORT");
}

}  // namespace regatta
