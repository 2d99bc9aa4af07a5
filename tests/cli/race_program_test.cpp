// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE race_program
#include "tests/cli/program_run.hpp"
#include "tests/cli/scratch_folder.hpp"
#include "tests/cli/toy_race.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/mount.h>
#include <zmq.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace regatta::test {

namespace {

namespace fs = std::filesystem;

/// Two workers: one waits for a reply that never ends, the other runs a candidate that never ends.
std::string endless_recording(const scratch_folder& folder) {
  return folder.write(
      "endless.jsonl",
      R"({"format": "regatta-recording/1", "workers": 2})"
      "\n"
      R"({"worker": 1, "round": 1, "deltas": ["thinking"], "stall": true})"
      "\n"
      R"({"worker": 2, "round": 1, "accepted": false, "finish": "stop", "deltas": ["```python\nimport os, time\n)"
      R"(os.fork()\nos.setsid() if os.getpid() != os.getpgrp() else 0\nclass ModelNew: pass\n)"
      R"(def kernel_function(): pass\nwhile True: time.sleep(1)\n```\n"]})"
      "\n");
}

bool is_alive(pid_t pid) {
  return fs::exists("/proc/" + std::to_string(pid));
}

fs::path run_folder(const scratch_folder& folder) {
  for (const auto& entry : fs::directory_iterator{folder / ".regatta"}) {
    if (entry.path().filename().string().starts_with("run_")) {
      return entry.path();
    }
  }
  return {};
}

/// Files below `folder` whose content holds `text`.
texts files_with(const fs::path& folder, const std::string& text) {
  texts out;
  for (const auto& entry : fs::recursive_directory_iterator{folder}) {
    if (entry.is_regular_file() && has(read_file(entry.path().string()), text)) {
      out.push_back(entry.path().string());
    }
  }
  return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_replayed_race_ends_with_an_account_that_show_repeats) {
  const scratch_folder folder;
  program_run program{folder.path(), race({"--workers", "4"}, toy_recording())};
  BOOST_TEST(program.wait() == 0, program.err());
  const auto account = program.out();
  BOOST_TEST_INFO(account);
  BOOST_TEST(has(account, "won by worker_"));
  BOOST_TEST(has(account, "(claimed, not verified)"));
  BOOST_TEST(has(account, "(quiet_ms)"));
  BOOST_TEST(!has(account, "\x1B"));
  const auto run = run_folder(folder);
  BOOST_TEST(fs::exists(run / "orchestrator/summary.json"));
  BOOST_TEST(fs::exists(run / "result.tar.gz"));
  BOOST_TEST(has(account, run.string()));
  BOOST_TEST(fs::is_empty(folder / ".regatta/events"));
  BOOST_TEST(fs::is_empty(folder / ".regatta/control"));

  const auto id = run.filename().string();
  for (const auto& name : {std::string{"latest"}, id, id.substr(0, 10)}) {
    program_run show{folder.path(), {regatta_program(), "show", name}};
    BOOST_TEST(show.wait() == 0, show.err());
    BOOST_TEST(show.out() == account);
  }
  program_run list{folder.path(), {regatta_program(), "list"}};
  BOOST_TEST(list.wait() == 0);
  BOOST_TEST(has(list.out(), id));
  program_run json{folder.path(), {regatta_program(), "show", "latest", "--json"}};
  BOOST_TEST(json.wait() == 0);
  BOOST_TEST(has(json.out(), "\"standing\": \"claimed, not verified\""));
  program_run far{folder.path(), {regatta_program(), "show", "latest", "--round", "99"}};
  BOOST_TEST(far.wait() == 2, far.out());
  BOOST_TEST(has(far.err(), "--round: got 99, allowed: 1 to "), far.err());
  for (const auto* bad : {"run_19990101", "../../etc/passwd", "/etc/passwd", ".", ""}) {
    program_run show{folder.path(), {regatta_program(), "show", bad}};
    BOOST_TEST(show.wait() != 0);
    BOOST_TEST(show.out() == "");
    BOOST_TEST(has(show.err(), "regatta: "));
  }
}

BOOST_AUTO_TEST_CASE(json_is_one_object_per_event_and_nothing_else) {
  const scratch_folder folder;
  program_run program{folder.path(), race({"--json"}, toy_recording())};
  BOOST_TEST(program.wait() == 0, program.err());
  const auto out = program.out();
  std::string last;
  for (std::size_t at = 0; at < out.size();) {
    const auto end = out.find('\n', at);
    last = out.substr(at, end - at);
    BOOST_TEST((last.starts_with("{") && last.ends_with("}")));
    at = end + 1;
  }
  BOOST_TEST(has(last, "\"kind\":\"race_closed\""));
  BOOST_TEST(has(out, "\"kind\":\"winner_decided\""));
}

BOOST_AUTO_TEST_CASE(quiet_leaves_only_the_result) {
  const scratch_folder folder;
  program_run program{folder.path(), race({"--quiet", "--events", "off"}, toy_recording())};
  BOOST_TEST(program.wait() == 0);
  BOOST_TEST(has(program.out(), "won by"));
  BOOST_TEST(!has(program.err(), "worker_"));
}

// Kind B28: a stuck candidate holds the program up.
BOOST_AUTO_TEST_CASE(a_signal_ends_the_race_cleanly_and_soon) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const scratch_folder folder;
    program_run program{folder.path(), race({"--workers", "2"}, endless_recording(folder))};
    BOOST_REQUIRE_MESSAGE(program.waits_for("code found"), program.err());
    const auto below = program.descendants();
    BOOST_TEST(below.size() > 0U);
    const auto before = std::chrono::steady_clock::now();
    program.signal(number);
    BOOST_TEST(program.wait(std::chrono::seconds{20}) == 5, program.err());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    BOOST_TEST(took.count() < 10.0);
    BOOST_TEST(has(program.err(), "stopping; again to stop at once"));
    BOOST_TEST(has(program.out(), "no winner, cancelled"));
    BOOST_TEST(has(read_file((run_folder(folder) / "orchestrator/summary.json").string()), "cancel"));
    for (const auto pid : below) {
      BOOST_TEST(!is_alive(pid));
    }
  }
}

