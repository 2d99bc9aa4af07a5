// SPDX-License-Identifier: Apache-2.0
/// \file
/// CHECK DESK: the source checker's rules. Asks one helper process one text after the other; what a text does to the
/// helper is that text's answer, what befalls the helper by itself costs a new one.
///
///   absent --begin--> starting --greeting--> ready <--> asked
///     ^                  |                     |          |
///     +---- resting <----+---------------------+----------+   ended, or past its deadline (then it is killed)
#pragma once

#include "messages/error.hpp"
#include "messages/evaluation.hpp"

#include <caf/expected.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regatta {

struct check_desk_config {
  /// For the greeting and for each text.
  std::chrono::milliseconds answer_timeout{10'000};
  /// Helpers in a row that never greeted, until every waiting question fails. Judgement.
  std::uint32_t start_attempts = 5;
  /// Before the second start; doubles each time.
  std::chrono::milliseconds first_backoff{100};
  /// After `start_attempts`, questions fail at once for this long; then the next one tries again.
  std::chrono::seconds rest{30};
};

class check_desk {
public:
  using time_point = std::chrono::steady_clock::time_point;
  using ticket = std::uint64_t;

  enum class verb : std::uint8_t {
    nothing,
    start,  ///< A new helper, and report on it with `generation`.
    write,  ///< `bytes` to the helper.
    kill,   ///< The helper.
    wake,   ///< Call `tick` at `at`.
  };
  struct step {
    verb what = verb::nothing;
    std::uint64_t generation = 0;
    std::string bytes;
    time_point at;
  };
  struct result {
    ticket asked;
    caf::expected<source_report> report;
  };

  explicit check_desk(check_desk_config config) : config_{config} {}

  void ask(ticket id, std::vector<std::string> texts, time_point now);
  void on_output(std::uint64_t generation, std::string_view bytes, time_point now);
  void on_ended(std::uint64_t generation, const std::string& reason, time_point now);
  void tick(time_point now);

  /// What the shell must do; call until `nothing`.
  step next(time_point now);
  /// Questions that are answered or have failed since the last call.
  std::vector<result> take_results();

private:
  enum class state : std::uint8_t { absent, starting, ready, asked };
  struct request {
    ticket id;
    std::vector<std::string> texts;
    source_report report;
  };

  void on_line(std::string_view line, time_point now);
  void answer(source_facts facts);
  void skip_what_needs_no_helper();
  void lose_helper(const std::string& reason, time_point now);
  void count_failed_start(const std::string& reason, time_point now);
  void fail_all(const std::string& reason);
  step start(time_point now);
  step ask_next(time_point now);
  step wake_at(time_point at);

  check_desk_config config_;
  std::deque<request> requests_;
  std::vector<result> results_;

  state state_ = state::absent;
  std::uint64_t generation_ = 0;
  std::uint64_t question_ = 0;  ///< Number of the last one.
  bool must_kill_ = false;
  std::string line_;                 ///< Of the helper's output, not ended yet.
  time_point deadline_;              ///< In `starting` and `asked`.
  std::optional<time_point> armed_;  ///< One timer at a time, however many texts are asked.
  std::uint32_t deaths_on_text_ = 0;
  std::uint32_t failed_starts_ = 0;
  time_point start_not_before_;
  bool is_resting_ = false;
  std::string last_failure_;
};

}  // namespace regatta
