// SPDX-License-Identifier: Apache-2.0
#include "actors/worker_feedback.hpp"

namespace regatta {

std::string_view tail_of(std::string_view text, byte_count most) {
  if (text.size() <= most) {
    return text;
  }
  text.remove_prefix(text.size() - most);
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0U) == 0x80U) {
    text.remove_prefix(1);
  }
  return text;
}

namespace {

std::string_view advice_for(extraction result) {
  switch (result) {
    case extraction::found:
      return "";
    case extraction::no_code:
      return "Answer with one complete Python program in a single ```python block.";
    case extraction::truncated:
      return "The answer was cut off at the output limit before the program ended. Write a shorter program, without "
             "explanations around it.";
    case extraction::syntax_error:
      return "The program is not valid Python. Send the whole program again with the error mended.";
    case extraction::no_entry_point:
      return "Define every name that the task asks for at the top level of the program.";
    case extraction::bad_bytes:
      return "The program has bytes that no Python source may have. Use plain UTF-8 text without NUL.";
    case extraction::too_large:
      return "The program is too large. Compute large constants instead of writing them down.";
  }
  return "";
}

}  // namespace

std::string extraction_feedback(extraction result, std::string_view note) {
  auto text = "EXTRACT_FAIL: " + to_string(result);
  if (!note.empty()) {
    text.append(": ").append(note);
  }
  return text.append("\n").append(advice_for(result));
}

std::string run_feedback(const evaluation& result) {
  if (result.judgement != judgement::not_judged) {
    auto judged = "JUDGE_FAIL: " + to_string(result.judgement) + ": " + result.reason;
    judged.append("\n").append(result.feedback);
    return judged.append("\nOUTPUT_TAIL:\n").append(tail_of(result.stderr_text, feedback_output_tail));
  }
  auto text = "RUN_FAIL: " + (result.reason.empty() ? to_string(verdict_of(result)) : result.reason);
  text.append("\nSTDOUT_TAIL:\n").append(tail_of(result.stdout_text, feedback_output_tail));
  text.append("\nSTDERR_TAIL:\n").append(tail_of(result.stderr_text, feedback_output_tail));
  return text;
}

std::string failure_line(const evaluation& result) {
  constexpr std::size_t longest = 160;
  if (result.judgement != judgement::not_judged) {
    return to_string(result.judgement) + ": " + result.reason;
  }
  if (result.outcome != outcome::exited_nonzero) {
    return result.reason;
  }
  // A self-test that says on stdout what did not match, and exits 1, has nothing on stderr.
  const bool is_silent = result.stderr_text.find_first_not_of(" \t\r\n") == std::string::npos;
  std::string_view rest = is_silent ? result.stdout_text : result.stderr_text;
  rest = rest.substr(0, rest.find_last_not_of(" \t\r\n") + 1);
  auto last = rest.substr(rest.rfind('\n') + 1);
  if (last.size() > longest) {
    // From the front: the kind of error comes first. Not into a character.
    std::size_t end = longest;
    while (end > 0 && (static_cast<unsigned char>(last[end]) & 0xC0U) == 0x80U) {
      --end;
    }
    last = last.substr(0, end);
  }
  return last.empty() ? result.reason : result.reason + ": " + std::string{last};
}

std::string duplicate_feedback(const reservation& had_first, bool is_own) {
  std::string text = "DUPLICATE: ";
  text += is_own ? "you sent this very program before" : "another worker sent this very program before";
  text += " (round " + std::to_string(had_first.owner_round) +
          "); it was not run again. Its result: " + to_string(had_first.verdict) + ".\n";
  text += is_own ? "Do not repeat an earlier answer. " : "";
  text += "Write a program that goes about the task differently.";
  return had_first.feedback.empty() ? text : text + "\n" + had_first.feedback;
}

}  // namespace regatta
