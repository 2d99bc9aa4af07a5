// SPDX-License-Identifier: Apache-2.0
#include "cli/race_setup.hpp"

#include "actors/llm/provider_check.hpp"
#include "actors/prompts.hpp"
#include "cli/budgets.hpp"
#include "cli/gpu_warmth.hpp"
#include "cli/providers.hpp"
#include "cli/python_discovery.hpp"
#include "cli/race_plan.hpp"
#include "cli/run_claim.hpp"
#include "cli/text_file.hpp"
#include "messages/digest.hpp"
#include "messages/install_paths.hpp"
#include "messages/limits.hpp"
#include "node/gpu_inventory.hpp"
#include "node/host_devices.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

namespace regatta::cli {

namespace {

/// Those that we may use: a container or Slurm may leave us fewer than the host has.
std::uint32_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool is_known = ::sched_getaffinity(0, sizeof set, &set) == 0;
  return std::max(1U, is_known ? static_cast<std::uint32_t>(CPU_COUNT(&set)) : 1U);
}

std::string host_name() {
  char text[256] = {};
  return ::gethostname(text, sizeof text - 1) == 0 && text[0] != '\0' ? text : "local";
}

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : process_environment()) {
    out[name] = value.value;
  }
  return out;
}

caf::error find_python(const session& x, race_setup& out) {
  const auto python = choose_python(python_candidates(x.values, x.env),
                                    [](const auto& path) { return ::access(path.c_str(), X_OK) == 0; });
  if (!python) {
    return fail(ec::not_found, "no Python for candidates: give --python PATH or set REGATTA_PYTHON");
  }
  const auto& listed = x.values.list("python-path");
  std::error_code ignored;
  for (const auto& folder : listed) {
    if (!std::filesystem::is_directory(folder, ignored)) {
      return fail(ec::invalid_config,
                  x.values.at("python-path").source + ": got \"" + folder + "\", allowed: a folder that is there");
    }
  }
  std::string error;
  auto found = sandbox::inspect_interpreter(python->path, listed, error);
  if (!found) {
    return fail(python->is_asked_for ? ec::invalid_config : ec::io_failed,
                python->source + ": " + python->path + ": " + error);
  }
  const std::vector<std::string> prefixes{found->prefix, found->base_prefix};
  const auto torch = module_version("torch", prefixes, found->version, listed);
  const auto triton = module_version("triton", prefixes, found->version, listed);
  out.python_text = python->path + " " + found->version + " (from " + python->source + "), " +
                    (torch.empty() ? "no torch" : "torch " + torch) + ", " +
                    (triton.empty() ? "no triton" : "triton " + triton);
  if (torch.empty()) {
    out.warnings.push_back("candidates run under " + python->path + " (from " + python->source +
                           "), which has no torch; --python or REGATTA_PYTHON names another");
  }
  out.config.python = std::move(*found);
  return {};
}

caf::error find_devices(const session& x, race_setup& out) {
  const auto wanted = x.values.text("device");
  if (wanted != "cpu") {
    auto inventory = find_gpus(host_devices{}, out.config.host_environment);
    out.config.gpus = std::move(inventory.gpus);
    for (auto* texts : {&inventory.left_out, &inventory.warnings}) {
      out.warnings.insert(out.warnings.end(), texts->begin(), texts->end());
    }
  }
  if (wanted == "gpu" && out.config.gpus.empty()) {
    return fail(ec::refused, x.values.at("device").source +
                                 ": got gpu, but no GPU of this host can be used "
                                 "(regatta doctor says why); allowed here: any, cpu");
  }
  out.config.cpu_slots =
      x.values.is_set("slots") ? static_cast<std::uint32_t>(x.values.integer("slots")) : usable_cores();
  set_gpu_warmth(x, out.config);
  return {};
}

void set_sandbox(const session& x, race_setup& out) {
  auto& config = out.config.sandbox;
  config.allow_warm = !x.values.flag("cold");
  config.allow_unsandboxed = x.values.flag("allow-unsandboxed");
  config.require = config.allow_unsandboxed
                       ? sandbox::level::none
                       : from_name<sandbox::level>(x.values.text("require-level")).value_or(sandbox::level::namespaced);
  // The source checker's helper has a sandbox of its own, and its successor may start while it still dies.
  constexpr std::uint32_t helpers = 2;
  // A judged candidate is three runs: comparator, reference side, candidate side.
  constexpr std::uint32_t runs_a_slot = 3;
  const auto gpus = static_cast<std::uint32_t>(out.config.gpus.size());
  config.slots = runs_a_slot * (out.config.cpu_slots + gpus * out.config.gpu_slots) + gpu_helpers(out.config) + helpers;
  out.config.host = sandbox::probe();
  const auto best = out.config.host.best;
  if (best > sandbox::level::none && best < sandbox::level::namespaced) {
    out.warnings.push_back("sandbox level " + to_string(best) + ", as there are no namespaces" +
                           (out.config.host.obstacles.empty() ? "" : ": " + out.config.host.obstacles.front()));
  }
  if (config.allow_unsandboxed && out.config.host.best == sandbox::level::none) {
    out.warnings.emplace_back(
        "--allow-unsandboxed: candidates run without isolation and can read and change what you can");
  }
}

