// SPDX-License-Identifier: Apache-2.0
#include "actors/store_reader.hpp"
#include "cli/account.hpp"
#include "cli/commands.hpp"
#include "cli/terminal_text.hpp"
#include "messages/error.hpp"

#include <algorithm>
#include <charconv>

namespace regatta::cli {

namespace {

/// How many runs an error names, and `list` shows at most.
constexpr std::uint32_t most_listed = 1'000;

/// `2` is `worker_02`.
worker_id worker_meant(const std::string& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc{} && end == text.data() + text.size() && !text.empty();
  return is_number ? make_worker_id(number) : worker_id{text};
}

/// With the runs that the user may have meant.
caf::error unknown_run(const std::string& run, const caf::error& why, store_reader& store) {
  auto races = store.list_races(most_listed);
  if (!races || races->empty()) {
    return why;
  }
  std::vector<std::string> known;
  for (const auto& race : *races) {
    known.push_back(race.race.text);
  }
  const auto near = nearest(run, known);
  return fail(code_of(why), clean_line(text_of(why)) +
                                (near.empty() ? "; the latest is " + known.front() : "; did you mean " + near + "?"));
}

caf::error check_worker(const race_record& record, const worker_id& worker) {
  if (worker.empty()) {
    return {};
  }
  const auto& all = record.workers;
  if (std::any_of(all.begin(), all.end(), [&](const auto& x) { return x.worker == worker; })) {
    return {};
  }
  return fail(ec::invalid_config, "--worker: got \"" + clean_line(worker.text) + "\", allowed: " +
                                      (all.empty() ? "none, the race has no worker"
                                                   : all.front().worker.text + " to " + all.back().worker.text));
}

/// Rounds that a worker, or any, has begun.
caf::error check_round(const race_record& record, const account_options& options) {
  std::uint32_t last = 0;
  for (const auto& x : record.rounds) {
    const bool is_meant = options.only_worker.empty() || x.worker == options.only_worker;
    if (is_meant && x.round == options.only_round) {
      return {};
    }
    last = is_meant ? std::max(last, x.round) : last;
  }
  if (options.only_round == 0) {
    return {};
  }
  const auto who = options.only_worker.empty() ? std::string{"the race"} : options.only_worker.text;
  return fail(ec::invalid_config, "--round: got " + std::to_string(options.only_round) + ", allowed: " +
                                      (last == 0 ? "none, " + who + " has begun no round"
                                                 : "1 to " + std::to_string(last) + ", as far as " + who + " got"));
}

}  // namespace

caf::expected<race_id> find_run(store_reader& store, const std::string& run) {
  if (run.empty()) {
    return fail(ec::invalid_config, "RUN: got \"\", allowed: a run id, the beginning of one, latest");
  }
  auto race = store.find_race(run);
  return race ? race : unknown_run(run, race.error(), store);
}

exit_code run_show(const session& x, streams to) {
  auto store = store_reader::open(state_dir_of(x));
  if (!store) {
    return complain(store.error(), to);
  }
  auto race = find_run(*store, x.line.run);
  if (!race) {
    return complain(race.error(), to);
  }
  auto record = store->load_race(*race);
  if (!record) {
    return complain(record.error(), to);
  }
  account_options options;
  options.only_worker = x.line.worker.empty() ? worker_id{} : worker_meant(x.line.worker);
  options.only_round = x.line.round;
  options.has_details = !x.line.worker.empty() || x.line.round != 0;
  if (auto failed = check_worker(*record, options.only_worker)) {
    return complain(failed, to);
  }
  if (auto failed = check_round(*record, options)) {
    return complain(failed, to);
  }
  to.out.write(x.values.flag("json") ? account_json(*record, options) : account_text(*record, options));
  return exit_code::won;
}

exit_code run_list(const session& x, streams to) {
  auto store = store_reader::open(state_dir_of(x));
  if (!store) {
    return complain(store.error(), to);
  }
  auto races = store->list_races(most_listed);
  if (!races) {
    return complain(races.error(), to);
  }
  to.out.write(x.values.flag("json") ? list_json(*races) : list_text(*races));
  const bool has_killed =
      std::any_of(races->begin(), races->end(), [](const auto& race) { return race.end.empty() && !race.is_running; });
  if (has_killed && !x.values.flag("json")) {
    to.err.write("regatta resume RUN goes on with a race that was killed or crashed\n");
  }
  return exit_code::won;
}

}  // namespace regatta::cli
