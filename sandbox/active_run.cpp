// SPDX-License-Identifier: Apache-2.0
#include "sandbox/active_run.hpp"

#include "sandbox/artifacts.hpp"
#include "sandbox/interpreter.hpp"
#include "sandbox/scratch_folder.hpp"
#include "sandbox/wire.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace regatta::sandbox {

namespace {

constexpr std::size_t piece_size = 64 * KiB;
/// Per wake-up and stream: two full pipes.
constexpr int pieces_per_turn = 2;
/// After the end: the largest pipe that a candidate can make is 1 MiB.
constexpr int pieces_at_end = 32;
/// From `start` to the candidate's exec. Measured: 2–8 ms; the rest is for a host on its knees or a slow network
/// file system under the interpreter.
constexpr std::chrono::seconds launch_timeout{30};

/// From the order to pid 1 until the whole group is told, too. A tree is gone within 0.2 s (torch, a CUDA context);
/// before that, waking all its members would only hold up those who wait for the end.
constexpr std::chrono::milliseconds group_kill_grace{200};

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

}  // namespace

active_run::active_run(std::uint64_t number, run_spec what, callbacks then, std::shared_ptr<kill_switch> end)
    : id(number), spec(std::move(what)), calls(std::move(then)), ender(std::move(end)) {}

std::string active_run::refusal_of(const run_spec& spec) {
  if (spec.argv.empty() || spec.argv.front().empty() || spec.argv.front().front() != '/') {
    return "argv[0] must be an absolute path";
  }
  for (const auto& argument : spec.argv) {
    if (has_nul(argument)) {
      return "NUL byte in an argument";
    }
  }
  for (const auto& [key, value] : spec.environment) {
    if (key.empty() || key.find('=') != std::string::npos || has_nul(key) || has_nul(value)) {
      return "environment variable with an impossible name or value";
    }
  }
  for (const auto& file : spec.files) {
    const bool is_ours =
        std::find(std::begin(run_subfolders), std::end(run_subfolders), file.name) != std::end(run_subfolders);
    if (!is_plain_name(file.name) || is_ours) {
      return "input file with a name that cannot be one";
    }
  }
  for (const auto& path : spec.readable) {
    if (path.path.empty() || path.path.front() != '/' || has_nul(path.path)) {
      return "readable path is not absolute: " + path.path;
    }
  }
  return {};
}

void active_run::take_output(int which, std::string_view bytes) {
  if (which == 2) {
    stderr_.feed(bytes);
  } else if (spec.is_interactive) {
    calls.on_stdout(bytes);
    return;
  } else {
    stdout_.feed(bytes);
    matcher_.feed(bytes);
  }
  if (!spec.is_interactive && spec.limits.output > 0 && stdout_.total() + stderr_.total() > spec.limits.output) {
    ender->order(kill_reason::output_limit);
  }
}

void active_run::read_output(int which) {
  auto& end = which == 2 ? err : out;
  static thread_local char piece[piece_size];
  for (int i = 0; end && i < pieces_per_turn; ++i) {
    const auto size = ::read(end.get(), piece, sizeof piece);
    if (size > 0) {
      take_output(which, {piece, static_cast<std::size_t>(size)});
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
      end.reset();
    } else {
      return;
    }
  }
}

void active_run::drain_output() {
  for (const int which : {1, 2}) {
    for (int i = 0; i < pieces_at_end / pieces_per_turn; ++i) {
      read_output(which);
    }
  }
}

void active_run::write_input(const std::string& bytes) {
  if (!in && has_ends) {
    return;
  }
  input_.append(bytes);
  flush_input();
}

void active_run::flush_input() {
  while (in && has_unwritten()) {
    const auto size = ::write(in.get(), input_.data() + written_, input_.size() - written_);
    if (size < 0) {
      if (errno != EAGAIN && errno != EINTR) {
        in.reset();
      }
      break;
    }
    written_ += static_cast<std::size_t>(size);
  }
  if (!has_unwritten() || (!in && has_ends)) {
    input_.clear();
    written_ = 0;
  }
}

void active_run::read_records() {
  init_record record;
  received message;
  while (control && receive_message(control.get(), &record, sizeof record, message)) {
    if (message.size != sizeof record) {
      control.reset();
      return;
    }
    record.step[sizeof record.step - 1] = '\0';
    on_record(record, message.descriptors);
  }
}

void active_run::on_record(const init_record& record, std::vector<unique_fd>& descriptors) {
  switch (record.what) {
    case init_record::kind::job_folder:
      if (!descriptors.empty()) {
        job_ = std::move(descriptors.front());
        folder_on_host_ = record.step;
      }
      break;
    case init_record::kind::started:
      started_ = record;
      break;
    case init_record::kind::failed:
      setup_failure_ = std::string{record.step} + ": " + std::strerror(record.code);
      break;
    case init_record::kind::ended:
      ended_ = record;
      break;
    case init_record::kind::memory_exceeded:
      memory_exceeded_ = true;
      break;
    case init_record::kind::pids_exceeded:
      pids_exceeded_ = true;
      break;
    case init_record::kind::disk_exceeded:
      disk_exceeded_ = true;
      break;
    case init_record::kind::overdue:
      is_overdue_ = true;
      break;
    case init_record::kind::stopped:
      // No pid namespace: the tree is gone now, the folder goes when we hang up.
      is_known_gone_ = true;
      kept_ = copy_artifacts(job_.get(), spec.keep);
      control.reset();
      break;
  }
}

