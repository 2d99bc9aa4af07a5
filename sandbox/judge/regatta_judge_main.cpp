// SPDX-License-Identifier: Apache-2.0
// regatta-judge: one request, both sides on descriptors, one verdict. Request and verdict go by stdin and stdout, or by
// files where those two are the sides' channels.
#include "sandbox/judge/session.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace regatta::judge;

constexpr int exit_internal = 1;
constexpr int exit_usage = 2;
constexpr std::size_t most_request_bytes = std::size_t{1} << 20;

/// In: what we read, the side's answers. Out: what we write, questions.
struct arguments {
  const char* request = nullptr;  ///< Files; null: stdin, stdout.
  const char* verdict = nullptr;
  int reference_in = -1, reference_out = -1, candidate_in = -1, candidate_out = -1;
};

int usage(const std::string& what) {
  std::fprintf(stderr,
               "regatta-judge: %s\n"
               "Usage: regatta-judge --reference-in FD --reference-out FD [--candidate-in FD --candidate-out FD]\n"
               "                     [--request FILE] [--verdict FILE]\n"
               "Reads answers from -in and writes questions to -out; a JSON request on stdin, a verdict on stdout.\n",
               what.c_str());
  return exit_usage;
}

std::optional<arguments> parse_arguments(int argc, char** argv) {
  arguments out;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i], text = argv[i + 1];
    if (name == "--request" || name == "--verdict") {
      (name == "--request" ? out.request : out.verdict) = argv[i + 1];
      continue;
    }
    int* const place = name == "--reference-in"    ? &out.reference_in
                       : name == "--reference-out" ? &out.reference_out
                       : name == "--candidate-in"  ? &out.candidate_in
                       : name == "--candidate-out" ? &out.candidate_out
                                                   : nullptr;
    int value = -1;
    const auto got = std::from_chars(text.data(), text.data() + text.size(), value);
    if (place == nullptr || got.ec != std::errc{} || got.ptr != text.data() + text.size() || value < 0) {
      return std::nullopt;
    }
    *place = value;
  }
  const bool is_good = argc % 2 == 1 && out.reference_in >= 0 && out.reference_out >= 0;
  return is_good ? std::optional{out} : std::nullopt;
}

std::optional<std::string> read_all(int fd) {
  std::string out;
  char piece[4096];
  for (;;) {
    const auto size = ::read(fd, piece, sizeof piece);
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size <= 0) {
      return size == 0 ? std::optional{out} : std::nullopt;
    }
    out.append(piece, static_cast<std::size_t>(size));
    if (out.size() > most_request_bytes) {
      return std::nullopt;
    }
  }
}

/// False and errno.
bool write_all(const char* path, const std::string& text) {
  auto* const file = path == nullptr ? stdout : std::fopen(path, "wb");
  const bool is_written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return file != nullptr && (path == nullptr ? std::fflush(file) : std::fclose(file)) == 0 && is_written;
}

int run(const arguments& fds, const judge_request& request) {
  channel reference{side::reference, fds.reference_in, fds.reference_out, request.body_limit};
  judge_verdict verdict;
  if (request.kind == request_kind::probe) {
    verdict = probe_problem(request, reference);
  } else {
    channel candidate{side::candidate, fds.candidate_in, fds.candidate_out, request.body_limit};
    verdict = request.kind == request_kind::time ? time_candidate(request, reference, candidate)
                                                 : judge_candidate(request, reference, candidate);
  }
  return write_all(fds.verdict, write_verdict(verdict) + "\n") ? 0 : exit_internal;
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
// LeakSanitizer looks at its process by ptrace, which the sandbox forbids; it then ends with an error of its own.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

int main(int argc, char** argv) {
  const auto fds = parse_arguments(argc, argv);
  if (!fds) {
    return usage("wants descriptors");
  }
  std::signal(SIGPIPE, SIG_IGN);
  const int from = fds->request == nullptr ? STDIN_FILENO : ::open(fds->request, O_RDONLY | O_CLOEXEC);
  const auto text = from < 0 ? std::nullopt : read_all(from);
  if (!text) {
    return usage("no request");
  }
  try {
    const auto request = read_request(*text);
    if (request.kind != request_kind::probe && (fds->candidate_in < 0 || fds->candidate_out < 0)) {
      return usage("to judge or time, it wants a candidate's descriptors");
    }
    return run(*fds, request);
  } catch (const malformed& x) {
    return usage(x.what);
  } catch (const std::exception& x) {
    std::fprintf(stderr, "regatta-judge: %s\n", x.what());
    return exit_internal;
  }
}