BOOST_AUTO_TEST_CASE(another_process_can_ask_for_the_status_and_cancel) {
  const scratch_folder folder;
  const auto answer_of = [&](const texts& arguments, int expected) {
    const scratch_folder own;
    texts argv{regatta_program()};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    argv.insert(argv.end(), {"--state-dir", folder / ".regatta"});
    program_run program{own.path(), argv};
    BOOST_TEST(program.wait() == expected, program.err());
    return program.out() + program.err();
  };
  BOOST_TEST(has(answer_of({"status"}, 1), "no store at "));
  BOOST_TEST(has(answer_of({"list"}, 1), "no store at "));
  program_run program{folder.path(), race({"--workers", "2"}, endless_recording(folder))};
  BOOST_REQUIRE_MESSAGE(program.waits_for("code found"), program.err());
  BOOST_TEST(has(answer_of({"status"}, 0), "moving_average: 2 workers"));
  BOOST_TEST(has(answer_of({"cancel", "run_1999"}, 1), "running: run_"));
  BOOST_TEST(has(answer_of({"cancel", "../x"}, 1), "no running race"));
  BOOST_TEST(has(answer_of({"cancel", ""}, 2), "RUN: got \"\", allowed: "));
  BOOST_TEST(has(answer_of({"cancel", "latest"}, 0), ": stopping"));
  BOOST_TEST(program.wait(std::chrono::seconds{20}) == 5, program.err());
  BOOST_TEST(has(answer_of({"cancel", "latest"}, 1), "running: none"));
  BOOST_TEST(has(answer_of({"status"}, 0), "no race is running"));
  BOOST_TEST(fs::is_empty(folder / ".regatta/control"));
}