/// What `regatta resume` needs to go on from `--replay FILE`.
caf::error set_recording(const provider_config& provider, race_spec& spec) {
  if (provider.kind != provider_kind::replay || provider.name != "replay") {
    return {};
  }
  std::error_code failed;
  auto path = std::filesystem::canonical(provider.recording, failed);
  auto digest = digest_of_recording(failed ? provider.recording : path.string());
  if (!digest) {
    return digest.error();
  }
  spec.recording = failed ? std::filesystem::absolute(provider.recording).string() : path.string();
  spec.recording_digest = std::move(*digest);
  return {};
}

}  // namespace

caf::expected<provider_choice> find_provider(const session& x) {
  auto out = choose_provider(x.values, x.files, x.env);
  if (out) {
    if (auto failed = check_provider(out->provider)) {
      // A recording that cannot be read, a program that is not there: named by the user, so theirs to mend.
      return fail(ec::invalid_config, text_of(failed));
    }
  }
  return out;
}

caf::expected<race_models> find_models(const session& x) {
  auto out = choose_models(x.values, x.files, x.env);
  if (out) {
    for (const auto& provider : providers_of(*out)) {
      if (auto failed = check_provider(provider)) {
        return fail(ec::invalid_config, text_of(failed));
      }
    }
  }
  return out;
}

caf::expected<std::string> digest_of_recording(const std::string& path) {
  const auto text = read_text_file(path, recording_bytes);
  return text ? caf::expected<std::string>{sha256_hex(*text)} : text.error();
}

caf::error set_budgets(const session& x, race_setup& out) {
  const auto limits = budgets_of(x.values);
  out.config.process_budget = limits.process;
  out.config.day_budget = limits.day;
  auto good = check_prices(limits, out.spec.workers, out.config.providers);
  return good ? caf::error{} : good.error();
}

void set_judge(race_setup& out, bool refuses_weak) {
  if (needs_judge(out.spec.accept)) {
    out.config.judge.emplace();
    out.config.judge->stage = out.spec.stage.name;
    out.config.judge->is_probe = true;
    out.config.judge->terms = out.spec.judging;
    out.config.refuses_weak = refuses_weak;
    out.config.limits = out.spec.limits;
  }
}

void set_events(const session& x, race_setup& out) {
  const auto given = x.values.text("events");
  const auto folder = value_of(x.env, "XDG_RUNTIME_DIR");
  const auto base = folder.empty() ? out.config.state_dir : folder + "/regatta";
  // The name of a socket may have 107 bytes; a deep state folder is no reason not to race.
  constexpr std::size_t longest = 107;
  auto path = base + "/events/" + out.spec.race.text + ".sock";
  if (path.size() > longest) {
    path = "/tmp/regatta-" + std::to_string(::geteuid()) + "/" + out.spec.race.text + ".sock";
  }
  out.config.events_endpoint = given == "off" ? "" : given.empty() ? "ipc://" + path : given;
  out.config.events_source = given.empty() ? "" : x.values.at("events").source;
}

caf::error prepare_host(const session& x, race_setup& out) {
  out.config.state_dir = state_dir_of(x);
  out.config.host_environment = own_environment();
  out.config.node = node_id{host_name()};
  if (auto failed = find_python(x, out)) {
    return failed;
  }
  if (auto failed = find_devices(x, out)) {
    return failed;
  }
  set_sandbox(x, out);
  std::random_device random;
  out.config.seed = (std::uint64_t{random()} << 32) | random();
  return {};
}

caf::expected<race_setup> prepare_race(const session& x) {
  race_setup out;
  if (auto good = check_settings(x.values); !good) {
    return good.error();
  }
  auto problem = read_problem(x.line.problem);
  if (!problem) {
    return problem.error();
  }
  auto models = find_models(x);
  if (!models) {
    return models.error();
  }
  const auto prompts = x.values.is_set("prompts") ? x.values.text("prompts") : data_dir("prompts");
  auto stage = load_stage(prompts, x.values.text("stage"));
  if (!stage) {
    return fail(ec::invalid_config, x.values.at("stage").source + ": " + text_of(stage.error()));
  }
  if (auto failed = prepare_host(x, out)) {
    return failed;
  }
  std::random_device random;
  const auto id =
      unused_run_id(out.config.state_dir, [&] { return make_run_id(std::chrono::system_clock::now(), random()); });
  out.spec = plan_race(x.values, *models, std::move(*stage), std::move(*problem), id, out.config.state_dir);
  const auto& first = models->first;
  out.model_source = "provider " + first.provider.name + " (" + first.chosen_by + ")" +
                     (first.key_source.empty() ? ", no key" : ", key from " + first.key_source);
  out.config.problem = out.spec.problem;
  set_judge(out, x.values.flag("refuse-weak"));
  set_events(x, out);
  if (auto failed = set_recording(first.provider, out.spec)) {
    return failed;
  }
  out.config.providers = providers_of(*models);
  out.spec.currency = currency_of(out.config.providers);
  if (auto failed = set_budgets(x, out)) {
    return failed;
  }
  return out;
}

}  // namespace regatta::cli
