// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/support/sandbox_fixture.hpp"

#include "sandbox/cgroup.hpp"
#include "sandbox/forker.hpp"
#include "sandbox/linux_api.hpp"
#include "tests/sandbox/support/environments.hpp"

#include <boost/test/unit_test.hpp>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <sstream>
#include <thread>

namespace regatta::sandbox::test {

namespace fs = std::filesystem;

namespace {

std::string variable(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

bool is_as_user(const std::string& wanted) {
  return wanted == "L3-user" || wanted.starts_with("L1");
}

/// What a name of REGATTA_SANDBOX_TEST_LEVEL means.
struct test_choice {
  std::string name;
  test_level level;
  sandbox::level at_most;
  environment where;
};

test_choice choice_of(const std::string& wanted) {
  static const test_choice all[] = {
      {"L4", test_level::full, level::full, environment::as_it_is},
      {"L3-root", test_level::namespaced_root, level::namespaced, environment::as_it_is},
      {"L3-user", test_level::namespaced_user, level::namespaced, environment::ordinary_user},
      {"L2-docker", test_level::slot_uid, level::slot_uid, environment::docker_root},
      {"L1-docker", test_level::confined, level::confined, environment::docker_user},
      {"L1-abi5", test_level::confined, level::confined, environment::docker_user}};
  for (const auto& choice : all) {
    if (choice.name == wanted) {
      return choice;
    }
  }
  std::fprintf(stderr, "no such REGATTA_SANDBOX_TEST_LEVEL: %s\n", wanted.c_str());
  ::_exit(1);
}

bool is_required(const std::string& feature) {
  // The developer's Python often lies where an ordinary user has no way to it (a venv below /root).
  const bool is_beyond_user = feature == "python" && is_as_user(variable("REGATTA_SANDBOX_TEST_LEVEL", ""));
  return !is_beyond_user && variable("REGATTA_REQUIRE", "").find(feature) != std::string::npos;
}

[[noreturn]] void leave_out(const std::string& why) {
  std::fprintf(stderr, "SKIPPED: %s\n", why.c_str());
  std::fflush(nullptr);
  ::_exit(is_required("sandbox") ? 1 : 0);
}

std::map<std::string, std::string> read_attacks() {
  std::map<std::string, std::string> all;
  const auto folder = fs::path{variable("REGATTA_SOURCE_DIR", ".")} / "tests/sandbox/attacks";
  for (const auto& entry : fs::directory_iterator{folder}) {
    std::ifstream in{entry.path()};
    std::ostringstream text;
    text << in.rdbuf();
    all[entry.path().stem().string()] = text.str();
  }
  return all;
}

struct global_state {
  global_state() {
    attacks = read_attacks();
    const auto wanted = variable("REGATTA_SANDBOX_TEST_LEVEL", "L4");
    if (wanted == "L3-root" && ::geteuid() != 0) {
      leave_out("level L3 as root needs root");
    }
    const auto choice = choice_of(wanted);
    if (!enter(choice.where)) {
      leave_out("the environment of " + wanted + " is entered as root");
    }
    state.level = choice.level;
    state.is_warm = !variable("REGATTA_SANDBOX_TEST_WARM", "").empty();
    state.facts = probe();
    if (wanted == "L1-abi5") {
      constexpr int last_without_scopes = 5;
      state.facts.landlock_abi = std::min(state.facts.landlock_abi, last_without_scopes);
    }
    if (state.facts.best < choice.at_most) {
      leave_out("this host offers sandbox level " + to_string(state.facts.best) + ", not " + to_string(choice.at_most));
    }
    state.at_most = choice.at_most;
    if (::access(variable("REGATTA_BIN_DIR", ".").append("/regatta-sandbox").c_str(), X_OK) != 0) {
      leave_out("regatta-sandbox cannot be run by this user");
    }
    make_canaries();
    inspect_python();
  }

  ~global_state() {
    std::error_code ignored;
    fs::remove_all(state.folder, ignored);
    fs::remove(state.canary_tmp, ignored);
  }

  void make_canaries() {
    std::string folder = "/var/tmp/regatta-sandbox-test-XXXXXX";
    state.folder = ::mkdtemp(folder.data());
    state.secret = "sk-regatta-canary-" + std::to_string(::getpid());
    state.canary = state.folder + "/secret.txt";
    state.canary_tmp = "/tmp/regatta-canary-" + std::to_string(::getpid());
    std::ofstream{state.canary} << state.secret << '\n';
    std::ofstream{state.canary_tmp} << state.secret << '\n';
    ::chmod(state.folder.c_str(), 0755);  // hidden by the sandbox, not by its mode
    ::chmod(state.canary.c_str(), 0644);
    ::setenv("API_KEY", state.secret.c_str(), 1);
    ::setenv("HOME", state.folder.c_str(), 1);
  }

  void inspect_python() {
    std::string error;
    const std::string system = "/usr/bin/python3";
    const auto path = ::access(system.c_str(), X_OK) == 0 ? system : variable("REGATTA_PYTHON", system);
    auto found = inspect_interpreter(path, {}, error);
    if (!found) {
      leave_out("no Python: " + error);
    }
    state.python = *found;
  }

  std::map<std::string, std::string> attacks;
  test_host state;
};

global_state& global() {
  static global_state state;
  return state;
}

/// So that the level is settled, or the program left, before the first case.
struct settle_host {
  settle_host() { global(); }
};
BOOST_TEST_GLOBAL_FIXTURE(settle_host);

std::string field_of(const std::string& pid, const std::string& key) {
  std::istringstream lines{linux_api::read_file("/proc/" + pid + "/status")};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key)) {
      return line.substr(key.size());
    }
  }
  return {};
}

