// SPDX-License-Identifier: Apache-2.0
// A tree that the kernel does not end at our order (as in uninterruptible sleep): simulated with the v1 freezer.
#include "sandbox/linux_api.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <future>

namespace regatta::sandbox::test {

namespace {

/// A frozen v1 cgroup: its members do not die of SIGKILL until it is thawed.
class freezer {
public:
  freezer() { ok_ = ::geteuid() == 0 && ::mkdir(folder_.c_str(), 0755) == 0; }
  ~freezer() {
    if (ok_) {
      thaw();
      for (int i = 0; i < 200 && ::rmdir(folder_.c_str()) != 0; ++i) {
        ::usleep(10'000);  // until its last member is reaped
      }
    }
  }
  freezer(const freezer&) = delete;
  freezer& operator=(const freezer&) = delete;
  bool ok() const { return ok_; }
  void freeze(const std::vector<pid_t>& pids) {
    for (const auto pid : pids) {
      linux_api::write_file(folder_ + "/cgroup.procs", std::to_string(pid));
    }
    linux_api::write_file(folder_ + "/freezer.state", "FROZEN");
    for (int i = 0; i < 500 && !linux_api::read_file(folder_ + "/freezer.state").starts_with("FROZEN"); ++i) {
      ::usleep(2'000);  // v1 tells nobody when it has frozen
    }
  }
  void thaw() { linux_api::write_file(folder_ + "/freezer.state", "THAWED"); }

private:
  std::string folder_ = "/sys/fs/cgroup/freezer/regatta-test-" + std::to_string(::getpid());
  bool ok_ = false;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(unkillable)

// Kind B37: a child that cannot be reaped blocks its watchdog (dynamo #12710).
BOOST_AUTO_TEST_CASE(a_tree_that_does_not_die_keeps_its_slot_while_others_go_on) {
  freezer cold;
  if (!cold.ok()) {
    leave_out_case("freezer", "no v1 freezer hierarchy that we may write");
    return;
  }
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  std::promise<run_result> ended;
  auto end = ended.get_future();
  const auto handle = sandbox->start(program_spec({"/bin/sleep", "600"}),
                                     [&](run_result result) { ended.set_value(std::move(result)); });
  wait_for_processes();
  cold.freeze(survivors());
  sandbox->cancel(handle);
  // Not gone, so not reported; the thread serves others meanwhile.
  for (int i = 0; i < 5; ++i) {
    BOOST_TEST((run(*sandbox, program_spec({"/bin/true"})).outcome == outcome::exited));
  }
  BOOST_TEST((end.wait_for(std::chrono::milliseconds{200}) == std::future_status::timeout));
  BOOST_TEST(sandbox->running() == 1U);
  cold.thaw();
  BOOST_REQUIRE((end.wait_for(std::chrono::seconds{30}) == std::future_status::ready));
  const auto result = end.get();
  BOOST_TEST((result.outcome == outcome::cancelled), result.reason);
  BOOST_TEST(result.killed_in.count() > 200'000);
}

// Kinds B28 and B37 together.
BOOST_AUTO_TEST_CASE(shutting_down_does_not_wait_for_ever) {
  freezer cold;
  if (!cold.ok()) {
    leave_out_case("freezer", "no v1 freezer hierarchy that we may write");
    return;
  }
  auto sandbox = open_runner();
  std::promise<run_result> ended;
  sandbox->start(program_spec({"/bin/sleep", "600"}), [&](run_result result) { ended.set_value(std::move(result)); });
  wait_for_processes();
  cold.freeze(survivors());
  sandbox.reset();
  const auto result = ended.get_future().get();
  BOOST_TEST((result.outcome == outcome::sandbox_failed));
  BOOST_TEST(result.reason.find("not confirmed gone") != std::string::npos, result.reason);
  cold.thaw();
  BOOST_TEST(are_all_gone());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::sandbox::test
