// SPDX-License-Identifier: Apache-2.0
#include "node/judge_launcher.hpp"

#include "node/compile_check.hpp"
#include "node/evaluator.hpp"
#include "node/judge_specs.hpp"
#include "node/judging.hpp"
#include "node/timing_codec.hpp"

#include <mutex>
#include <optional>
#include <utility>

namespace regatta {

namespace {

using callback = std::function<void(judged_end)>;

/// What of a run can be killed. A cancel may come between its self-test and its judging.
struct job {
  std::mutex mutex;
  bool is_cancelled = false;
  std::optional<candidate_launcher::handle> self_test;
  std::shared_ptr<judging> judged;
  std::optional<sandbox::run_handle> compiling;
};

/// A judged end that keeps what the self-test before it said.
judged_end with_self_test(judged_end judged, const judged_end& tested) {
  judged.run.claim = tested.run.claim;
  judged.run.stdout_kept = tested.run.stdout_kept;
  judged.run.stdout_bytes = tested.run.stdout_bytes;
  judged.run.kept = tested.run.kept;
  judged.run.cpu_time += tested.run.cpu_time;
  judged.run.elapsed += tested.run.elapsed;
  return judged;
}

/// From now on others' work is looked at, until the end is told.
callback with_timing(const run& what, const placement& where, callback done) {
  return [watch = std::make_shared<timing_watch>(where.device), what, done = std::move(done)](judged_end end) {
    end.timing = timing_record_of(end.record, what, watch->end(end.whole_cpu));
    done(std::move(end));
  };
}

judged_end not_started(outcome how, std::string reason) {
  judged_end end;
  end.run.outcome = how;
  end.run.reason = std::move(reason);
  return end;
}

}  // namespace

struct judge_launcher::core : std::enable_shared_from_this<core> {
  core(const std::shared_ptr<candidate_launcher>& tests, sandbox::runner& where, sandbox::interpreter interpreter,
       std::map<std::string, std::string> environment)
      : self_tests{tests},
        runner{where},
        python{std::move(interpreter)},
        host_environment{std::move(environment)} {}

  void self_test(const std::shared_ptr<job>& mine, const run& what, const placement& where, const callback& done);
  void judge(const std::shared_ptr<job>& mine, const run& what, const placement& where, callback done);
  callback then_compile(const std::shared_ptr<job>& mine, const run& what, callback done);

  const std::weak_ptr<candidate_launcher> self_tests;  ///< It owns the runner, too.
  sandbox::runner& runner;
  const sandbox::interpreter python;
  const std::map<std::string, std::string> host_environment;
  const judge_kit kit = find_judge_kit();
  std::mutex mutex;
  handle last = 0;
  std::map<handle, std::shared_ptr<job>> jobs;
};

void judge_launcher::core::self_test(const std::shared_ptr<job>& mine, const run& what, const placement& where,
                                     const callback& done) {
  const auto tests = self_tests.lock();
  if (!tests) {
    done(not_started(outcome::cancelled, "the node is shutting down"));
    return;
  }
  callback next = done;
  if (what.accept == accept_rule::both) {
    auto held = where.device == nullptr ? std::nullopt : std::optional{*where.device};
    next = [self = shared_from_this(), mine, what, held = std::move(held), is_alone = where.is_alone,
            done](judged_end tested) {
      if (tested.run.claim == claim::none) {
        done(std::move(tested));
        return;
      }
      self->judge(mine, what, {held ? &*held : nullptr, is_alone},
                  [tested, done](judged_end judged) { done(with_self_test(std::move(judged), tested)); });
    };
  }
  const std::lock_guard lock{mine->mutex};
  mine->self_test = tests->start(what, where, std::move(next));
}

void judge_launcher::core::judge(const std::shared_ptr<job>& mine, const run& what, const placement& where,
                                 callback done) {
  judge_question question;
  question.stage = what.stage;
  question.terms = what.judging;
  question.is_timing = what.is_timing;
  const judge_place place{where.device, python, host_environment, what.limits, where.is_alone};
  auto specs = kit.problem.empty() ? make_judge_specs(kit, place, question, what.problem, what.code)
                                   : judge_specs{{}, {}, {}, "no judge: " + kit.problem};
  std::unique_lock lock{mine->mutex};
  if (!specs.failure.empty() || mine->is_cancelled) {
    auto end = mine->is_cancelled ? not_started(outcome::cancelled, "cancelled")
                                  : not_started(outcome::sandbox_failed, specs.failure);
    lock.unlock();
    done(std::move(end));
    return;
  }
  mine->judged = std::make_shared<judging>(runner);
  if (what.is_timing) {
    done = with_timing(what, where, std::move(done));
  } else if (where.device == nullptr && !what.judging.architectures.empty()) {
    done = then_compile(mine, what, std::move(done));
  }
  mine->judged->start(std::move(specs), false, std::move(done));
}

/// Who is right by the interpreter must also compile for what it is meant for.
callback judge_launcher::core::then_compile(const std::shared_ptr<job>& mine, const run& what, callback done) {
  return [self = shared_from_this(), mine, what, done = std::move(done)](judged_end end) {
    const auto launches = launches_in(end);
    std::unique_lock lock{mine->mutex};
    if (launches.empty() || mine->is_cancelled) {
      lock.unlock();
      done(std::move(end));
      return;
    }
    const judge_place place{nullptr, self->python, self->host_environment, what.limits};
    auto spec = compile_spec(self->kit, place, what.code, launches, what.judging.architectures);
    mine->compiling = self->runner.start(std::move(spec), [end = std::move(end), done](const sandbox::run_result& compiler) {
      done(with_compiled(end, compiler));
    });
  };
}

judge_launcher::judge_launcher(std::shared_ptr<candidate_launcher> self_tests, std::shared_ptr<sandbox::runner> runner,
                               sandbox::interpreter python, std::map<std::string, std::string> host_environment)
    : runner_{std::move(runner)},
      self_tests_{std::move(self_tests)},
      core_{std::make_shared<core>(self_tests_, *runner_, std::move(python), std::move(host_environment))} {}

candidate_launcher::handle judge_launcher::start(const run& what, const placement& where, callback done) {
  auto mine = std::make_shared<job>();
  handle number = 0;
  {
    const std::lock_guard lock{core_->mutex};
    number = ++core_->last;
    core_->jobs.emplace(number, mine);
  }
  auto finish = [kept = core_, number, done = std::move(done)](judged_end end) {
    {
      const std::lock_guard lock{kept->mutex};
      kept->jobs.erase(number);
    }
    done(std::move(end));
  };
  if (what.accept == accept_rule::verified || what.is_timing) {
    core_->judge(mine, what, where, std::move(finish));
  } else {
    core_->self_test(mine, what, where, std::move(finish));
  }
  return number;
}

void judge_launcher::cancel(handle run) {
  std::shared_ptr<job> mine;
  {
    const std::lock_guard lock{core_->mutex};
    const auto found = core_->jobs.find(run);
    if (found == core_->jobs.end()) {
      return;
    }
    mine = found->second;
  }
  const std::lock_guard lock{mine->mutex};
  mine->is_cancelled = true;
  if (mine->compiling) {
    core_->runner.cancel(*mine->compiling);
  } else if (mine->judged) {
    mine->judged->cancel();
  } else if (mine->self_test) {
    self_tests_->cancel(*mine->self_test);
  }
}

}  // namespace regatta