void active_run::remove_left_folder() {
  if (!is_known_gone_ && job_) {
    kept_ = copy_artifacts(job_.get(), spec.keep);
    remove_scratch_folder({folder_on_host_, std::move(job_)});
  }
}

std::optional<active_run::clock::time_point> active_run::deadline() const {
  if (const auto ordered = ender->ordered_at()) {
    return is_armed && !is_group_killed_ ? std::optional{*ordered + group_kill_grace} : std::nullopt;
  }
  if (!started_) {
    return asked_at_ + launch_timeout;
  }
  if (spec.limits.wall.count() == 0) {
    return std::nullopt;
  }
  return clock::time_point{std::chrono::nanoseconds{started_->at_ns}} + spec.limits.wall;
}

void active_run::on_deadline() {
  if (ender->reason()) {
    is_group_killed_ = true;
    ender->kill_group();
    return;
  }
  ender->order(started_ ? kill_reason::wall_limit : kill_reason::launch_limit);
}

void active_run::take_over(active_run& waiting) {
  control = std::move(waiting.control);
  link = std::move(waiting.link);
  leaf = std::move(waiting.leaf);
  job_ = std::move(waiting.job_);
  slot = std::exchange(waiting.slot, std::nullopt);
  zygote = std::exchange(waiting.zygote, std::nullopt);
  is_armed = was_ready = true;
  started_ = init_record{};
  started_->what = init_record::kind::started;
  started_->at_ns = monotonic_ns();
}

std::string active_run::put_files(const std::vector<input_file>& files) const {
  for (const auto& file : files) {
    const unique_fd made{
        ::openat(job_.get(), file.name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0444)};
    if (!made || ::fchmod(made.get(), 0444) != 0) {  // our umask is not the run's
      return "create " + file.name + ": " + std::strerror(errno);
    }
    for (std::size_t done = 0; done < file.content.size();) {
      const auto size = ::write(made.get(), file.content.data() + done, file.content.size() - done);
      if (size <= 0) {
        return "write " + file.name + ": " + std::strerror(errno);
      }
      done += static_cast<std::size_t>(size);
    }
  }
  return {};
}

run_result active_run::result(const confinement& walls, const cgroup_usage& usage, clock::time_point now) {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  run_result result;
  result.level = walls.level;
  result.is_warm = zygote.has_value();
  result.was_ready = was_ready;
  result.why_cold = why_cold;
  result.started_at = started_at_;
  result.elapsed = duration_cast<microseconds>(now - asked_at_);
  if (started_) {
    result.launch =
        duration_cast<microseconds>(clock::time_point{std::chrono::nanoseconds{started_->at_ns}} - asked_at_);
  }
  if (const auto ordered = ender->ordered_at(); ordered && is_armed) {
    result.killed_in = duration_cast<microseconds>(now - *ordered);
  }
  const auto reported_cpu = microseconds{ended_ ? ended_->cpu_us : 0};
  result.cpu_time = std::max(usage.cpu, reported_cpu);
  result.peak_memory = std::max<byte_count>(usage.peak, ended_ ? ended_->peak_bytes : 0);
  result.left_behind = ended_ ? ended_->left_behind : 0;

  end_facts facts;
  facts.setup_failure = setup_failure_;
  facts.wait_status = ended_ ? std::optional<int>{ended_->code} : std::nullopt;
  facts.killed = ender->reason();
  facts.has_started = started_.has_value();
  facts.is_overdue = is_overdue_;
  facts.memory_exceeded = memory_exceeded_;
  facts.pids_exceeded = pids_exceeded_;
  facts.disk_exceeded = disk_exceeded_;
  facts.oom_killed = usage.has_killed;
  facts.is_data_limited = spec.limits.data > 0 && !walls.memory_group;
  facts.says_memory_error = stderr_.last(4 * KiB).find("MemoryError") != std::string_view::npos;
  facts.cpu_time = reported_cpu;
  facts.output = spec.is_interactive ? 0 : stdout_.total() + stderr_.total();
  auto verdict = judge_end(facts, spec.limits);
  result.outcome = verdict.outcome;
  result.exit_code = verdict.exit_code;
  result.signal = verdict.signal;
  result.reason = std::move(verdict.reason);
  result.claim = verdict.outcome == outcome::exited ? matcher_.finish() : claim::none;
  result.stdout_bytes = stdout_.total();
  result.stderr_bytes = stderr_.total();
  result.stdout_kept = stdout_.text();
  result.stderr_kept = stderr_.text();
  result.kept = walls.namespaces ? copy_artifacts(job_.get(), spec.keep) : std::move(kept_);
  return result;
}

}  // namespace regatta::sandbox
