// SPDX-License-Identifier: Apache-2.0
#include "actors/event_publisher.hpp"

#include "messages/event_codec.hpp"
#include "messages/opaque.hpp"
#include "tests/actors/store/scratch_folder.hpp"
#include "tests/actors/store/scripted_race.hpp"
#include "tests/actors/store/skip.hpp"
#include "tests/actors/store/why.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <sys/stat.h>
#include <zmq.hpp>

#include <chrono>
#include <thread>

using namespace regatta;
using namespace regatta::test;

namespace {

struct publishing {
  explicit publishing(const std::string& endpoint) {
    config.set("scheduler.max-threads", 2U);
    config.set("logger.file-verbosity", caf::atom("quiet"));
    auto spawned = spawn_event_publisher(system, {endpoint, true});
    BOOST_REQUIRE_MESSAGE(spawned, why(spawned));
    at = std::move(*spawned);
  }
  ~publishing() { end(); }
  void end() {
    if (at.sink) {
      caf::anon_send_exit(at.sink, caf::exit_reason::user_shutdown);
      caf::scoped_actor self{system};
      self->wait_for(at.sink);
      at.sink = nullptr;
    }
  }
  void publish(const scripted_race& race) {
    for (const auto& x : race.events) {
      caf::anon_send(at.sink, x);
    }
  }

