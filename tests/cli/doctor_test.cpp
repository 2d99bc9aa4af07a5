// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor.hpp"

#include "messages/limits.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>

namespace regatta::cli {

namespace {

host_view healthy_host() {
  host_view x;
  x.sandbox.best = sandbox::level::full;
  x.sandbox.kernel = "6.1";
  x.python = {"/v/bin/python", "VIRTUAL_ENV", "3.11.7", "", "2.13.0+cpu", "3.9.0"};
  x.compiler = "/usr/bin/gcc";
  x.disk = {"/work", "", 100 * GiB, "ext4", false};
  x.clock = {1'800'000'000'000'000, 1.0, ""};
  x.open_files = 4096;
  x.memory = 32 * GiB;
  x.free_memory = 16 * GiB;
  x.cores = 8;
  x.keys = {{"OPENAI_API_KEY", true, false, "environment"}};
  x.has_provider = true;
  return x;
}

struct provoked {
  const char* what;
  std::function<void(host_view&)> spoil;
  const char* check;
  health level;
  const char* remedy_part;
};

const std::vector<provoked>& all_provoked() {
  static const std::vector<provoked> all = {
      {"sandbox below L3",
       [](auto& x) {
         x.sandbox.best = sandbox::level::confined;
         x.sandbox.obstacles = {"enable user namespaces"};
       },
       "sandbox", health::fail, "enable user namespaces"},
      {"sandbox without cgroup",
       [](auto& x) {
         x.sandbox.best = sandbox::level::namespaced;
         x.sandbox.obstacles = {"delegate a cgroup"};
       },
       "sandbox", health::warn, "delegate a cgroup"},
      {"AppArmor",
       [](auto& x) {
         x.sandbox.best = sandbox::level::confined;
         x.sandbox.apparmor_restricts_userns = true;
       },
       "apparmor", health::fail, "apparmor_restrict_unprivileged_userns=0"},
      {"forker missing", [](auto& x) { x.missing_programs = {"/b/regatta-sandbox"}; }, "programs", health::fail,
       "install"},
      {"lifeline missing", [](auto& x) { x.missing_programs = {"/b/regatta-lifeline"}; }, "programs", health::warn,
       "install"},
      {"no prompts", [](auto& x) { x.missing_prompts = "/p"; }, "prompts", health::fail, "--prompts"},
      {"no zygote", [](auto& x) { x.why_cold = "no zygote: it died"; }, "warm start", health::warn, "seconds"},
      {"no Python", [](auto& x) { x.python = {}; }, "python", health::fail, "REGATTA_PYTHON"},
      {"broken Python", [](auto& x) { x.python.error = "cannot be run"; }, "python", health::fail, "--python"},
      {"no torch", [](auto& x) { x.python.torch = ""; }, "torch", health::warn, "torch and triton"},
      {"no triton", [](auto& x) { x.python.triton = ""; }, "triton", health::warn, "pip install triton"},
      {"a GPU left out", [](auto& x) { x.gpus_left_out = {"GPU-1: MIG is on"}; }, "gpu", health::warn, "left out"},
      {"a GPU in use", [](auto& x) { x.gpu_warnings = {"GPU-1: 3 GiB in use"}; }, "gpu", health::warn, "nvidia-smi"},
      {"no compiler beside a GPU",
       [](auto& x) {
         x.gpus = {"H200"};
         x.compiler = "";
       },
       "compiler", health::fail, "gcc"},
      {"disk not writable", [](auto& x) { x.disk.error = "Permission denied"; }, "disk", health::fail, "--state-dir"},
      {"disk nearly full", [](auto& x) { x.disk.free = 500 * MiB; }, "disk", health::warn, "make room"},
      {"disk full", [](auto& x) { x.disk.free = 1 * MiB; }, "disk", health::fail, "make room"},
      {"network file system",
       [](auto& x) {
         x.disk.is_network = true;
         x.disk.file_system = "nfs";
       },
       "file system", health::warn, "local disk"},
      {"clock behind", [](auto& x) { x.clock.wall_us = 0; }, "clock", health::fail, "set the time"},
      {"clock too fast", [](auto& x) { x.clock.wall_per_monotonic = 1.2; }, "clock", health::warn, "chronyc"},
      {"unknown time zone", [](auto& x) { x.clock.time_zone_problem = "TZ=Mars names no time zone"; }, "clock",
       health::warn, "zoneinfo"},
      {"few open files", [](auto& x) { x.open_files = 256; }, "open files", health::warn, "ulimit -n"},
      {"little memory", [](auto& x) { x.free_memory = GiB; }, "memory", health::warn, "--slots"},
      {"placeholder key",
       [](auto& x) {
         x.keys = {{"OPENAI_API_KEY", false, true, "environment"}};
       },
       "keys", health::warn, "put the key"},
      {"no key",
       [](auto& x) {
         x.keys = {{"OPENAI_API_KEY", false, false, ""}};
         x.has_provider = false;
       },
       "keys", health::warn, "OPENAI_API_KEY"},
      {"no provider",
       [](auto& x) {
         x.has_provider = false;
         x.provider_problem = "no model to ask";
       },
       "provider", health::warn, "--replay"},
      {"open .env", [](auto& x) { x.config_warnings = {".env is not read: chmod 600 .env mends that"}; },
       "configuration", health::warn, ""},
  };
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(doctor)

BOOST_AUTO_TEST_CASE(a_healthy_host_has_no_findings) {
  const auto findings = diagnose(healthy_host());
  for (const auto& x : findings) {
    BOOST_TEST_INFO(x.check << ": " << x.text);
    BOOST_TEST((x.level == health::ok));
    BOOST_TEST(x.remedy == "");
  }
  BOOST_TEST(!has_failure(findings));
  BOOST_TEST(findings.size() >= 12U);
}

BOOST_AUTO_TEST_CASE(each_fault_is_found_and_comes_with_its_remedy) {
  for (const auto& fault : all_provoked()) {
    auto host = healthy_host();
    fault.spoil(host);
    const auto findings = diagnose(host);
    bool is_found = false;
    for (const auto& x : findings) {
      is_found = is_found || (x.check == fault.check && x.level == fault.level && !x.remedy.empty() &&
                              x.remedy.find(fault.remedy_part) != std::string::npos);
    }
    BOOST_TEST(is_found, fault.what);
    BOOST_TEST(has_failure(findings) == (fault.level == health::fail), fault.what);
  }
}

BOOST_AUTO_TEST_CASE(a_weaker_sandbox_is_enough_if_it_was_asked_for) {
  auto host = healthy_host();
  host.sandbox.best = sandbox::level::confined;
  host.required = sandbox::level::confined;
  BOOST_TEST(!has_failure(diagnose(host)));
}

BOOST_AUTO_TEST_CASE(text_and_json_say_the_same) {
  auto host = healthy_host();
  host.disk.error = "Permission denied";
  const auto findings = diagnose(host);
  const auto text = doctor_text(findings);
  BOOST_TEST(text.find("fail  disk           /work: Permission denied\n") != std::string::npos);
  BOOST_TEST(text.find("mend: give --state-dir DIR") != std::string::npos);
  BOOST_TEST(text.find("This host cannot run a race yet: 1 failed, 0 warnings") != std::string::npos);
  BOOST_TEST(doctor_json(findings).find("\"is_fit\": false") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::cli
