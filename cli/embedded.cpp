// SPDX-License-Identifier: Apache-2.0
#include "cli/embedded.hpp"

#include "actors/event_endpoint.hpp"
#include "actors/event_publisher.hpp"
#include "actors/llm/llm_gateway.hpp"
#include "actors/store.hpp"
#include "cli/judge_probe.hpp"
#include "cli/log.hpp"
#include "cli/problem_check.hpp"
#include "cli/terminal_text.hpp"
#include "coordinator/coordinator.hpp"
#include "messages/error.hpp"
#include "messages/limits.hpp"
#include "node/node_agent.hpp"
#include "node/source_checker.hpp"

#include <caf/actor_registry.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace regatta::cli {

namespace {

/// Everything that blocks has a thread of its own; what is left are messages. More threads than this only wait.
constexpr std::size_t most_scheduler_threads = 4;
/// For actors that end as soon as they read the order.
constexpr std::chrono::seconds end_timeout{5};

struct system_config : caf::actor_system_config {
  system_config() {
    const std::size_t cores = std::max(std::thread::hardware_concurrency(), 2U);
    set("scheduler.max-threads", std::min(cores, most_scheduler_threads));
    set("logger.file-verbosity", caf::atom("quiet"));
    set("logger.console-verbosity", caf::atom("quiet"));
  }
};

/// A stream is a descriptor, and the usual soft limit of 1,024 is half of what one process is to hold. Candidates get
/// a limit of their own.
void allow_many_streams() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
}

event_sink_actor::behavior_type news_sink(event_sink_actor::pointer, const std::shared_ptr<event_queue>& news) {
  return {
      [news](const event& x) { news->push(x); },
      [news](const race_closed& x) { news->push(x); },
  };
}

}  // namespace

struct embedded::parts {
  embedded_config config;
  std::shared_ptr<event_queue> news;
  system_config system_settings;
  std::shared_ptr<sandbox::runner> runner;
  std::unique_ptr<caf::actor_system> system;
  std::string endpoint;
  ledger_store_actor store;
  source_checker_actor checker;
  std::vector<event_sink_actor> sinks;
  coordinator_actor coordinator;
  std::optional<judge_terms> terms;  ///< As the look at the problem left them.

  caf::error open();
  caf::error check_problem();
  caf::error check_oracle();
  caf::error open_store();
  caf::error open_sinks();
  node_entry local_node();
  void open_coordinator();
  bool end(const caf::actor& target, std::chrono::seconds limit);
  caf::error close();
};

caf::error embedded::parts::open() {
  allow_many_streams();
  std::string error;
  runner = sandbox::runner::open(config.sandbox, config.host, error);
  if (!runner) {
    return fail(ec::sandbox_refused, error);
  }
  system = std::make_unique<caf::actor_system>(system_settings);
  source_checker_config checking;
  checking.runner = runner;
  checking.python = config.python;
  checker = spawn_source_checker(*system, checking);
  if (auto failed = check_problem()) {
    return failed;
  }
  if (auto failed = check_oracle()) {
    return failed;
  }
  if (auto failed = open_store()) {
    return failed;
  }
  if (auto failed = config.claim ? config.claim() : caf::error{}) {
    return failed;
  }
  if (auto failed = open_sinks()) {
    return failed;
  }
  open_coordinator();
  return {};
}

/// The first question also starts the checker's helper, which the first candidate would have to wait for.
caf::error embedded::parts::check_problem() {
  const auto& problem = config.problem;
  caf::scoped_actor self{*system};
  caf::error failed;
  self->request(checker, check_timeout, check_source{race_id{}, {problem.text}})
      .receive(
          [&](const source_report& report) {
            const auto why = report.facts.empty() ? "not checked" : why_no_problem(report.facts.front(), problem.text);
            if (!why.empty()) {
              failed = fail(ec::invalid_config, problem.path + ": " + why + ", allowed: " + std::string{problem_form});
            }
          },
          [&](const caf::error& error) { failed = error; });
  return failed;
}

caf::error embedded::parts::check_oracle() {
  if (!config.judge) {
    return {};
  }
  const judge_place place{config.gpus.empty() ? nullptr : &config.gpus.front(), config.python, config.host_environment,
                          config.limits};
  const auto probed = probe_problem(runner, place, *config.judge, config.problem.text);
  terms = terms_found(config.judge->terms, probed);
  if (terms->is_weak && !config.refuses_weak) {
    log_warning(clean_line(weak_text(probed, config.problem.path)) +
                (terms->allow_weak ? "; its winner will be marked"
                                   : "; nobody can be proven right: the first who is right as far as can be told ends the race "
                                     "as unproven, exit code 10 (--allow-weak lets it win, marked; --refuse-weak does not race)"));
  }
  return why_not_judgeable(probed, config.problem.path, config.refuses_weak);
}

caf::error embedded::parts::open_store() {
  store_config stored;
  stored.state_dir = config.state_dir;
  auto opened = spawn_store(*system, stored);
  if (!opened) {
    return opened.error();
  }
  store = *opened;
  return {};
}

caf::error embedded::parts::open_sinks() {
  sinks.push_back(system->spawn(news_sink, news));
  if (config.events_endpoint.empty()) {
    return {};
  }
  auto published = spawn_event_publisher(*system, {config.events_endpoint, config.events_source.empty()});
  if (!published) {
    const auto& source = config.events_source;
    // An address that the user chose is the user's to mend.
    return source.empty() ? published.error()
                          : fail(ec::invalid_config, source + ": got \"" + config.events_endpoint + "\" (" +
                                                         text_of(published.error()) +
                                                         "), allowed: an address that can be bound, off");
  }
  endpoint = published->endpoint;
  sinks.push_back(published->sink);
  return {};
}