BOOST_AUTO_TEST_CASE(a_second_signal_ends_it_at_once_and_leaves_nothing_behind) {
  const scratch_folder folder;
  program_run program{folder.path(), race({"--workers", "2"}, endless_recording(folder))};
  BOOST_REQUIRE_MESSAGE(program.waits_for("code found"), program.err());
  const auto below = program.descendants();
  // Two different signals: two of a kind would be delivered as one.
  program.signal(SIGSTOP);
  program.signal(SIGINT);
  program.signal(SIGTERM);
  program.signal(SIGCONT);
  BOOST_TEST(program.wait(std::chrono::seconds{5}) == 5, program.err());
  BOOST_TEST(has(program.err(), "ended at once"));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  for (const auto pid : below) {
    while (is_alive(pid) && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    BOOST_TEST(!is_alive(pid));
  }
}

namespace {

/// Has room for the database, not for a race. Leaves no mount behind, however a test ends.
class small_disk {
public:
  explicit small_disk(std::string path) : path_{std::move(path)} {
    fs::create_directory(path_);
    is_there_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=600k") == 0;
    if (!is_there_) {
      const char* required = std::getenv("REGATTA_REQUIRE");
      BOOST_TEST((required == nullptr || !has(required, "mount")), "mount is required here");
      std::puts("SKIPPED: a full disk: only root can mount a small file system");
    }
  }
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;
  ~small_disk() {
    if (is_there_) {
      ::umount2(path_.c_str(), MNT_DETACH);
    }
  }
  bool is_there() const { return is_there_; }
  std::string state() const { return path_ + "/s"; }
  void make_room() const { BOOST_TEST(::mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT, "size=16m") == 0); }

private:
  std::string path_;
  bool is_there_ = false;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_full_disk_pauses_a_race_until_there_is_room) {
  const scratch_folder folder;
  const small_disk disk{folder / "small"};
  if (!disk.is_there()) {
    return;
  }
  program_run program{folder.path(), race({"--state-dir", disk.state()}, toy_recording())};
  BOOST_REQUIRE_MESSAGE(program.waits_for("the store is full"), program.err());
  disk.make_room();
  BOOST_TEST(program.wait() == 0, program.err());
  BOOST_TEST(has(program.out(), "won by"));
  program_run show{folder.path(), {regatta_program(), "show", "latest", "--state-dir", disk.state()}};
  BOOST_TEST(show.wait() == 0, show.err());
  BOOST_TEST(show.out() == program.out());
}

BOOST_AUTO_TEST_CASE(a_race_on_a_full_disk_can_be_stopped_and_says_what_is_missing) {
  const scratch_folder folder;
  const small_disk disk{folder / "small"};
  if (!disk.is_there()) {
    return;
  }
  program_run program{folder.path(), race({"--state-dir", disk.state()}, toy_recording())};
  BOOST_REQUIRE_MESSAGE(program.waits_for("the store is full"), program.err());
  program.signal(SIGINT);
  const int code = program.wait();
  BOOST_TEST((code == 5 || code == 6), code << ": " << program.err());
  BOOST_TEST(has(program.err(), "not everything is on disk: store_full"), program.err());
}

BOOST_AUTO_TEST_CASE(a_reader_that_goes_away_ends_nothing) {
  const scratch_folder folder;
  const auto command = command_of(race({"--json"}, toy_recording()));
  program_run program{folder.path(), {"/bin/bash", "-c", command + "| head -1 >/dev/null; echo ${PIPESTATUS[0]}"}};
  BOOST_TEST(program.wait() == 0);
  BOOST_TEST(program.out() == "0\n", program.err());
}

BOOST_AUTO_TEST_CASE(the_last_events_reach_a_reader_although_the_program_ends) {
  const scratch_folder folder;
  const auto endpoint = "ipc://" + (folder / "events.sock");
  zmq::context_t context{1};
  zmq::socket_t reader{context, zmq::socket_type::sub};
  reader.set(zmq::sockopt::linger, 0);
  reader.set(zmq::sockopt::subscribe, "");
  reader.set(zmq::sockopt::reconnect_ivl, 1);
  reader.connect(endpoint);
  program_run program{folder.path(), race({"--events", endpoint}, toy_recording())};
  BOOST_TEST(program.wait() == 0, program.err());
  // Only now read: whatever arrives was handed over before the program was gone.
  reader.set(zmq::sockopt::rcvtimeo, 500);
  std::uint64_t last = 0;
  std::string topic;
  for (zmq::message_t part; reader.recv(part).has_value();) {
    topic = part.to_string();
    BOOST_REQUIRE((part.more() && reader.recv(part) && part.more()));
    const auto seq = std::stoull(part.to_string());
    // It may have come late, but then it misses nothing.
    BOOST_TEST((last == 0 || seq == last + 1), topic);
    last = seq;
    BOOST_REQUIRE(reader.recv(part).has_value());
  }
  BOOST_TEST(topic.ends_with(".race_ended"), topic);
}

BOOST_AUTO_TEST_CASE(a_key_is_found_in_no_file_and_no_output) {
  const scratch_folder folder;
  const std::string key = "sk-canary-4711-do-not-leak";
  // Nobody listens on port 1.
  folder.write("regatta.toml",
               "[providers.gone]\nkind = \"chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\n"
               "api_key_env = \"CANARY\"\ntries = 1\n");
  program_run program{folder.path(),
                      {regatta_program(), "race", source_path("examples/toy/moving_average.py"), "--workers", "2", "--accept", "claimed",
                       "--python", "/usr/bin/python3", "--device", "cpu", "-v"},
                      {{"CANARY", key}}};
  BOOST_TEST(program.wait() == 3, program.err());
  BOOST_TEST(has(program.err(), "key from CANARY"));
  BOOST_TEST(files_with(folder.path(), key).empty());
  program_run config{folder.path(), {regatta_program(), "config"}, {{"CANARY", key}}};
  BOOST_TEST(config.wait() == 0);
  BOOST_TEST(has(config.out(), "set, from CANARY"));
  BOOST_TEST(!has(config.out(), key));
}

BOOST_AUTO_TEST_CASE(doctor_answers_and_its_json_is_json) {
  const scratch_folder folder;
  program_run text{folder.path(), {regatta_program(), "doctor", "--python", "/usr/bin/python3"}};
  const auto code = text.wait();
  BOOST_TEST((code == 0 || code == 1));
  BOOST_TEST(has(text.out(), "sandbox"));
  program_run json{folder.path(), {regatta_program(), "doctor", "--json"}};
  json.wait();
  BOOST_TEST(has(json.out(), "\"findings\""));
}

}  // namespace regatta::test
