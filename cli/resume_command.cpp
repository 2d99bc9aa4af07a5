// SPDX-License-Identifier: Apache-2.0
#include "cli/budgets.hpp"
#include "cli/commands.hpp"
#include "cli/log.hpp"
#include "cli/race_run.hpp"
#include "cli/terminal_text.hpp"
#include "messages/error.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace regatta::cli {

namespace {

std::int64_t utc_now_us() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

/// Given on the command line, under either name of the option.
bool is_given(const session& x, const char* name, const char* alias = "") {
  return x.line.flags.contains(name) || x.line.flags.contains(alias);
}

/// Settings as if these flags had been given, too. Fails: `ec::invalid_config`.
caf::expected<session> with_flags(const session& x, const flag_values& more) {
  auto out = x;
  for (const auto& [name, values] : more) {
    out.line.flags[name] = values;
  }
  auto values = settings::resolve(out.line.flags, out.env, out.files);
  if (!values) {
    return values.error();
  }
  out.values = std::move(*values);
  return out;
}

caf::expected<race_standing_record> find_standing(const session& x) {
  auto store = store_reader::open(state_dir_of(x));
  if (!store) {
    return store.error();
  }
  const auto race = find_run(*store, x.line.run);
  if (!race) {
    return race.error();
  }
  auto record = load_standing(state_dir_of(x), *race);
  if (record && record->is_owned) {
    return fail(ec::refused, race->text + " is run by " + describe_owner(record->owner, utc_now_us()) +
                                 "; regatta cancel " + race->text + " stops it");
  }
  return record;
}

caf::error allow_anew(const session& x, race_standing_record& record) {
  auto& spec = record.spec;
  if (is_given(x, "max-iters", "rounds")) {
    const auto rounds = static_cast<std::uint32_t>(x.values.integer("max-iters"));
    if (rounds < spec.rounds) {
      return fail(ec::invalid_config, x.values.at("max-iters").source + ": got " + std::to_string(rounds) +
                                          ", allowed: " + std::to_string(spec.rounds) + " (as now) or more");
    }
    allow_rounds(record, rounds);
  }
  if (is_given(x, "deadline")) {
    spec.deadline = std::chrono::seconds{x.values.seconds("deadline")};
  }
  const auto limits = budgets_of(x.values).race;
  if (is_given(x, "budget")) {
    spec.budget.money = limits.money;
  }
  if (is_given(x, "budget-tokens")) {
    spec.budget.tokens = limits.tokens;
  }
  return {};
}

/// By name, with a model that the record asks of it.
std::map<std::string, std::string> providers_of(const race_spec& spec) {
  std::map<std::string, std::string> out;
  for (const auto& worker : spec.workers) {
    out.emplace(worker.choice.provider, worker.choice.model);
    for (const auto& other : worker.fallbacks) {
      out.emplace(other.provider, other.model);
    }
  }
  return out;
}

/// The recording that answered the race so far, if it is still what it was.
caf::expected<provider_choice> recording_again(const session& x, const race_spec& spec) {
  const std::string otherwise = "; give --replay FILE to go on from another one";
  if (spec.recording.empty()) {
    return fail(ec::invalid_config, "the race was answered from a recording: give --replay FILE again");
  }
  const auto digest = digest_of_recording(spec.recording);
  if (!digest) {
    return fail(ec::invalid_config,
                "the race's recording is gone: " + clean_line(text_of(digest.error())) + otherwise);
  }
  if (*digest != spec.recording_digest) {
    return fail(ec::invalid_config, "the race's recording " + clean_line(spec.recording) +
                                        " has changed: got SHA-256 " + *digest + ", as the race began it had " +
                                        spec.recording_digest + otherwise);
  }
  // Whatever provider or program is configured by now, it did not answer this race.
  const auto replayed = with_flags(x, {{"replay", {spec.recording}}, {"provider", {}}, {"command", {}}});
  return replayed ? find_provider(*replayed) : caf::expected<provider_choice>{replayed.error()};
}

/// The same name as in the record, as it is configured now.
caf::expected<provider_choice> provider_again(const session& x, const race_spec& spec, const std::string& name,
                                              const std::string& model) {
  if (name == "replay" || name == "command") {
    if (x.values.is_set(name)) {
      return find_provider(x);
    }
    if (name == "replay") {
      return recording_again(x, spec);
    }
    return fail(ec::invalid_config, "the race asked a program: give --command \"PROGRAM ARGS\" again");
  }
  const auto named = with_flags(x, {{"provider", {name}}, {"model", {model}}});
  if (!named) {
    return named.error();
  }
  auto out = find_provider(*named);
  if (!out && code_of(out.error()) == ec::unknown_provider) {
    return fail(ec::unknown_provider, "the race asks provider \"" + name + "\", which is not configured here");
  }
  return out;
}

caf::expected<race_setup> prepare_resume(const session& given, race_standing_record record) {
  auto whole = with_flags(given, {{"device", {to_string(record.spec.device)}}});
  if (!whole) {
    return whole.error();
  }
  const auto& x = *whole;
  race_setup out;
  for (const auto& [name, model] : providers_of(record.spec)) {
    auto provider = provider_again(x, record.spec, name, model);
    if (!provider) {
      return provider.error();
    }
    out.model_source += (out.model_source.empty() ? "provider " : ", ") + name +
                        (provider->key_source.empty() ? " (no key)" : " (key from " + provider->key_source + ")");
    out.config.providers.push_back(std::move(provider->provider));
  }
  if (auto failed = allow_anew(x, record)) {
    return failed;
  }
  if (auto failed = prepare_host(x, out)) {
    return failed;
  }
  // The state folder may have been moved since.
  record.spec.run_dir = out.config.state_dir + "/" + record.spec.race.text;
  out.spec = record.spec;
  out.config.problem = out.spec.problem;
  set_judge(out, false);
  if (auto failed = set_budgets(x, out)) {
    return failed;
  }
  if (auto good = check_prices({out.spec.budget, {}, {}}, out.spec.workers, out.config.providers); !good) {
    return good.error();
  }
  set_events(x, out);
  out.resumed = std::move(record);
  return out;
}

bool is_spent(const race_standing& x) {
  return !x.passed && std::all_of(x.workers.begin(), x.workers.end(), [](const auto& y) { return y.has_ended; });
}

}  // namespace

exit_code run_resume(const session& x, signal_watch& signals, streams to) {
  auto record = find_standing(x);
  if (!record) {
    return complain(record.error(), to);
  }
  const auto race = record->spec.race;
  if (record->winner && record->ended) {
    to.err.write("regatta: " + race.text + " is won already, by " + clean_line(record->winner->worker.text) +
                 " in round " + std::to_string(record->winner->round) + "; regatta show " + race.text +
                 " tells more\n");
    return exit_code::won;
  }
  auto setup = prepare_resume(x, std::move(*record));
  if (!setup) {
    return complain(setup.error(), to);
  }
  if (is_spent(setup->resumed->standing)) {
    setup->warnings.push_back("every worker of " + race.text + " has ended; --max-iters N allows more rounds");
  }
  log_info("race " + race.text + " goes on, " + setup->model_source);
  log_info("candidates run under " + setup->python_text);
  return run_to_its_end(x, std::move(*setup), signals, to);
}

}  // namespace regatta::cli