std::vector<std::string> all_pids() {
  std::vector<std::string> pids;
  for (const auto& entry : fs::directory_iterator{"/proc"}) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos) {
      pids.push_back(name);
    }
  }
  return pids;
}

bool is_of_a_run(const std::string& pid) {
  // Every process of a run, its pid 1 included, is in a pid namespace below ours, and its forker is ours or was.
  std::istringstream fields{field_of(pid, "NSpid:")};
  std::vector<std::string> pids{std::istream_iterator<std::string>{fields}, {}};
  if (pids.size() < 2) {
    return false;
  }
  return linux_api::read_file("/proc/" + pid + "/environ").find("REGATTA_TEST_MARK=" + std::to_string(::getpid())) !=
         std::string::npos;
}

std::vector<std::string> files_outside() {
  std::vector<std::string> files;
  for (const char* folder : {"/tmp", "/dev/shm", "/usr/local", "/usr/local/bin", "/run"}) {
    for (const auto& entry : fs::directory_iterator{folder}) {
      const auto path = entry.path().string();
      if (path.find("regatta-run-") != std::string::npos ||
          path.find("mark" + std::to_string(::getpid())) != std::string::npos) {
        files.push_back(path);
      }
    }
  }
  return files;
}

/// Processes and cgroups of others: the kernel tells nobody when they have come or gone, so they are polled.
template <class Test>
bool eventually(Test test, std::chrono::seconds limit = std::chrono::seconds{5}) {
  const auto give_up = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < give_up) {
    if (test()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return test();
}

}  // namespace

const test_host& host() {
  return global().state;
}

bool is_on_host() {
  return host().level == test_level::slot_uid || host().level == test_level::confined;
}

runner_config config_for_level() {
  runner_config config;
  config.at_most = host().at_most;
  config.require = config.at_most;
  return config;
}

std::unique_ptr<runner> open_runner() {
  std::string error;
  auto made = runner::open(config_for_level(), host().facts, error);
  BOOST_REQUIRE_MESSAGE(made, error);
  return made;
}

std::string attack_source(const std::string& name) {
  const auto found = global().attacks.find(name);
  BOOST_REQUIRE_MESSAGE(found != global().attacks.end(), "no attack named " + name);
  return found->second;
}

run_spec program_spec(std::vector<std::string> argv) {
  run_spec spec;
  spec.argv = std::move(argv);
  spec.environment = candidate_environment({{"LANG", "C.UTF-8"}}, {});
  spec.environment["REGATTA_TEST_MARK"] = std::to_string(::getpid());
  spec.limits.wall = std::chrono::seconds{20};
  spec.limits.memory = spec.limits.data = 1 * GiB;
  return spec;
}

run_spec python_spec(const std::string& source) {
  auto spec = program_spec({host().python.executable, "-u", "candidate_main.py"});
  spec.readable = host().python.readable;
  spec.files.push_back({"candidate_main.py", source});
  if (host().is_warm) {
    spec.preload = {"json", "random", "multiprocessing", "no_such_module"};
  }
  return spec;
}

run_spec attack_spec(const std::string& name) {
  auto spec = python_spec(attack_source(name));
  spec.files.push_back({"attack.py", attack_source("attack")});
  auto& variables = spec.environment;
  // Reversed, or the attack would find the secret in its own environment.
  variables["ATTACK_SECRET"] = std::string{host().secret.rbegin(), host().secret.rend()};
  variables["ATTACK_CANARY"] = host().canary;
  variables["ATTACK_CANARY_TMP"] = host().canary_tmp;
  variables["ATTACK_HARNESS_PID"] = std::to_string(::getpid());
  variables["ATTACK_MARK"] = "mark" + std::to_string(::getpid());
  variables["ATTACK_PREFIX"] = host().python.base_prefix;
  constexpr int numbers_to_try = 5'000;
  variables["ATTACK_MOST_PID"] = std::to_string((is_on_host() ? ::getpid() : 0) + numbers_to_try);
  variables["ATTACK_VIEW"] = is_on_host() ? "host" : "own";
  return spec;
}

