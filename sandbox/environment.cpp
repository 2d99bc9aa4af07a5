// SPDX-License-Identifier: Apache-2.0
#include "sandbox/interpreter.hpp"

#include <sys/stat.h>

#include <sstream>

namespace regatta::sandbox {

namespace {

bool is_taken_over(const std::string& name) {
  // KernelAgent's list, then what CUDA and Triton need to be found.
  static const char* const exact[] = {"PATH",      "PYTHONPATH",       "LD_LIBRARY_PATH",     "CUDA_HOME",
                                      "CUDA_PATH", "TRITON_INTERPRET", "TORCH_CUDA_ARCH_LIST"};
  for (const char* known : exact) {
    if (name == known) {
      return true;
    }
  }
  return name.starts_with("LANG") || name.starts_with("LC_");
}

std::string existing_folders(const std::string& list) {
  std::istringstream in{list};
  std::string kept;
  for (std::string folder; std::getline(in, folder, ':');) {
    struct stat info {};
    if (!folder.empty() && folder.front() == '/' && ::stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
      kept += (kept.empty() ? "" : ":") + folder;
    }
  }
  return kept;
}

}  // namespace

std::map<std::string, std::string> candidate_environment(const std::map<std::string, std::string>& host,
                                                         const std::map<std::string, std::string>& extra) {
  std::map<std::string, std::string> made;
  for (const auto& [name, value] : host) {
    if (is_taken_over(name)) {
      made[name] = value;
    }
  }
  if (const auto found = made.find("PYTHONPATH"); found != made.end()) {
    found->second = existing_folders(found->second);
    if (found->second.empty()) {
      made.erase(found);
    }
  }
  made.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  made["PYTHONHASHSEED"] = "0";
  for (const char* threads : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    made[threads] = "1";
  }
  const std::string folder = run_folder;
  made["HOME"] = folder + "/.home";
  made["TMPDIR"] = folder + "/.tmp";
  made["XDG_CACHE_HOME"] = folder + "/.cache";
  made["TRITON_CACHE_DIR"] = folder + "/.cache/triton";
  made["TORCH_EXTENSIONS_DIR"] = folder + "/.cache/torch_extensions";
  made["TORCHINDUCTOR_CACHE_DIR"] = folder + "/.cache/inductor";
  for (const auto& [name, value] : extra) {
    made[name] = value;
  }
  return made;
}

}  // namespace regatta::sandbox
