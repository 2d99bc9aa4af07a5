// SPDX-License-Identifier: Apache-2.0
#include "node/gpu_seed.hpp"

#include "messages/install_paths.hpp"
#include "node/sandbox_launcher.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

namespace regatta {

namespace fs = std::filesystem;

namespace {

constexpr const char* program_name = "gpu_seed.py";
constexpr const char* packed_name = "helpers.bin";
/// 336 launchers of 0.25 s each on one core, and an import of torch from a cold disk.
constexpr std::chrono::seconds seeding_wall{180};

struct helper {
  std::string_view folder, name, content;
};

bool is_plain(std::string_view text) {
  return !text.empty() && text.front() != '.' && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

/// Cuts `text` up to `end`, which is left out; false if that is not in it.
bool cut(std::string_view& text, char end, std::string_view& piece) {
  const auto at = text.find(end);
  if (at == std::string_view::npos) {
    return false;
  }
  piece = text.substr(0, at);
  text.remove_prefix(at + 1);
  return true;
}

bool read_number(std::string_view text, std::size_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

/// False unless it is whole and has nothing that is not as it should be.
bool read_all(std::string_view packed, std::vector<helper>& out) {
  for (std::string_view line; cut(packed, '\n', line);) {
    helper each;
    std::size_t size = 0;
    if (!cut(line, ' ', each.folder)) {
      return false;
    }
    if (each.folder == "end") {
      return read_number(line, size) && size == out.size() && packed.empty() && !out.empty();
    }
    if (!cut(line, ' ', each.name) || !read_number(line, size) || size > packed.size() || !is_plain(each.folder) ||
        !is_plain(each.name)) {
      return false;
    }
    each.content = packed.substr(0, size);
    packed.remove_prefix(size);
    out.push_back(each);
  }
  return false;
}

}  // namespace

bool has_kernel_helpers(const std::string& folder) {
  std::error_code ignored;
  return fs::is_directory(folder, ignored);
}

sandbox::run_spec seeding_spec(const gpu& device, const sandbox::interpreter& python,
                               const std::map<std::string, std::string>& host_environment, const std::string& program) {
  sandbox::run_spec spec;
  spec.argv = {python.executable, "-s", "-B", "-u", program_name};
  spec.environment = run_environment(&device, host_environment);
  spec.files = {{program_name, program}};
  spec.keep = {packed_name};
  spec.readable = python.readable;
  spec.devices = device.device_nodes;
  spec.limits.wall = seeding_wall;
  spec.gives_way = true;
  return spec;
}

std::string store_kernel_helpers(std::string_view packed, const std::string& folder) {
  std::vector<helper> helpers;
  if (!read_all(packed, helpers)) {
    return "what the seeding run left cannot be read";
  }
  std::error_code error;
  const fs::path made{folder + ".made-by-" + std::to_string(::getpid())};
  fs::remove_all(made, error);
  for (const auto& each : helpers) {
    fs::create_directories(made / each.folder, error);
    std::ofstream file{made / each.folder / each.name, std::ios::binary};
    file.write(each.content.data(), static_cast<std::streamsize>(each.content.size()));
    if (error || !file.flush()) {
      fs::remove_all(made, error);
      return "cannot write below " + folder;
    }
  }
  // Runs read it under another uid, whatever our umask is.
  constexpr auto readable = fs::perms::group_read | fs::perms::others_read;
  fs::permissions(made, readable | fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add, error);
  for (const auto& entry : fs::recursive_directory_iterator{made, error}) {
    const bool is_folder = entry.is_directory(error);
    fs::permissions(entry.path(), is_folder ? readable | fs::perms::group_exec | fs::perms::others_exec : readable,
                    fs::perm_options::add, error);
  }
  // Another process of ours may have been faster: then its folder stays.
  fs::rename(made, folder, error);
  if (error) {
    fs::remove_all(made, error);
  }
  return has_kernel_helpers(folder) ? "" : "cannot make " + folder;
}

void seed_kernel_helpers(sandbox::runner& runner, const gpu& device, const sandbox::interpreter& python,
                         const std::map<std::string, std::string>& host_environment) {
  const auto& folder = device.kernel_helpers;
  if (folder.empty() || has_kernel_helpers(folder)) {
    return;
  }
  std::ifstream file{python_helper(program_name), std::ios::binary};
  const std::string program{std::istreambuf_iterator<char>{file}, {}};
  runner.start(seeding_spec(device, python, host_environment, program), [folder](const sandbox::run_result& end) {
    const auto kept = std::ranges::find(end.kept, packed_name, &sandbox::kept_artifact::name);
    if (end.outcome == outcome::exited && kept != end.kept.end() && kept->problem.empty()) {
      store_kernel_helpers(kept->content, folder);
    }
  });
}

}  // namespace regatta