run_result run(runner& sandbox, run_spec spec) {
  // Shared with the callback: it may come after a timeout of ours.
  auto promise = std::make_shared<std::promise<run_result>>();
  auto future = promise->get_future();
  const bool wants_warmth = spec.preload && sandbox.obtained() >= level::namespaced;
  sandbox.start(std::move(spec), [promise](run_result result) { promise->set_value(std::move(result)); });
  BOOST_REQUIRE(future.wait_for(std::chrono::seconds{60}) == std::future_status::ready);
  auto result = future.get();
  BOOST_TEST(result.is_warm == wants_warmth, result.why_cold);
  return result;
}

std::vector<pid_t> survivors() {
  std::vector<pid_t> found;
  auto parents = zygote_pids();
  parents.push_back(forker_pid());
  while (!parents.empty()) {
    const auto parent = std::to_string(parents.back());
    parents.pop_back();
    std::istringstream children{linux_api::read_file("/proc/" + parent + "/task/" + parent + "/children")};
    for (std::string pid; children >> pid;) {
      // A zombie is gone but for the forker's wait.
      if (field_of(pid, "State:\t").substr(0, 1) != "Z") {
        found.push_back(static_cast<pid_t>(std::stol(pid)));
        if (is_on_host()) {
          parents.push_back(found.back());  // there is no namespace to know the others by
        }
      }
    }
  }
  for (const auto& pid : all_pids()) {
    const auto number = static_cast<pid_t>(std::stol(pid));
    if (is_of_a_run(pid)) {
      found.push_back(number);
    }
  }
  return found;
}

void wait_for_processes(std::size_t count) {
  const bool are_there = eventually([count] { return survivors().size() >= count; }, std::chrono::seconds{30});
  BOOST_REQUIRE_MESSAGE(are_there,
                        std::to_string(survivors().size()) + " processes of runs, expected " + std::to_string(count));
}

bool are_all_gone() {
  return eventually([] { return survivors().empty(); });
}

pid_t forker_pid() {
  for (const auto& pid : all_pids()) {
    const auto command = linux_api::read_file("/proc/" + pid + "/cmdline");
    if (command.starts_with(forker_name) && field_of(pid, "PPid:\t") == std::to_string(::getpid())) {
      return static_cast<pid_t>(std::stol(pid));
    }
  }
  return -1;
}

std::vector<pid_t> zygote_pids() {
  std::vector<pid_t> found;
  for (const auto& pid : all_pids()) {
    if (linux_api::read_file("/proc/" + pid + "/cmdline").find("/zygote.py") != std::string::npos &&
        field_of(pid, "PPid:\t") == std::to_string(::getpid())) {
      found.push_back(static_cast<pid_t>(std::stol(pid)));
    }
  }
  return found;
}

std::vector<std::string> cgroups_of(pid_t runner) {
  std::vector<std::string> groups;
  const auto places = find_cgroup_places();
  for (const auto& place : {places.v2, places.v1_memory, places.v1_pids, places.v1_cpu}) {
    std::error_code ignored;
    for (const auto& group : fs::directory_iterator{place.empty() ? "/nonexistent" : place, ignored}) {
      if (group.path().filename().string().starts_with("regatta-" + std::to_string(runner) + "-")) {
        groups.push_back(group.path().string());
      }
    }
  }
  return groups;
}

leaves_nothing::leaves_nothing() : mounts_(linux_api::read_file("/proc/self/mountinfo")), files_(files_outside()) {}

leaves_nothing::~leaves_nothing() noexcept(false) {
  // At once, without waiting: a run that was reported is gone.
  BOOST_TEST(survivors().empty());
  BOOST_TEST(mounts_ == linux_api::read_file("/proc/self/mountinfo"));
  BOOST_TEST(files_ == files_outside(), boost::test_tools::per_element());
  // Of runners that are still open the group itself is there; declare the guard before the runner.
  BOOST_TEST(eventually([] { return cgroups_of(::getpid()).empty(); }));
}

void leave_out_case(const std::string& feature, const std::string& why) {
  std::fprintf(stderr, "SKIPPED: %s\n", why.c_str());
  BOOST_TEST(!is_required(feature), "REGATTA_REQUIRE names " << feature << ", but: " << why);
}

}  // namespace regatta::sandbox::test
