// SPDX-License-Identifier: Apache-2.0
#include "node/clean_text.hpp"
#include "node/evaluation_record.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

namespace {

using namespace regatta;
using namespace std::chrono_literals;
using namespace std::string_literals;

const std::string bad = "\xEF\xBF\xBD";

gpu h200() {
  return {"GPU-1", "NVIDIA H200", 0, 140 * GiB, "9.0", {}};
}

run_entry entry_on(const std::string& slot, stop_cause stop = stop_cause::none) {
  run_entry entry;
  entry.held = lease{slot.starts_with("gpu") ? slot_kind::gpu : slot_kind::cpu, 0, 0, slot, {}, false, false};
  entry.queued_at = run_entry::time_point{10s};
  entry.started_at = run_entry::time_point{12s};
  entry.stop = stop;
  return entry;
}

evaluator_config config_named(const std::string& node) {
  evaluator_config config;
  config.node = node_id{node};
  config.python.executable = "/usr/bin/python3";
  return config;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(clean_text_rules)

BOOST_AUTO_TEST_CASE(valid_text_stays_as_it_is) {
  for (const auto& text : {""s, "PASS\n"s, "d\xC3\xA9j\xC3\xA0"s, "\xE2\x82\xAC \xF0\x9F\x9A\xA3"s, "\x1B[31m"s}) {
    BOOST_TEST(clean_text(text) == text);
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_utf8_is_replaced) {
  BOOST_TEST(clean_text("a\0b"s) == "a" + bad + "b");
  BOOST_TEST(clean_text("\xFF\xFE") == bad + bad);
  BOOST_TEST(clean_text("\xC0\xAF") == bad + bad);            // overlong
  BOOST_TEST(clean_text("\xED\xA0\x80") == bad + bad + bad);  // surrogate
  BOOST_TEST(clean_text("\xF5\x80") == bad + bad);            // above U+10FFFF
  BOOST_TEST(clean_text("x\xE2\x82") == "x" + bad);           // cut at the end
  BOOST_TEST(clean_text("\xE2\x82y") == bad + "y");
  BOOST_TEST(clean_text("\xF0\x9F\x9A\xC3\xA9") == bad + "\xC3\xA9");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(evaluation_record_rules)

BOOST_AUTO_TEST_CASE(an_import_of_triton_is_seen_and_its_mention_is_not) {
  for (const char* code :
       {"import triton", "  import triton.language as tl", "import torch, triton\n", "x = 1\nfrom triton import jit",
        "from triton.language import sum, max", "import torch; import triton"}) {
    BOOST_TEST(imports_triton(code), code);
  }
  for (const char* code : {"", "# import triton", "import tritonx", "from torch import triton", "print('triton')",
                           "from torch import x, triton", "import_triton()"}) {
    BOOST_TEST(!imports_triton(code), code);
  }
}

BOOST_AUTO_TEST_CASE(the_engine_says_whether_a_gpu_or_the_interpreter_ran_it) {
  const auto device = h200();
  BOOST_TEST(engine_of(&device, "import triton") == "cuda-sm_90");
  BOOST_TEST(engine_of(nullptr, "import triton") == "triton-interpreter");
  BOOST_TEST(engine_of(nullptr, "import torch") == "cpu");
}

BOOST_AUTO_TEST_CASE(a_driver_that_cannot_be_reached_is_not_the_candidates_fault) {
  const auto device = h200();
  for (const char* sign : {"RuntimeError: CUDA unknown error - this may be due to", "No CUDA GPUs are available",
                           "cudaGetDeviceCount(). Error 304: OS call failed or operation not supported on this OS"}) {
    sandbox::run_result result;
    result.outcome = outcome::exited_nonzero;
    result.reason = "exit status 1";
    result.stderr_kept = "Traceback\n"s + sign;
    const auto on_gpu = make_evaluation(entry_on("gpu-0"), result, config_named("n"), &device, {});
    BOOST_TEST(on_gpu.outcome == outcome::sandbox_failed);
    BOOST_TEST(on_gpu.reason.find("GPU-1 (exit status 1)") != std::string::npos);
    const auto on_cpu = make_evaluation(entry_on("cpu-0"), result, config_named("n"), nullptr, {});
    BOOST_TEST(on_cpu.outcome == outcome::exited_nonzero);
    result.outcome = outcome::exited;
    BOOST_TEST(make_evaluation(entry_on("gpu-0"), result, config_named("n"), &device, {}).outcome == outcome::exited);
  }
}

BOOST_AUTO_TEST_CASE(a_claim_counts_only_of_a_run_that_ended_well) {
  sandbox::run_result result;
  result.outcome = outcome::timed_out;
  result.claim = claim::run_tests;
  BOOST_TEST(make_evaluation(entry_on("cpu-0"), result, config_named("n"), nullptr, {}).claim == claim::none);
  result.outcome = outcome::exited;
  BOOST_TEST(make_evaluation(entry_on("cpu-0"), result, config_named("n"), nullptr, {}).claim == claim::run_tests);
}

BOOST_AUTO_TEST_CASE(a_run_ended_by_its_lease_is_the_sandboxs_failure_unless_it_had_ended_by_itself) {
  sandbox::run_result result;
  result.outcome = outcome::cancelled;
  const auto entry = entry_on("cpu-3", stop_cause::lease_expired);
  const auto killed = make_evaluation(entry, result, config_named("n"), nullptr, run_entry::time_point{202s});
  BOOST_TEST(killed.outcome == outcome::sandbox_failed);
  BOOST_TEST(killed.reason.find("lease of cpu-3 expired") == 0U);
  BOOST_TEST(killed.reason.find("after 190 s") != std::string::npos);
  result.outcome = outcome::exited_nonzero;
  BOOST_TEST(make_evaluation(entry, result, config_named("n"), nullptr, {}).outcome == outcome::exited_nonzero);
}

BOOST_AUTO_TEST_CASE(the_record_says_where_and_how_it_was_made) {
  const auto device = h200();
  sandbox::run_result result;
  result.outcome = outcome::exited;
  result.exit_code = 0;
  result.reason = "two\nlines";
  result.stdout_kept = "PASS \xFF";
  result.stdout_bytes = 6;
  result.level = sandbox::level::full;
  result.started_at = std::chrono::system_clock::time_point{5s};
  result.elapsed = 123us;
  result.kept = {{"out.txt", "x", ""}, {"gone", "", "absent"}};
  auto entry = entry_on("gpu-0");
  entry.what.code = "import triton";
  const auto record = make_evaluation(entry, result, config_named("n1"), &device, {});
  BOOST_TEST(record.node == "n1");
  BOOST_TEST(record.slot == "gpu-0");
  BOOST_TEST(record.gpu_uuid == "GPU-1");
  BOOST_TEST(record.engine == "cuda-sm_90");
  BOOST_TEST(record.sandbox_level == "L4");
  BOOST_TEST(record.python == "/usr/bin/python3");
  BOOST_TEST(record.stdout_text == "PASS " + bad);
  BOOST_TEST(record.stdout_bytes == 6U);
  BOOST_TEST(record.reason == "two lines");
  BOOST_TEST(record.started_us == 5'000'000);
  BOOST_TEST(record.queued.count() == 2'000'000);
  BOOST_TEST(record.elapsed.count() == 123);
  BOOST_TEST(record.kept.size() == 2U);
  BOOST_TEST(record.kept[1].problem == "absent");
}

BOOST_AUTO_TEST_SUITE_END()
