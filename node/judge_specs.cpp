// SPDX-License-Identifier: Apache-2.0
#include "node/judge_specs.hpp"

#include "messages/install_paths.hpp"
#include "node/evaluator.hpp"
#include "node/judge_codec.hpp"
#include "node/judge_memory.hpp"
#include "node/sandbox_launcher.hpp"
#include "sandbox/unique_fd.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

namespace regatta {

namespace {

constexpr const char* request_file = "request.json";
/// KernelAgent's names, which candidates may know.
constexpr const char* problem_file = "problem.py";
constexpr const char* candidate_file = "candidate_main.py";
/// The comparator keeps parts of a question up to a size of its own (sandbox/judge/exchange.hpp, kept_answer.hpp), whatever
/// the problem's.
constexpr byte_count comparator_memory = 2 * GiB;
/// Time for the verdict after the candidate's own time is over. Below the lease's grace (10 s, node/run_book.hpp).
constexpr std::chrono::milliseconds verdict_grace{5'000};

/// Two ends of one stream that carries both directions; false and errno if there are none.
bool make_channel(sandbox::run_spec& side, std::shared_ptr<sandbox::unique_fd>& end) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return false;
  }
  end = std::make_shared<sandbox::unique_fd>(ends[0]);
  side.standard_in = std::make_shared<sandbox::unique_fd>(ends[1]);
  side.standard_out = std::make_shared<sandbox::unique_fd>(::fcntl(ends[1], F_DUPFD_CLOEXEC, 0));
  return static_cast<bool>(*side.standard_out);
}

sandbox::run_spec side_spec(const judge_kit& kit, const judge_place& place, std::vector<std::string> arguments,
                            sandbox::input_file subject) {
  sandbox::run_spec spec;
  spec.argv = {place.python.executable, "-s", "-B", "-u"};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  spec.argv.insert(spec.argv.end(), {"--device", place.device == nullptr ? "cpu" : "cuda"});
  spec.environment = run_environment(place.device, place.host_environment);
  spec.files = kit.side_files;
  spec.readable = place.python.readable;
  ask_for_warmth(spec, place.device, {subject.content});
  spec.files.push_back(std::move(subject));
  spec.devices = place.device == nullptr ? std::vector<std::string>{} : place.device->device_nodes;
  spec.limits = place.limits;
  spec.is_alone = place.is_alone;
  return spec;
}

byte_count room_at(const judge_place& place) {
  return question_room(place.limits, memory_of(place.device == nullptr ? 0 : place.device->memory));
}

/// Both sides are on the device at once, and what a batch makes on its way needs memory, too.
timing_host timing_host_of(const judge_place& place) {
  constexpr byte_count parts = 3;
  const auto host = place.limits.memory / 2;
  return place.device == nullptr
             ? timing_host{host, 0}
             : timing_host{std::min(host, std::max(place.device->memory / parts, byte_count{1})), place.device->memory_bytes_per_s};
}

sandbox::run_spec comparator_spec(const judge_kit& kit, const judge_place& place, const judge_question& question) {
  sandbox::run_spec spec;
  spec.argv = {kit.comparator, "--reference-in", "0", "--reference-out", "0",
               "--request", request_file, "--verdict", judge_verdict_file};
  if (!question.is_probe) {
    spec.argv.insert(spec.argv.end(), {"--candidate-in", "1", "--candidate-out", "1"});
  }
  spec.files = {{request_file, judge_request(question, place.limits.wall, room_at(place), timing_host_of(place))}};
  spec.keep = {judge_verdict_file};
  spec.readable = {{kit.comparator, false}};
  spec.limits.wall = place.limits.wall + verdict_grace;
  spec.limits.memory = spec.limits.data = comparator_memory;
  spec.limits.pids = 4;
  return spec;
}

}  // namespace

judge_kit find_judge_kit() {
  namespace fs = std::filesystem;
  judge_kit kit;
  std::error_code error;
  kit.comparator = fs::absolute(fs::path{program_dir()} / "regatta-judge", error).lexically_normal().string();
  if (!fs::exists(kit.comparator, error)) {
    kit.problem = kit.comparator + " is not there";
    return kit;
  }
  const fs::path folder{python_helper("judge")};
  for (const auto& entry : fs::directory_iterator{folder, error}) {
    if (entry.path().extension() == ".py") {
      std::ifstream file{entry.path(), std::ios::binary};
      kit.side_files.push_back({entry.path().filename().string(), {std::istreambuf_iterator<char>{file}, {}}});
    }
  }
  std::ranges::sort(kit.side_files, {}, &sandbox::input_file::name);
  if (error || kit.side_files.empty()) {
    kit.problem = folder.string() + ": " + (error ? error.message() : "no Python file in it");
  }
  return kit;
}

judge_specs make_judge_specs(const judge_kit& kit, const judge_place& place, const judge_question& question,
                             const std::string& problem, const std::string& candidate) {
  judge_specs out;
  out.comparator = comparator_spec(kit, place, question);
  std::vector<std::string> asked{"reference_side.py", "--problem", problem_file, "--mode",
                                 question.terms.is_eval ? "eval" : "as_constructed",
                                 "--limit", std::to_string(room_at(place))};
  if (question.terms.allow_tf32) {
    asked.emplace_back("--allow-tf32");
  }
  out.reference = side_spec(kit, place, std::move(asked), {problem_file, problem});
  bool ok = make_channel(out.reference, out.comparator.standard_in);
  if (!question.is_probe) {
    out.candidate = side_spec(kit, place, {"candidate_side.py", "--candidate", candidate_file, "--stage", question.stage},
                              {candidate_file, candidate});
    ok = ok && make_channel(out.candidate, out.comparator.standard_out);
  }
  out.failure = ok ? "" : std::string{"no channel for the judge: "} + std::strerror(errno);
  return out;
}

}  // namespace regatta
