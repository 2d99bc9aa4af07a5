// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which paths of the host a given Python needs, wherever it lies (venv under /tmp, pyenv below a 0700 /root,
/// conda, links), and the environment a candidate gets.
#pragma once

#include "sandbox/run_spec.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace regatta::sandbox {

struct interpreter {
  std::string executable;  ///< Absolute, as given (a venv's `bin/python` stays that, or its site is lost).
  std::vector<read_only_path> readable;  ///< Prefix, base prefix, every link's target, `.pth` and PYTHONPATH
                                         ///< folders below the prefixes or listed.
  std::string version;                   ///< "3.11.7"
  std::string prefix;
  std::string base_prefix;
};

/// Runs the interpreter once (isolated, 10 s limit) to ask it. Empty and `error` filled if it cannot be run, or if
/// sys.path, a `.pth` file or LD_LIBRARY_PATH points outside the prefixes at something not in `listed`: the text
/// names each such path and the option that lists it.
std::optional<interpreter> inspect_interpreter(const std::string& executable, const std::vector<std::string>& listed,
                                               std::string& error);

/// The candidate's environment, from nothing: KernelAgent's allowlist (PATH, PYTHONPATH of existing folders, LANG*,
/// LC_*, PYTHONHASHSEED=0, OMP/MKL/OPENBLAS_NUM_THREADS=1) plus what CUDA and Triton need: LD_LIBRARY_PATH, CUDA_HOME
/// / CUDA_PATH, TRITON_INTERPRET, TORCH_CUDA_ARCH_LIST; and private HOME, TMPDIR, TRITON_CACHE_DIR,
/// TORCH_EXTENSIONS_DIR, TORCHINDUCTOR_CACHE_DIR, XDG_CACHE_HOME below the run's folder.
/// `host` is our own environment; `extra` wins (e.g. TRITON_INTERPRET=1 on a CPU slot).
std::map<std::string, std::string> candidate_environment(const std::map<std::string, std::string>& host,
                                                         const std::map<std::string, std::string>& extra);

/// Where a run's files lie inside the sandbox.
inline constexpr const char* run_folder = "/run/job";
/// Made in it for every run; `candidate_environment` points into them.
inline constexpr const char* run_subfolders[] = {".home", ".tmp", ".cache"};

}  // namespace regatta::sandbox
