// SPDX-License-Identifier: Apache-2.0
#include "cli/text_file.hpp"

#include "cli/problem_check.hpp"
#include "messages/digest.hpp"
#include "messages/error.hpp"
#include "messages/limits.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

namespace regatta::cli {

namespace fs = std::filesystem;

namespace {

struct closer {
  void operator()(std::FILE* x) const { std::fclose(x); }
};

caf::error refuse(const std::string& path, const std::string& got, const std::string& allowed) {
  return fail(ec::invalid_config, path + ": got " + got + ", allowed: " + allowed);
}

/// "nofile.py: cannot be read (No such file or directory), allowed: …".
caf::error cannot_read(const std::string& path, const std::string& why, const std::string& allowed) {
  return fail(ec::invalid_config, path + ": cannot be read (" + why + "), allowed: " + allowed);
}

constexpr const char* readable = "a file that can be read";

std::string kind_name(mode_t mode) {
  if (S_ISDIR(mode)) {
    return "a folder";
  }
  return S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

/// Length of the well-formed sequence at `at`; 0 if there is none.
std::size_t sequence_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U; };
  const unsigned b0 = byte(0);
  const auto is_tail = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  if (b0 < 0x80) {
    return 1;
  }
  if (b0 >= 0xC2 && b0 <= 0xDF) {
    return is_tail(1) ? 2 : 0;
  }
  if (b0 >= 0xE0 && b0 <= 0xEF) {
    const bool is_bad = (b0 == 0xE0 && byte(1) < 0xA0) || (b0 == 0xED && byte(1) > 0x9F);
    return !is_bad && is_tail(1) && is_tail(2) ? 3 : 0;
  }
  if (b0 >= 0xF0 && b0 <= 0xF4) {
    const bool is_bad = (b0 == 0xF0 && byte(1) < 0x90) || (b0 == 0xF4 && byte(1) > 0x8F);
    return !is_bad && is_tail(1) && is_tail(2) && is_tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::size_t first_bad_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto length = sequence_at(text, at);
    if (length == 0) {
      return at;
    }
    at += length;
  }
  return std::string_view::npos;
}

caf::expected<std::string> read_text_file(const std::string& path, std::uint64_t most) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return cannot_read(path, std::strerror(errno), readable);
  }
  if (!S_ISREG(info.st_mode)) {
    return refuse(path, kind_name(info.st_mode), "a regular file");
  }
  const std::unique_ptr<std::FILE, closer> file{std::fopen(path.c_str(), "rbe")};
  if (!file) {
    return cannot_read(path, std::strerror(errno), readable);
  }
  // One byte more than allowed: a file that grows while it is read is caught, too.
  std::string text(static_cast<std::size_t>(most) + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) {
    return cannot_read(path, std::strerror(errno), readable);
  }
  if (text.size() > most) {
    return refuse(path, "more than " + std::to_string(most) + " bytes", "at most that");
  }
  return text;
}

caf::expected<problem_spec> read_problem(const std::string& path) {
  std::error_code error;
  const auto real = fs::canonical(path, error);
  if (error) {
    return cannot_read(path, error.message(), std::string{problem_form});
  }
  auto text = read_text_file(real.string(), problem_bytes);
  if (!text) {
    return text.error();
  }
  problem_spec out;
  out.digest = sha256_hex(*text);
  out.text = text->starts_with("\xEF\xBB\xBF") ? text->substr(3) : std::move(*text);
  if (const auto bad = first_bad_utf8(out.text); bad != std::string_view::npos) {
    return refuse(path, "a byte at offset " + std::to_string(bad) + " that is not UTF-8", "UTF-8");
  }
  if (const auto nul = out.text.find('\0'); nul != std::string::npos) {
    return refuse(path, "a NUL at offset " + std::to_string(nul), "text");
  }
  if (out.text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return refuse(path, "an empty file", std::string{problem_form});
  }
  out.path = real.string();
  out.name = real.stem().string();
  return out;
}

}  // namespace regatta::cli