  caf::actor_system_config config;
  caf::actor_system system{config};
  published_at at;
};

struct reader {
  explicit reader(const std::string& endpoint, const std::string& topic = "") {
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::rcvtimeo, 5'000);
    socket.set(zmq::sockopt::rcvhwm, 100'000);
    socket.set(zmq::sockopt::subscribe, topic);
    socket.connect(endpoint);
  }
  /// Three frames; empty after 5 s of silence.
  std::vector<std::string> receive() {
    std::vector<std::string> frames;
    zmq::message_t part;
    do {
      if (!socket.recv(part)) {
        return {};
      }
      frames.push_back(part.to_string());
    } while (part.more());
    return frames;
  }

  zmq::context_t context{1};
  zmq::socket_t socket{context, zmq::socket_type::sub};
};

/// A subscription takes its time to arrive, and nobody is told when it has: publish until the reader hears it.
void wait_until_heard(publishing& it, reader& by) {
  by.socket.set(zmq::sockopt::rcvtimeo, 20);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  scripted_race probe{"probe"};
  probe.add(race_cancelled{"probe", 0, 0, 0});
  bool is_heard = false;
  while (!is_heard && std::chrono::steady_clock::now() < give_up) {
    it.publish(probe);
    is_heard = !by.receive().empty();
  }
  BOOST_REQUIRE(is_heard);
  by.socket.set(zmq::sockopt::rcvtimeo, 5'000);
}

std::vector<std::string> next_of_a_race(reader& by) {
  auto frames = by.receive();
  while (!frames.empty() && frames[0].starts_with("race.probe.")) {
    frames = by.receive();
  }
  return frames;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(event_publishers)

BOOST_AUTO_TEST_CASE(a_reader_gets_every_event_in_order_as_three_frames) {
  scratch_folder root;
  publishing it{"ipc://" + root.path + "/events/e.sock"};
  struct stat facts = {};
  BOOST_REQUIRE(::stat((root.path + "/events/e.sock").c_str(), &facts) == 0);
  BOOST_TEST((facts.st_mode & 077U) == 0U);
  reader by{it.at.endpoint};
  wait_until_heard(it, by);
  const auto race = won_race("run_1");
  it.publish(race);
  for (const auto& x : race.events) {
    const auto frames = next_of_a_race(by);
    BOOST_REQUIRE(frames.size() == 3U);
    BOOST_TEST(frames[0] == topic_of(x));
    BOOST_TEST(frames[1] == std::to_string(x.seq));
    const auto decoded = decode_event(frames[2]);
    BOOST_REQUIRE(decoded);
    BOOST_TEST(encode_event(*decoded) == encode_event(x));
  }
}

BOOST_AUTO_TEST_CASE(tcp_takes_a_free_port_of_the_loopback) {
  publishing it{"tcp://127.0.0.1:0"};
  BOOST_TEST(it.at.endpoint.starts_with("tcp://127.0.0.1:"));
  BOOST_TEST(!it.at.endpoint.ends_with(":0"));
  reader by{it.at.endpoint};
  wait_until_heard(it, by);
}

BOOST_AUTO_TEST_CASE(a_bad_endpoint_is_an_error_at_start) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  BOOST_TEST(failure(spawn_event_publisher(system, {"tcp://0.0.0.0:1"})) == ec::invalid_config);
  BOOST_TEST(failure(spawn_event_publisher(system, {"ipc:///proc/no/such"})) == ec::io_failed);
}

BOOST_AUTO_TEST_CASE(the_last_events_leave_before_an_orderly_exit) {
  scratch_folder root;
  publishing it{"ipc://" + root.path + "/e.sock"};
  reader by{it.at.endpoint, "race.run_1."};
  reader probe{it.at.endpoint};
  wait_until_heard(it, probe);
  // The first reader's subscription went out before the second's; both arrive through one I/O thread.
  auto race = won_race("run_1");
  for (int i = 0; i < 3'000; ++i) {
    race.add(worker_moved{make_worker_id(1), 1, worker_phase::queued, "a full mailbox, which the exit overtakes"});
  }
  race.end(race_end::won, "", 2, 2);
  it.publish(race);
  it.end();
  std::size_t count = 0;
  std::string last;
  while (count < race.events.size()) {
    const auto frames = by.receive();
    if (frames.size() != 3U) {
      break;
    }
    ++count;
    last = frames[0];
  }
  BOOST_TEST(count == race.events.size());
  BOOST_TEST(last == "race.run_1.race_ended");
}

BOOST_AUTO_TEST_CASE(kept_files_stay_out_of_the_socket) {
  scratch_folder root;
  publishing it{"ipc://" + root.path + "/e.sock"};
  reader by{it.at.endpoint};
  wait_until_heard(it, by);
  auto result = scripted_race::result(true);
  result.kept = {{"out.bin", std::string(100'000, 'x'), ""}};
  scripted_race race{"run_1"};
  race.add(candidate_evaluated{make_worker_id(1), 1, 1, source_digest{"d"}, result, true});
  it.publish(race);
  const auto frames = next_of_a_race(by);
  BOOST_REQUIRE(frames.size() == 3U);
  BOOST_TEST(frames[2].size() < 10'000U);
  BOOST_TEST(frames[2].find("out.bin") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_reader_that_never_reads_slows_nobody_down) {
  scratch_folder root;
  publishing it{"ipc://" + root.path + "/e.sock"};
  reader sleeping{it.at.endpoint};
  reader awake{it.at.endpoint};
  wait_until_heard(it, sleeping);
  wait_until_heard(it, awake);
  sleeping.socket.set(zmq::sockopt::rcvhwm, 1);
  scripted_race race{"run_1"};
  for (int i = 0; i < 20'000; ++i) {
    race.add(reply_delta{make_worker_id(1), 1, 1, std::string(1'000, 'x')});
  }
  const auto begin = std::chrono::steady_clock::now();
  std::thread take{[&] {
    while (!awake.receive().empty()) {
    }
  }};
  it.publish(race);
  it.end();
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  BOOST_TEST((elapsed < std::chrono::seconds{5}), "20 MB for nobody, then an exit");
  take.join();
}

BOOST_AUTO_TEST_CASE(thirty_lines_of_python_print_a_whole_race) {
  const auto python = environment("REGATTA_PYTHON");
  if (python.empty() || std::system((python + " -c 'import zmq, msgpack'").c_str()) != 0) {
    return skip("pyzmq", "REGATTA_PYTHON names no Python with pyzmq and msgpack");
  }
  scratch_folder root;
  publishing it{"ipc://" + root.path + "/e.sock"};
  const auto script = environment("REGATTA_SOURCE_DIR") + "/examples/watch_events.py";
  const auto out = root.path + "/out.txt";
  std::thread watching{[&] {
    BOOST_TEST(std::system((python + " " + script + " " + it.at.endpoint + " > " + out + " 2>&1").c_str()) == 0);
  }};
  // The script greets every event that it sees; once the probe is printed its subscription stands.
  scripted_race probe{"probe"};
  probe.add(race_cancelled{"probe", 0, 0, 0});
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while ((!std::filesystem::exists(out) || std::filesystem::file_size(out) == 0) &&
         std::chrono::steady_clock::now() < give_up) {
    it.publish(probe);
    std::this_thread::yield();
  }
  it.publish(won_race("run_1"));
  watching.join();
  const auto text = read_file(out);
  BOOST_TEST(text.find("race_started") != std::string::npos, text);
  BOOST_TEST(text.find("worker_02") != std::string::npos, text);
  BOOST_TEST(text.find("winner_decided") != std::string::npos, text);
  BOOST_TEST(text.find("race_ended") != std::string::npos, text);
  BOOST_TEST(text.find("Traceback (most recent call last):\n  File") == std::string::npos, text);
}

BOOST_AUTO_TEST_SUITE_END()
