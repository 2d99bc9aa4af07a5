// SPDX-License-Identifier: Apache-2.0
#include "node/check_desk.hpp"

#include "messages/limits.hpp"
#include "node/source_check_codec.hpp"

#include <algorithm>

namespace regatta {

namespace {

/// A helper may die of something else just then (somebody's kill -9, a host short of memory); twice is the text.
constexpr std::uint32_t deaths_that_condemn = 2;

}  // namespace

void check_desk::ask(ticket id, std::vector<std::string> texts, time_point now) {
  if (is_resting_ && now < start_not_before_) {
    results_.push_back({id, fail(ec::io_failed, last_failure_)});
    return;
  }
  is_resting_ = false;
  requests_.push_back({id, std::move(texts), {}});
  skip_what_needs_no_helper();
}

void check_desk::skip_what_needs_no_helper() {
  while (!requests_.empty() && state_ != state::asked) {
    auto& first = requests_.front();
    auto& facts = first.report.facts;
    if (facts.size() == first.texts.size()) {
      results_.push_back({first.id, std::move(first.report)});
      requests_.pop_front();
    } else if (first.texts[facts.size()].size() > candidate_bytes) {
      facts.push_back({false, "larger than " + std::to_string(candidate_bytes) + " bytes", {}, false});
    } else {
      return;
    }
  }
}

void check_desk::answer(source_facts facts) {
  requests_.front().report.facts.push_back(std::move(facts));
  deaths_on_text_ = 0;
  state_ = state_ == state::asked ? state::ready : state_;
  skip_what_needs_no_helper();
}

void check_desk::on_output(std::uint64_t generation, std::string_view bytes, time_point now) {
  while (generation == generation_ && state_ != state::absent && !bytes.empty()) {
    const auto end = bytes.find('\n');
    line_.append(bytes.substr(0, end));
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (line_.size() > helper_line_bytes) {
      must_kill_ = true;
      lose_helper("the syntax check's helper said more than it should", now);
      return;
    }
    if (end != std::string_view::npos) {
      on_line(std::exchange(line_, {}), now);
    }
  }
}

void check_desk::on_line(std::string_view line, time_point now) {
  const auto said = decode_answer(line);
  if (said && said->number == 0 && state_ == state::starting) {
    state_ = state::ready;
    failed_starts_ = 0;
  } else if (said && said->number == question_ && state_ == state::asked) {
    answer(said->facts);
  } else {
    must_kill_ = true;
    lose_helper("the syntax check's helper said something else than it should", now);
  }
}

void check_desk::on_ended(std::uint64_t generation, const std::string& reason, time_point now) {
  if (generation == generation_ && state_ != state::absent) {
    lose_helper("the syntax check's helper ended: " + reason, now);
  }
}

void check_desk::lose_helper(const std::string& reason, time_point now) {
  const auto lost = std::exchange(state_, state::absent);
  line_.clear();
  if (lost == state::starting) {
    count_failed_start(reason, now);
  } else if (lost == state::asked && ++deaths_on_text_ >= deaths_that_condemn) {
    answer({false, "the syntax check did not survive this text", {}, false});
  }
}

void check_desk::count_failed_start(const std::string& reason, time_point now) {
  last_failure_ = reason;
  ++failed_starts_;
  if (failed_starts_ < config_.start_attempts) {
    start_not_before_ = now + config_.first_backoff * (1U << (failed_starts_ - 1));
    return;
  }
  // One try after the rest, not another five: whoever asks then waits long enough.
  failed_starts_ = config_.start_attempts - 1;
  start_not_before_ = now + config_.rest;
  is_resting_ = true;
  fail_all(reason);
}

void check_desk::fail_all(const std::string& reason) {
  for (const auto& each : requests_) {
    results_.push_back({each.id, fail(ec::io_failed, reason)});
  }
  requests_.clear();
}

void check_desk::tick(time_point now) {
  if (armed_ && *armed_ <= now) {
    armed_.reset();
  }
  if ((state_ != state::starting && state_ != state::asked) || now < deadline_) {
    return;
  }
  must_kill_ = true;
  if (state_ == state::starting) {
    lose_helper("the syntax check's helper did not start in time", now);
    return;
  }
  state_ = state::absent;
  line_.clear();
  deaths_on_text_ = 0;
  // The others of this reply may be no better, and whoever waits behind it has a reply, too.
  auto& first = requests_.front();
  first.report.facts.push_back({false, "the syntax check did not finish", {}, false});
  first.report.facts.resize(first.texts.size(),
                            {false, "not checked: the check of another text of this reply did not finish", {}, false});
  skip_what_needs_no_helper();
}

check_desk::step check_desk::next(time_point now) {
  if (must_kill_) {
    must_kill_ = false;
    return {verb::kill, generation_, {}, {}};
  }
  if (state_ == state::absent && !requests_.empty()) {
    return start(now);
  }
  if (state_ == state::ready && !requests_.empty()) {
    return ask_next(now);
  }
  return state_ == state::starting || state_ == state::asked ? wake_at(deadline_) : step{};
}

check_desk::step check_desk::wake_at(time_point at) {
  if (armed_ && *armed_ <= at) {
    return {};
  }
  armed_ = at;
  return {verb::wake, generation_, {}, at};
}

check_desk::step check_desk::start(time_point now) {
  if (now < start_not_before_) {
    return wake_at(start_not_before_);
  }
  state_ = state::starting;
  deadline_ = now + config_.answer_timeout;
  return {verb::start, ++generation_, {}, {}};
}

check_desk::step check_desk::ask_next(time_point now) {
  const auto& first = requests_.front();
  state_ = state::asked;
  deadline_ = now + config_.answer_timeout;
  return {verb::write, generation_, encode_question(++question_, first.texts[first.report.facts.size()]), {}};
}

std::vector<check_desk::result> check_desk::take_results() {
  return std::exchange(results_, {});
}

}  // namespace regatta
