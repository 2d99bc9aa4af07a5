// SPDX-License-Identifier: Apache-2.0
#include "node/source_checker.hpp"

#include "messages/install_paths.hpp"
#include "node/check_desk.hpp"
#include "node/clean_text.hpp"
#include "node/source_check_codec.hpp"

#include <caf/actor_cast.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <atomic>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

namespace regatta {

namespace {

/// Bytes that wait in the mailbox; the sandbox's thread adds, the checker subtracts.
using unread_bytes = std::shared_ptr<std::atomic<std::size_t>>;

/// sandbox's thread -> the checker itself.
struct helper_said {
  std::uint64_t generation = 0;
  std::string bytes;
  unread_bytes unread;
};
struct helper_ended {
  std::uint64_t generation = 0;
  std::string reason;
};
struct checker_tick {};

}  // namespace

}  // namespace regatta

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(regatta::helper_said)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(regatta::helper_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(regatta::checker_tick)

namespace regatta {

namespace {

using inner_actor = source_checker_actor::extend<caf::reacts_to<helper_said>, caf::reacts_to<helper_ended>,
                                                 caf::reacts_to<checker_tick>>;
using report_promise = caf::typed_response_promise<source_report>;

/// `check_source` promises no more.
constexpr std::size_t max_texts = 64;
constexpr const char* script_name = "source_check.py";

class checker_state {
public:
  checker_state() {}
  checker_state(const checker_state&) = delete;
  checker_state& operator=(const checker_state&) = delete;
  ~checker_state() { kill(); }

  void kill() {
    if (helper) {
      config.runner->cancel(*helper);
      helper.reset();
    }
  }

  static inline const char* name = "source-checker";
  source_checker_config config;
  std::string script;
  std::optional<check_desk> desk;
  std::optional<sandbox::run_handle> helper;
  check_desk::ticket last_ticket = 0;
  std::unordered_map<check_desk::ticket, report_promise> waiting;
};

using self_pointer = inner_actor::stateful_pointer<checker_state>;

std::string read_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// A 1 MiB text takes the parser up to 900 MB in the worst case (a million statements) and 100 MB in the usual one;
/// the helper limits itself a little below, so that such a text is an answer and not its death.
sandbox::run_spec helper_spec(const checker_state& state) {
  sandbox::run_spec spec;
  spec.argv = {state.config.python.executable, "-I", "-B", script_name};
  spec.environment = sandbox::candidate_environment({}, {});
  spec.files = {{script_name, state.script}};
  spec.readable = state.config.python.readable;
  spec.limits.wall = std::chrono::milliseconds{0};
  spec.limits.cpu = std::chrono::seconds{0};
  spec.limits.memory = 512 * MiB;
  spec.limits.data = 512 * MiB;
  spec.limits.disk = 4 * MiB;
  spec.limits.file = 4 * MiB;
  spec.limits.pids = 4;
  spec.is_interactive = true;
  return spec;
}

template <class Message>
void tell(const caf::weak_actor_ptr& to, Message msg) {
  if (const auto strong = caf::actor_cast<caf::strong_actor_ptr>(to)) {
    caf::anon_send(caf::actor_cast<inner_actor>(strong), std::move(msg));
  }
}

/// A helper that floods must not fill the mailbox: past its longest honest answer its words are dropped unread, and
/// the question's time-out ends it.
std::function<void(std::string_view)> listener(self_pointer self, std::uint64_t generation) {
  auto unread = std::make_shared<std::atomic<std::size_t>>(0);
  return [to = caf::weak_actor_ptr{self->ctrl()}, generation, unread](std::string_view bytes) {
    if (unread->fetch_add(bytes.size()) <= 2 * helper_line_bytes) {
      tell(to, helper_said{generation, std::string{bytes}, unread});
    }
  };
}

/// "exit status 1: ModuleNotFoundError: No module named 'ast'"
std::string why_ended(const sandbox::run_result& result) {
  constexpr std::size_t shown = 300;
  std::string_view text = result.stderr_kept;
  text = text.substr(0, text.find_last_not_of(" \r\n") + 1);
  text = text.substr(text.find_last_of('\n') + 1);
  const auto last_line = clean_text(text.substr(0, shown));
  return result.reason + (last_line.empty() ? "" : ": " + last_line);
}

void start_helper(self_pointer self, std::uint64_t generation) {
  auto& state = self->state;
  auto on_end = [to = caf::weak_actor_ptr{self->ctrl()}, generation](const sandbox::run_result& result) {
    tell(to, helper_ended{generation, why_ended(result)});
  };
  state.helper =
      state.config.runner->start_interactive(helper_spec(state), listener(self, generation), std::move(on_end));
}

void answer_waiting(checker_state& state) {
  for (auto& each : state.desk->take_results()) {
    auto promise = state.waiting.extract(each.asked);
    if (promise.empty()) {
      continue;
    }
    if (each.report) {
      promise.mapped().deliver(std::move(*each.report));
    } else {
      promise.mapped().deliver(each.report.error());
    }
  }
}

void work(self_pointer self) {
  using verb = check_desk::verb;
  auto& state = self->state;
  while (true) {
    const auto now = self->clock().now();
    auto step = state.desk->next(now);
    if (step.what == verb::start) {
      start_helper(self, step.generation);
    } else if (step.what == verb::write && state.helper) {
      state.config.runner->write(*state.helper, std::move(step.bytes));
    } else if (step.what == verb::kill) {
      state.kill();
    } else if (step.what == verb::wake) {
      self->delayed_send(self, step.at - now, checker_tick{});
    } else {
      break;
    }
  }
  answer_waiting(state);
}

caf::result<source_report> on_check(self_pointer self, check_source& msg) {
  auto& state = self->state;
  if (state.config.runner == nullptr) {
    return fail(ec::sandbox_refused, "no sandbox for the syntax check");
  }
  if (state.script.empty()) {
    return fail(ec::io_failed, "cannot read " + python_helper(script_name));
  }
  if (msg.texts.size() > max_texts) {
    return fail(ec::refused, std::to_string(msg.texts.size()) + " texts in one check; at most 64");
  }
  auto promise = self->make_response_promise<source_report>();
  state.waiting.emplace(++state.last_ticket, promise);
  state.desk->ask(state.last_ticket, std::move(msg.texts), self->clock().now());
  work(self);
  return promise;
}

void on_said(self_pointer self, const helper_said& msg) {
  msg.unread->fetch_sub(msg.bytes.size());
  self->state.desk->on_output(msg.generation, msg.bytes, self->clock().now());
  work(self);
}

void on_ended(self_pointer self, const helper_ended& msg) {
  self->state.desk->on_ended(msg.generation, msg.reason, self->clock().now());
  work(self);
}

inner_actor::behavior_type source_checker(self_pointer self, source_checker_config config) {
  auto& state = self->state;
  state.config = std::move(config);
  state.script = read_file(python_helper(script_name));
  state.desk.emplace(check_desk_config{state.config.answer_timeout});
  return {
      [=](check_source& msg) { return on_check(self, msg); },
      [=](const helper_said& msg) { on_said(self, msg); },
      [=](const helper_ended& msg) { on_ended(self, msg); },
      [=](const checker_tick&) {
        self->state.desk->tick(self->clock().now());
        work(self);
      },
  };
}

}  // namespace

source_checker_actor spawn_source_checker(caf::actor_system& system, source_checker_config config) {
  return system.spawn(source_checker, std::move(config));
}

}  // namespace regatta
