// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.hpp"

#include "cli/exit_codes.hpp"
#include "messages/limits.hpp"
#include "regatta_version.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <array>

namespace regatta::cli {

namespace {

/// Flags of KernelAgent that say what is always so here, and others that users will try.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> hints = {{
    {"--isolated", "every candidate is isolated here; leave it out"},
    {"--deny-network", "no candidate ever has a network here; leave it out"},
    {"--enable-reasoning-extras", "they are on; reasoning_extras in a [providers.NAME] table switches them off"},
    {"--problem", "the problem is an argument of its own: regatta race PROBLEM.py"},
    {"--api-key", "keys come from the environment or a file of mode 0600, never from the command line"},
}};

/// What a race that goes on may be given anew.
std::vector<std::string_view> resume_options() {
  return {"max-iters",        "deadline", "budget", "budget-tokens", "budget-process", "budget-process-tokens",
          "budget-day",       "base-url", "replay", "command",       "llm-timeout-s",  "store-responses",
          "env-file",         "slots",    "gpu-slots", "python", "python-path",   "require-level",  "allow-unsandboxed",
          "cold",
          "state-dir",        "events",   "stream", "json",          "quiet",          "verbose",
          "budget-day-tokens"};
}

std::string usage_of(const std::string& command) {
  return command == "race" ? "PROBLEM.py" : command == "verify" ? "CANDIDATE.py PROBLEM.py" : "RUN";
}

class line_parser {
public:
  line_parser() : app_{"Races LLM workers on one PyTorch problem until a candidate passes.", "regatta"} {
    app_.set_version_flag("--version", std::string{"regatta "} + version);
    app_.require_subcommand(1);
    app_.fallthrough(false);
    app_.footer(exit_code_help() + "\n\nregatta COMMAND --help tells more.");
    add_race();
    add_resume();
    add_show();
    add_list();
    add_cancel();
    add_entries(add(command_kind::status, "status", "The races that run with this state folder"), {"state-dir"});
    add_record();
    add_gc();
    add_config();
    add_doctor();
    add_verify();
  }

  parsed_line parse(std::vector<std::string> arguments) {
    typed_ = arguments;
    std::reverse(arguments.begin(), arguments.end());
    try {
      app_.parse(arguments);
    } catch (const CLI::CallForVersion& x) {
      return {std::nullopt, std::string{x.what()} + "\n", 0};
    } catch (const CLI::CallForHelp&) {
      return {std::nullopt, help(), 0};
    } catch (const CLI::CallForAllHelp&) {
      return {std::nullopt, help(), 0};
    } catch (const CLI::ParseError& x) {
      return {std::nullopt, "regatta: " + explained(x) + "\n", static_cast<int>(exit_code::usage)};
    }
    return {out_, "", 0};
  }

private:
  /// CLI11 does not tell which of an option's names was used.
  bool is_typed(const std::string& name) const {
    return std::any_of(typed_.begin(), typed_.end(),
                       [&](const auto& x) { return x == "--" + name || x.starts_with("--" + name + "="); });
  }

  CLI::App* add(command_kind kind, const std::string& name, const std::string& text) {
    auto* command = app_.add_subcommand(name, text);
    command->callback([this, kind] { out_.kind = kind; });
    return command;
  }

