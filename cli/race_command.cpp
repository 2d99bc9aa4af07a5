// SPDX-License-Identifier: Apache-2.0
#include "cli/account.hpp"
#include "cli/commands.hpp"
#include "cli/control_socket.hpp"
#include "cli/log.hpp"
#include "cli/race_display.hpp"
#include "cli/race_run.hpp"
#include "cli/run_claim.hpp"
#include "cli/terminal_text.hpp"
#include "messages/error.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace regatta::cli {

namespace {

using clock = std::chrono::steady_clock;

/// How often a live display moves although nothing happens: its clock runs.
constexpr int redraw_ms = 100;

std::int64_t utc_now_us() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

class race_run {
public:
  race_run(const session& x, race_setup setup, streams to)
      : setup_{std::move(setup)},
        to_{to},
        is_json_{x.values.flag("json")},
        choice_{choice_of(x, to)},
        display_{mode_for(choice_),
                 has_color(choice_),
                 from_name<stream_mode>(x.values.text("stream")).value_or(stream_mode::none),
                 to.out,
                 to.err,
                 start_},
        state_dir_{setup_.config.state_dir} {
    if (setup_.resumed) {
      view_.begin_at(*setup_.resumed, utc_now_us());
    }
  }

  exit_code run(signal_watch& signals) {
    const auto race = setup_.spec.race;
    setup_.config.claim = [this] { return claim(); };
    auto opened = embedded::open(std::move(setup_.config), news_);
    if (!opened) {
      release();
      return complain(opened.error(), to_);
    }
    auto& house = **opened;
    log_info("sandbox " + to_string(house.level()) + ", events on " +
             (house.events_endpoint().empty() ? "no socket" : house.events_endpoint()));
    if (auto failed = start(house)) {
      release();
      const auto code = complain(failed, to_);
      end(house);
      return code;
    }
    signals.on_first([&house, race](int signal) { house.stop(race, signal_name(signal)); });
    watch(house, control_for(race));
    // From here on nothing is left to be stopped; a signal ends the program at once.
    signals.on_first({});
    const bool has_ended = end(house);
    const auto code = finish();
    return has_ended ? code : exit_code::internal;
  }

private:
  static display_choice choice_of(const session& x, streams to) {
    return {x.values.flag("json"), x.values.flag("quiet"), to.err.is_terminal(), value_of(x.env, "TERM"),
            value_of(x.env, "NO_COLOR")};
  }

  caf::error start(embedded& house) {
    return setup_.resumed ? house.start(setup_.spec, std::move(setup_.resumed->standing)) : house.start(setup_.spec);
  }

  /// The record of a race that goes on may be half an hour old by now: whoever has gone on meanwhile keeps it.
  caf::error claim() {
    last_seq_ = setup_.resumed ? setup_.resumed->standing.last_seq : 0;
    auto failed = setup_.resumed ? claim_race(state_dir_, setup_.spec.race, utc_now_us(), last_seq_)
                                 : claim_run_folder(setup_.spec.run_dir);
    has_claim_ = !failed;
    return failed;
  }

  /// It never began.
  void release() {
    if (!has_claim_) {
      return;
    }
    if (!setup_.resumed) {
      ::rmdir(setup_.spec.run_dir.c_str());
    } else if (const auto& ended = setup_.resumed->ended) {
      if (auto failed = release_race(state_dir_, setup_.spec.race, *ended, last_seq_)) {
        log_warning("the race counts as killed now: " + clean_line(text_of(failed)));
      }
    }
  }

  /// Until the race is closed, or the coordinator is gone.
  void watch(embedded& house, std::unique_ptr<control_server> control) {
    std::array<pollfd, 2> ready = {{{news_->fd(), POLLIN, 0}, {control ? control->fd() : -1, POLLIN, 0}}};
    while (!closed_ && lost_.empty()) {
      ::poll(ready.data(), ready.size(), redraw_ms);
      if (ready[1].revents != 0) {
        control->serve([&](const std::string& request) { return answer(house, request); });
      }
      for (const auto& news : news_->take()) {
        std::visit([this](const auto& x) { on(x); }, news);
      }
      display_.refresh(view_, clock::now());
    }
    display_.finish();
  }

  /// A race without one still races; it can be stopped by a signal.
  std::unique_ptr<control_server> control_for(const race_id& race) {
    auto out = control_server::open(state_dir_, race);
    if (!out) {
      log_warning("no control socket: " + clean_line(text_of(out.error())));
      return nullptr;
    }
    return std::move(*out);
  }

  std::string answer(embedded& house, const std::string& request) {
    const auto& race = setup_.spec.race;
    if (request == "cancel") {
      house.stop(race, "regatta cancel");
      return race.text + ": stopping\n";
    }
    if (request == "status") {
      return race.text + ": " +
             status_line(view_, std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - start_)) + "\n";
    }
    return "unknown request\n";
  }

  void on(const event& x) {
    view_.apply(x);
    display_.on(x, view_, clock::now());
  }
  void on(const race_closed& x) {
    view_.apply(x);
    display_.on(x);
    closed_ = x;
  }
  void on(const coordinator_lost& x) { lost_ = closed_ ? "" : "the coordinator ended: " + x.why; }

  bool end(embedded& house) {
    if (auto failed = house.close()) {
      complain(failed, to_);
      return false;
    }
    return true;
  }

  exit_code finish() {
    if (!closed_) {
      return complain(fail(ec::internal, lost_), to_);
    }
    if (!closed_->commit_failure.empty()) {
      log_warning("not everything is on disk: " + clean_line(closed_->commit_failure));
    }
    if (!is_json_) {
      to_.out.write(account_text(record(), {}));
      if (setup_.resumed) {
        to_.out.write(view_.reuse_line());
      }
    }
    return exit_code_of(*closed_, view_.is_budget_spent());
  }

  /// Of a resumed race this process has seen only a part.
  race_record record() const {
    if (setup_.resumed) {
      auto store = store_reader::open(state_dir_);
      auto whole = store ? store->load_race(setup_.spec.race) : caf::expected<race_record>{store.error()};
      if (whole) {
        return std::move(*whole);
      }
      log_warning("the whole account: " + clean_line(text_of(whole.error())));
    }
    return view_.record();
  }

  race_setup setup_;
  streams to_;
  bool is_json_;
  clock::time_point start_ = clock::now();
  display_choice choice_;
  race_display display_;
  std::string state_dir_;
  bool has_claim_ = false;
  std::uint64_t last_seq_ = 0;  ///< Of the record that this process goes on from.
  std::shared_ptr<event_queue> news_ = std::make_shared<event_queue>();
  race_view view_;
  std::optional<race_closed> closed_;
  std::string lost_;
};

}  // namespace

exit_code run_to_its_end(const session& x, race_setup setup, signal_watch& signals, streams to) {
  for (const auto& text : setup.warnings) {
    log_warning(clean_line(text));
  }
  return race_run{x, std::move(setup), to}.run(signals);
}

exit_code run_race(const session& x, signal_watch& signals, streams to) {
  auto setup = prepare_race(x);
  if (!setup) {
    return complain(setup.error(), to);
  }
  log_info("race " + setup->spec.race.text + ", " + setup->model_source);
  log_info("candidates run under " + setup->python_text);
  return run_to_its_end(x, std::move(*setup), signals, to);
}

}  // namespace regatta::cli
