// SPDX-License-Identifier: Apache-2.0
/// \file
/// What to run, under which limits, and what came of it.
#pragma once

#include "messages/limits.hpp"
#include "messages/outcome.hpp"
#include "sandbox/probe.hpp"
#include "sandbox/unique_fd.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace regatta::sandbox {

/// A file put into the run's folder before the start, read-only for the candidate (mode 0444).
struct input_file {
  std::string name;  ///< No slash, not `.` or `..`.
  std::string content;
};

/// A path of the host that the run may read, at the same place.
struct read_only_path {
  std::string path;          ///< Absolute. A link is followed and every link on the way stays valid.
  bool is_optional = false;  ///< Skip silently if absent.
};

/// Copied out of the run's folder after its end.
struct kept_artifact {
  std::string name;  ///< As asked for; may have folders (`out/kernel.ptx`).
  std::string content;
  std::string problem;  ///< Why not: "absent", "not a regular file", "over 16 MiB: cut" …
};

struct run_spec {
  /// Program and arguments. `argv[0]` is an absolute path.
  std::vector<std::string> argv;
  /// The whole environment; nothing is inherited. See `sandbox/environment.hpp` for the candidate's.
  std::map<std::string, std::string> environment;
  std::vector<input_file> files;
  std::vector<std::string> keep;
  /// Besides the system's own (/usr, /lib …): the interpreter's prefix, links' targets, caches to seed.
  std::vector<read_only_path> readable;
  /// Device nodes to make usable, e.g. /dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia3. Exactly these.
  std::vector<std::string> devices;
  /// Nothing that waits ready for a later run may be on these devices while this one runs.
  bool is_alone = false;
  run_limits limits;
  bool has_loopback = false;  ///< lo up in the run's own network namespace; there is never another network.
  /// A helper that is spoken to while it runs: stdin is a pipe (`runner::write`), stdout arrives in pieces
  /// (`on_stdout`) and is not kept. Wall limit 0 means none.
  bool is_interactive = false;
  /// Spoken to by another process of ours, which holds the other ends: these become stdin and stdout, taken at the
  /// start (or dropped if there is none). Null: /dev/null, and a pipe that is kept. Not for interactive runs.
  std::shared_ptr<unique_fd> standard_in;
  std::shared_ptr<unique_fd> standard_out;
  /// Wishes to start warm: forked from a Python that has loaded these modules (those that it finds). Where that cannot
  /// be, the run starts as any other, and its result says why.
  std::optional<std::vector<std::string>> preload;
  /// `cuda:90`: that Python has also compiled Triton kernels of ours for this architecture once. Empty: it has not.
  std::string kernel_target;
  /// Folder of the host, also in `readable`: Triton's C helpers, as our own seeding run built them. May not be there yet.
  std::string kernel_helpers;
  /// So many processes for later runs like this one are kept ready on its devices: forked, confined, their GPU up. 0: none.
  std::uint32_t ready = 0;
  /// It is such a process: what it runs comes later.
  bool waits = false;
  /// Work of our own that may be repeated: it ends when a run that `is_alone` comes to its devices.
  bool gives_way = false;
};

/// How the run ended. `judgement` is not ours to say.
struct run_result {
  regatta::outcome outcome = regatta::outcome::sandbox_failed;
  regatta::claim claim = regatta::claim::none;
  int exit_code = -1;       ///< Of the main process; -1 if it did not exit.
  int signal = 0;           ///< That ended the main process; 0 if none.
  std::string reason;       ///< One line: "exit status 1", "timed out after 180 s", "setup: mount proc: …".
  std::string stdout_kept;  ///< Bytes as written: head, a line naming the gap, tail.
  std::string stderr_kept;
  byte_count stdout_bytes = 0;  ///< As written.
  byte_count stderr_bytes = 0;
  std::chrono::system_clock::time_point started_at{};
  std::chrono::microseconds launch{};     ///< start() → candidate's exec.
  std::chrono::microseconds elapsed{};    ///< start() → tree gone.
  std::chrono::microseconds killed_in{};  ///< First kill order → tree gone; 0 if it ended by itself.
  std::chrono::microseconds cpu_time{};   ///< User + system, whole tree as far as the level can tell.
  byte_count peak_memory = 0;
  std::uint32_t left_behind = 0;  ///< Processes still alive when main ended (killed with the tree); as far as known.
  regatta::sandbox::level level = level::none;
  std::string engine = "own";
  bool is_warm = false;
  bool was_ready = false;  ///< Its process had waited for it.
  std::string why_cold;  ///< Although it wished to be warm.
  std::vector<kept_artifact> kept;
};

}  // namespace regatta::sandbox