node_entry embedded::parts::local_node() {
  node_entry out;
  out.id = config.node;
  out.connect = [this](caf::actor_system& where, uplink_actor uplink) {
    node_agent_config agent;
    agent.id = config.node;
    agent.uplink = std::move(uplink);
    agent.checker = checker;
    agent.make_evaluator = [this](caf::actor_system& inner, run_sink_actor sink) {
      evaluator_config x;
      x.node = config.node;
      x.sink = std::move(sink);
      x.runner = runner;
      x.python = config.python;
      x.host_environment = config.host_environment;
      x.gpus = config.gpus;
      x.cpu_slots = config.cpu_slots;
      x.gpu_slots = config.gpu_slots;
      return spawn_evaluator(inner, std::move(x));
    };
    return spawn_node_agent(where, std::move(agent));
  };
  return out;
}

void embedded::parts::open_coordinator() {
  coordinator_config x;
  x.store = store;
  x.sinks = sinks;
  x.nodes.push_back(local_node());
  x.make_gateway = [this](caf::actor_system& where, prompt_sink_actor sink) {
    llm_gateway_config gateway;
    gateway.providers = config.providers;
    gateway.sink = std::move(sink);
    gateway.ledger = store;
    gateway.process_budget = config.process_budget;
    gateway.day_budget = config.day_budget;
    gateway.seed = config.seed;
    return spawn_llm_gateway(where, std::move(gateway));
  };
  coordinator = spawn_coordinator(*system, std::move(x));
  const auto to = news;
  caf::actor_cast<caf::actor>(coordinator)->attach_functor([to](const caf::error& reason) {
    to->push(coordinator_lost{describe(reason)});
  });
}

bool embedded::parts::end(const caf::actor& target, std::chrono::seconds limit) {
  if (!target) {
    return true;
  }
  caf::scoped_actor self{*system};
  self->monitor(target);
  caf::anon_send_exit(target, caf::exit_reason::user_shutdown);
  bool has_ended = false;
  self->receive([&](const caf::down_msg&) { has_ended = true; }, caf::after(limit) >> [] {});
  return has_ended;
}

caf::error embedded::parts::close() {
  if (!system) {
    return {};
  }
  std::string alive;
  const auto end_or_name = [&](auto& handle, const char* name, std::chrono::seconds limit) {
    if (!end(caf::actor_cast<caf::actor>(handle), limit)) {
      alive += (alive.empty() ? "" : ", ") + std::string{name};
    }
    handle = std::decay_t<decltype(handle)>{};
  };
  // It bounds itself; the margin lets it say so.
  end_or_name(coordinator, "coordinator", shutdown_timeout + end_timeout);
  end_or_name(checker, "source checker", end_timeout);
  end_or_name(store, "store", shutdown_timeout);
  for (auto& sink : sinks) {
    end_or_name(sink, "event sink", end_timeout);
  }
  sinks.clear();
  // ZeroMQ leaves it behind if its context ends later than its socket.
  if (const auto path = socket_path(endpoint); !path.empty()) {
    ::unlink(path.c_str());
  }
  // What these had started ends on its own; the actor system's destructor would wait for it without a limit.
  for (int tries = 0; system->registry().running() > 0 && tries < 1'000; ++tries) {
    ::poll(nullptr, 0, 5);
  }
  if (const auto left = system->registry().running(); left > 0) {
    alive += (alive.empty() ? "" : ", ") + std::to_string(left) + " actors in all";
  }
  if (!alive.empty()) {
    // Its destructor would wait for ever.
    [[maybe_unused]] auto* const left_behind = system.release();
    return fail(ec::internal, "did not end in time: " + alive);
  }
  system.reset();
  runner.reset();
  return {};
}

embedded::embedded() : parts_{std::make_unique<parts>()} {}

embedded::~embedded() {
  if (parts_ && close()) {
    // The actors that are left may still look at it.
    [[maybe_unused]] auto* const left_behind = parts_.release();
  }
}

caf::expected<std::unique_ptr<embedded>> embedded::open(embedded_config config, std::shared_ptr<event_queue> news) {
  std::unique_ptr<embedded> out{new embedded};
  out->parts_->config = std::move(config);
  out->parts_->news = std::move(news);
  if (auto error = out->parts_->open()) {
    return error;
  }
  return out;
}

caf::error embedded::start(const race_spec& spec, std::optional<race_standing> standing) {
  caf::scoped_actor self{*parts_->system};
  caf::error failed;
  start_race order;
  order.spec = spec;
  order.spec.judging = parts_->terms.value_or(spec.judging);
  order.standing = std::move(standing);
  self->request(parts_->coordinator, accept_timeout, std::move(order))
      .receive([](const accepted&) {}, [&](const caf::error& error) { failed = error; });
  return failed;
}

void embedded::stop(const race_id& race, const std::string& why) {
  caf::anon_send(parts_->coordinator, stop_race{race, why});
}

const std::string& embedded::events_endpoint() const {
  return parts_->endpoint;
}
sandbox::level embedded::level() const {
  return parts_->runner->obtained();
}
caf::error embedded::close() {
  return parts_->close();
}

}  // namespace regatta::cli
