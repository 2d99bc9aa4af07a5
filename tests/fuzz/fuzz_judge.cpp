// SPDX-License-Identifier: Apache-2.0
// The candidate's side of the judge: its bytes are answers, or they are a contract violation or an end. First byte: 'r' for
// bytes as they go over the pipe; else heads and bodies by turns, parted by zero bytes, which are put into frames here.
#include "sandbox/judge/seeds.hpp"
#include "sandbox/judge/session.hpp"
#include "tests/fuzz/demands.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <string>

using namespace regatta::judge;
using regatta::fuzz::demand;

// In seeds.cpp's place: an answer must echo the question's id.
std::uint64_t regatta::judge::draw_seed() {
  return 1;
}

namespace {

constexpr std::string_view reference_hello_head =
    R"({"op":"hello","side":"reference","python":"3","torch":"2","device":"cpu","mode":"eval","init_args":{"t":"list","v":[]},)"
    R"("inputs":{"t":"list","v":[{"t":"tensor","dtype":"float32","shape":[2],"bytes":8}]},"is_random":false})";
constexpr std::string_view reference_answer_head =
    R"({"op":"answer","id":1,"inputs":{"t":"list","v":[{"t":"tensor","dtype":"float32","shape":[2],"bytes":8}]},)"
    R"("outputs":{"t":"tuple","v":[{"t":"tensor","dtype":"float32","shape":[2,3],"bytes":24},{"t":"int","v":"7"}]},)"
    R"("exact":{"t":"tuple","v":[{"t":"tensor","dtype":"float64","shape":[2,3],"bytes":48},{"t":"none"}]},)"
    R"("inputs_after":[[0,{"t":"tensor","dtype":"float32","shape":[2],"bytes":8}]],"parameters":[]})";
constexpr std::string_view candidate_hello_head =
    R"({"op":"hello","side":"candidate","python":"3","torch":"2","device":"cpu","defines":["ModelNew"]})";

/// Inputs, then eager, exact, inputs after.
std::string reference_body() {
  std::string out;
  const auto add = [&](auto x) { out.append(reinterpret_cast<const char*>(&x), sizeof x); };
  for (int i = 0; i < 8; ++i) {
    add(static_cast<float>(i));
  }
  for (int i = 2; i < 8; ++i) {
    add(static_cast<double>(i));
  }
  add(0.5F);
  add(0.25F);
  return out;
}

std::string frame_of(std::string_view head, std::string_view body) {
  std::string out(frame_prefix_bytes, '\0');
  const auto head_bytes = static_cast<std::uint32_t>(head.size());
  const std::uint64_t body_bytes = body.size();
  std::memcpy(out.data(), &head_bytes, sizeof head_bytes);
  std::memcpy(out.data() + 4, &body_bytes, sizeof body_bytes);
  return out.append(head).append(body);
}

/// A head goes to the first zero byte, its body to the next zero byte that a brace follows.
std::string frames_of(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto head = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(head.size() + 1, text.size()));
    const auto body = text.substr(0, text.find(std::string_view{"\0{", 2}));
    text.remove_prefix(std::min(body.size() + 1, text.size()));
    out += frame_of(head, body);
  }
  return out;
}

/// A side that has said everything before it was asked anything.
class said_already {
public:
  explicit said_already(std::string_view bytes) {
    demand(::pipe2(answers_.data(), O_CLOEXEC) == 0 && ::pipe2(questions_.data(), O_CLOEXEC) == 0, "pipes");
    ::fcntl(answers_[1], F_SETPIPE_SZ, 1 << 20);
    demand(::write(answers_[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "room in a pipe");
    ::close(answers_[1]);
  }
  said_already(const said_already&) = delete;
  said_already& operator=(const said_already&) = delete;
  ~said_already() {
    for (const int fd : {answers_[0], questions_[0], questions_[1]}) {
      ::close(fd);
    }
  }
  channel open(side who) const { return {who, answers_[0], questions_[1], 1 << 16}; }

private:
  std::array<int, 2> answers_{-1, -1}, questions_{-1, -1};
};

void check_verdict(const judge_verdict& x) {
  switch (x.judgement) {
    case ending::correct:
    case ending::mismatch: demand(!x.trials.empty(), "who was compared was asked"); break;
    case ending::raised:
    case ending::compile_failed:
    case ending::contract_violation:
    case ending::candidate_gone: demand(!x.reason.empty(), "a failure has a reason"); break;
    // The reference here has no parameters to give.
    case ending::problem_failed: demand(x.reason.find("op answer where parameters") != std::string::npos, "blame"); break;
    default: demand(false, "no such end");
  }
  demand(x.reason.find('\n') == std::string::npos, "a reason is one line");
  const auto text = write_verdict(x);
  demand(regatta::fuzz::is_utf8(text) && text.size() < 100'000, "a verdict is a text of reasonable size");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto body = reference_body();
  static const auto answer = frame_of(reference_answer_head, body);
  static const auto reference_says = frame_of(reference_hello_head, "") + answer + answer + answer + answer;
  const auto bytes = regatta::fuzz::text_of(data, size);
  if (bytes.empty()) {
    return 0;
  }
  const auto rest = bytes.substr(1);
  const said_already reference{reference_says};
  const said_already candidate{bytes.front() == 'r' ? std::string{rest} : frame_of(candidate_hello_head, "") + frames_of(rest)};
  judge_request request;
  request.trials = 2;
  request.body_limit = 1 << 16;
  request.question_timeout = request.hello_timeout = std::chrono::milliseconds{2000};
  auto from_reference = reference.open(side::reference);
  auto from_candidate = candidate.open(side::candidate);
  check_verdict(judge_candidate(request, from_reference, from_candidate));
  return 0;
}
