// SPDX-License-Identifier: Apache-2.0
#include "actors/run_log.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <variant>

namespace regatta {

namespace {

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F;
}

/// C1 controls (U+0080 … U+009F) are two bytes in UTF-8; some terminals obey them.
bool is_c1_at(std::string_view text, std::size_t i) {
  return text[i] == '\xC2' && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
         static_cast<unsigned char>(text[i + 1]) <= 0x9F;
}

std::string number(std::uint64_t x) {
  return std::to_string(x);
}

std::string in_round(std::uint32_t round) {
  return "round " + number(round) + ": ";
}

std::string after(const char* mark, const std::string& text) {
  return text.empty() ? std::string{} : mark + text;
}

std::string tokens(const token_usage& x) {
  if (!x.input_tokens && !x.output_tokens) {
    return {};
  }
  return ", " + number(x.input_tokens.value_or(0)) + " tokens in, " + number(x.output_tokens.value_or(0)) + " out";
}

struct teller {
  std::string operator()(const race_started& x) const {
    return "race started: problem " + x.spec.problem.name + ", stage " + x.spec.stage.name + ", " +
           number(x.spec.workers.size()) + " workers, " + number(x.spec.rounds) + " rounds, accept " +
           to_string(x.spec.accept);
  }
  std::string operator()(const worker_started& x) const {
    return "start " + number(x.start) + " on " + x.node.text + " at round " + number(x.round) + ": " +
           x.choice.provider + "/" + x.choice.model + ", variant " + number(x.variant);
  }
  std::string operator()(const worker_moved& x) const {
    return in_round(x.round) + to_string(x.phase) + after(": ", x.note);
  }
  std::string operator()(const prompt_sent& x) const {
    return in_round(x.round) + "prompt " + number(x.attempt) + " sent, " + number(x.user.size()) + " bytes";
  }
  std::string operator()(const reply_delta&) const { return {}; }
  std::string operator()(const reply_ended& x) const {
    return in_round(x.round) + "reply " + to_string(x.outcome) + ", " + number(x.text.size()) + " bytes in " +
           std::to_string(x.elapsed.count()) + " ms" + tokens(x.usage) + after(": ", x.error) +
           after("; warning: ", x.warning);
  }
  std::string operator()(const code_extracted& x) const {
    return in_round(x.round) + "code " + to_string(x.result) + after(": ", x.note) +
           after(" sha256 ", x.digest.text.substr(0, 12));
  }
  std::string operator()(const candidate_reserved& x) const {
    return in_round(x.round) + to_string(x.duplicate) +
           (x.duplicate == duplicate::unique ? std::string{} : " of " + x.owner.text);
  }
  std::string operator()(const candidate_evaluated& x) const {
    return in_round(x.round) + "evaluation " + number(x.attempt) + ": " + to_string(verdict_of(x.result)) + " in " +
           std::to_string(x.result.elapsed.count() / 1000) + " ms" + after(": ", x.result.reason);
  }
  std::string operator()(const round_failed& x) const { return in_round(x.round) + "failed: " + x.why; }
  std::string operator()(const worker_finished& x) const {
    return "worker ended: " + to_string(x.end) + after(": ", x.reason);
  }
  std::string operator()(const winner_decided& x) const {
    return "winner: " + x.worker.text + " in round " + number(x.round) + " (" + x.standing + "), sha256 " +
           x.digest.text;
  }
  std::string operator()(const runner_up& x) const {
    return "runner-up: " + x.worker.text + " in round " + number(x.round) + ", sha256 " + x.digest.text;
  }
  std::string operator()(const race_cancelled& x) const {
    return "cancelled (" + x.why + "): " + number(x.runs) + " runs, " + number(x.workers) + " workers, " +
           number(x.prompts) + " prompts stopped";
  }
  std::string operator()(const race_ended& x) const {
    return "race ended: " + to_string(x.end) + after(": ", x.reason);
  }
  std::string operator()(const race_resumed& x) const {
    return "resumed for the " + number(x.resumes) + ". time by " + x.version + ": " + number(x.workers) +
           " workers go on, " + number(x.replies) + " replies and " + number(x.evaluations) +
           " evaluations are on record";
  }
};

}  // namespace

std::string utc_text(std::int64_t at_us) {
  constexpr std::int64_t us_per_s = 1'000'000;
  const std::time_t seconds = at_us / us_per_s;
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 40> text{};
  const auto size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data() + size, text.size() - size, ".%06dZ", static_cast<int>(at_us % us_per_s));
  return text.data();
}

std::string line_of(const fact& x) {
  return one_line(std::visit(teller{}, x));
}

worker_id worker_of(const fact& x) {
  return std::visit(
      []<class T>(const T& body) {
        // Winner and runner-up are the race's decisions; they stand in its log.
        if constexpr (requires { body.worker; } && !std::is_same_v<T, winner_decided> &&
                      !std::is_same_v<T, runner_up>) {
          return body.worker;
        } else {
          return worker_id{};
        }
      },
      x);
}

std::string one_line(std::string_view text) {
  constexpr std::size_t longest = 500;
  std::string out;
  for (std::size_t i = 0; i < text.size() && out.size() < longest; ++i) {
    const bool is_c1 = is_c1_at(text, i);
    out += is_c1 || is_control(text[i]) ? ' ' : text[i];
    i += is_c1 ? 1 : 0;
  }
  if (out.size() >= longest) {
    // Not in the middle of a character.
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0U) == 0x80U) {
      out.pop_back();
    }
    if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xC0U) {
      out.pop_back();
    }
    out += " ...";
  }
  return out;
}

std::string without_controls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_c1_at(text, i)) {
      ++i;
    } else if (!is_control(text[i]) || text[i] == '\n' || text[i] == '\t') {
      out += text[i];
    }
  }
  return out;
}

}  // namespace regatta