  void add_entry(CLI::App* command, const option_entry& entry) {
    const std::string name{entry.name};
    std::string flags = "--" + name;
    flags += entry.alias.empty() ? "" : ",--" + std::string{entry.alias};
    flags += name == "verbose" ? ",-v" : "";
    std::string help{entry.help};
    if (!entry.fallback.empty() && entry.rule.kind != value_kind::flag) {
      help += " (" + std::string{entry.fallback} + ")";
    }
    const auto store = [this, name, alias = std::string{entry.alias}](const std::vector<std::string>& values) {
      out_.flags[!alias.empty() && is_typed(alias) && !is_typed(name) ? alias : name] = values;
      return true;
    };
    auto* option = command->add_option(flags, store, help)->group(std::string{entry.group});
    if (entry.rule.kind == value_kind::flag) {
      option->type_size(0)->expected(0);
    } else {
      option->type_name(std::string{entry.value_name})->expected(1)->allow_extra_args(false);
    }
    if (entry.is_list) {
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
  }

  void add_entries(CLI::App* command, const std::vector<std::string_view>& names) {
    for (const auto& entry : all_options()) {
      if (names.empty() || std::find(names.begin(), names.end(), entry.name) != names.end()) {
        add_entry(command, entry);
      }
    }
    command->add_option("--config", out_.config_file, "Configuration file before ./regatta.toml")
        ->type_name("FILE")
        ->group("Output");
  }

  void add_race() {
    auto* command = add(command_kind::race, "race", "Race workers on PROBLEM.py");
    command->add_option("PROBLEM", out_.problem, "File with Model, get_inputs() and get_init_inputs()")->required();
    add_entries(command, {});
    command->footer(exit_code_help());
  }

  void add_resume() {
    auto* command =
        add(command_kind::resume, "resume", "Go on with a race that was killed, stopped or ended without a winner");
    command->add_option("RUN", out_.run, "Run id, the beginning of one, or latest")->required();
    add_entries(command, resume_options());
    command->footer(
        "All else is as the race began: problem, prompts, models, limits. Keys, addresses and tables of its\n"
        "providers are those of now.\n\n" +
        exit_code_help());
  }

  void add_show() {
    auto* command = add(command_kind::show, "show", "What happened in a race");
    command->add_option("RUN", out_.run, "Run id, the beginning of one, or latest")->required();
    command->add_option("--worker", out_.worker, "Only this worker, e.g. worker_02 or 2")->type_name("W");
    command->add_option("--round", out_.round, "Only this round; names its files")
        ->type_name("K")
        ->check(CLI::Range(1U, max_rounds, "a whole number from 1 to " + std::to_string(max_rounds)));
    add_entries(command, {"state-dir", "json"});
  }

  void add_list() {
    add_entries(add(command_kind::list, "list", "The races of this state folder"), {"state-dir", "json"});
  }

  void add_cancel() {
    auto* command = add(command_kind::cancel, "cancel", "Stop a running race cleanly");
    command->add_option("RUN", out_.run, "Run id, the beginning of one, or latest")->required();
    add_entries(command, {"state-dir"});
  }

  void add_record() {
    auto* command =
        add(command_kind::record, "record", "A run as a recording: regatta race --replay FILE runs it again");
    command->add_option("RUN", out_.run, "Run id, the beginning of one, or latest")->required();
    command->add_option("-o,--output", out_.out_file, "Write to FILE (stdout)")->type_name("FILE");
    add_entries(command, {"state-dir"});
    command->footer("A recording holds every prompt's reply in full. Exit code: 0, or 1 if there is none.");
  }

  void add_gc() {
    auto* command = add(command_kind::gc, "gc", "Remove races that are over, oldest first, and what killed ones left");
    command->add_option("--older-than", out_.older_than, "Races that ended longer ago, e.g. 30d or 12h")
        ->type_name("AGE");
    command->add_option("--keep-size", out_.keep_size, "The oldest until the state folder is no larger, e.g. 10GiB")
        ->type_name("SIZE");
    command->add_flag("--dry-run", out_.is_dry_run, "Only say what would go");
    add_entries(command, {"state-dir", "json"});
    command->footer(
        "Without a limit only leftovers go. Races that run, or that can be resumed, stay; so does what was\n"
        "spent, which budgets count. Exit code: 0, or 1 if something could not be removed.");
  }

  void add_config() {
    auto* command = add(command_kind::config, "config", "Every value and where it comes from");
    add_entries(command, {});
  }

  void add_doctor() {
    auto* command = add(command_kind::doctor, "doctor", "Check this host and say how to mend what is found");
    add_entries(command, {"state-dir", "json", "python", "python-path", "env-file", "require-level"});
    command->footer("Exit code: 0 without a failed check, else 1.");
  }

  void add_verify() {
    auto* command = add(command_kind::verify, "verify", "Have the judge decide whether CANDIDATE.py is right");
    command->add_option("CANDIDATE", out_.candidate, "What a model wrote")->required();
    command->add_option("PROBLEM", out_.problem, "File with Model, get_inputs() and get_init_inputs()")->required();
    add_entries(command, {"stage", "device", "python", "python-path", "cold", "require-level", "allow-unsandboxed",
                          "run-timeout-s", "limit-memory", "json", "eval", "allow-tf32", "policy-off", "timing", "trials",
                          "tolerance", "allow-weak", "architecture"});
    command->footer(
        "With --json: the whole verdict (docs/judge.md). Exit code: 0 right, 4 not right, 1 the problem cannot be\n"
        "judged or the sandbox failed.");
  }

  const CLI::App* chosen() const {
    const auto all = app_.get_subcommands();
    return all.empty() ? &app_ : all.front();
  }

  std::string help() const { return chosen()->help() + "\n"; }

  /// One line that names flag, got and allowed.
  std::string explained(const CLI::ParseError& x) const {
    const std::string name = chosen() == &app_ ? "" : chosen()->get_name() + ": ";
    const auto code = static_cast<CLI::ExitCodes>(x.get_exit_code());
    if (code == CLI::ExitCodes::ExtrasError || code == CLI::ExitCodes::RequiredError) {
      const auto extras = chosen()->remaining();
      // A flag first: what stands behind an unknown one is probably its value.
      const auto flag = std::find_if(extras.begin(), extras.end(), [](const auto& y) { return y.starts_with('-'); });
      return name + (extras.empty() ? missing() : unexpected(flag == extras.end() ? extras.front() : *flag));
    }
    std::string text = x.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return name + text;
  }

  std::string missing() const {
    if (chosen() == &app_) {
      return "no command; allowed: " + command_names();
    }
    return "an argument is missing; usage: regatta " + chosen()->get_name() + " " +
           usage_of(chosen()->get_name()) + " [OPTIONS]";
  }

  std::string command_names() const {
    std::string out;
    for (const auto* command : app_.get_subcommands({})) {
      out += (out.empty() ? "" : ", ") + command->get_name();
    }
    return out;
  }

  std::string unexpected(const std::string& got) const {
    const auto flag = got.substr(0, got.find('='));
    for (const auto& [name, hint] : hints) {
      if (flag == name) {
        return "got " + flag + ": " + std::string{hint};
      }
    }
    if (chosen() == &app_) {
      return "unknown command: got " + got + ", allowed: " + command_names();
    }
    std::vector<std::string> known;
    for (const auto* option : chosen()->get_options()) {
      for (const auto& text : option->get_lnames()) {
        known.push_back("--" + text);
      }
    }
    const auto near = nearest(flag, known);
    return "unknown argument: got " + got + (near.empty() ? "" : ", did you mean " + near + "?") + " (regatta " +
           chosen()->get_name() + " --help has all that are allowed)";
  }

  CLI::App app_;
  std::vector<std::string> typed_;
  command_line out_;
};

}  // namespace

parsed_line parse_command_line(const std::vector<std::string>& arguments) {
  return line_parser{}.parse(arguments);
}

}  // namespace regatta::cli
