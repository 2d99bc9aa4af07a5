// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE node_gpu
#include "node/gpu_inventory.hpp"
#include "node/host_devices.hpp"
#include "tests/node/sandbox_house.hpp"

#include <string>

namespace {

using namespace regatta;
using namespace regatta::test;

/// Needs a GPU, and REGATTA_PYTHON with torch for CUDA and triton.
struct gpu_house : sandbox_house {
  bool has_gpu() {
    found = find_gpus(host_devices{}, {});
    for (const auto& line : found.left_out) {
      std::cerr << "left out: " << line << "\n";
    }
    if (found.gpus.empty()) {
      skip("gpu", "no usable GPU on this host");
      return false;
    }
    const auto given = environment("REGATTA_PYTHON");
    if (given.empty()) {
      skip("gpu", "REGATTA_PYTHON names no interpreter with torch and triton");
      return false;
    }
    for (const char* name : {"PATH", "LD_LIBRARY_PATH", "CUDA_HOME"}) {
      if (!environment(name).empty()) {
        host_environment[name] = environment(name);
      }
    }
    return is_open() && open(given);
  }
  gpu_inventory found;
};

const char* const what_is_seen = R"(
import os, torch
print(torch.cuda.device_count(), sorted(x for x in os.listdir('/dev') if x.startswith('nvidia')))
print('GPU-' + str(torch.cuda.get_device_properties(0).uuid))
print('PASS')
)";

const char* const kernel = R"(
import torch, triton
import triton.language as tl

@triton.jit
def double(x, y, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

x = torch.randn(1000, device='cuda')
y = torch.empty_like(x)
double[(4,)](x, y, 1000, block=256)
print('PASS' if torch.equal(y, 2 * x) else 'wrong')
)";

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_real_gpu, gpu_house)

BOOST_AUTO_TEST_CASE(the_inventory_knows_it_whole) {
  if (!has_gpu()) {
    return;
  }
  for (const auto& each : found.gpus) {
    std::cerr << each.uuid << " " << each.name << " minor " << each.minor << " memory " << each.memory << " capability "
              << each.compute_capability << "\n";
    BOOST_TEST(each.uuid.starts_with("GPU-"));
    BOOST_TEST(!each.compute_capability.empty());
    BOOST_TEST(each.memory > 0U);
    BOOST_TEST(each.device_nodes.size() == 3U);
  }
}

BOOST_AUTO_TEST_CASE(each_run_sees_the_gpu_of_its_lease_alone) {
  if (!has_gpu()) {
    return;
  }
  start_evaluator(1, found.gpus);
  const auto count = static_cast<std::uint32_t>(found.gpus.size());
  for (std::uint32_t i = 1; i <= count; ++i) {
    BOOST_REQUIRE(ask<accepted>(evaluator, candidate(what_is_seen, i)));
  }
  BOOST_REQUIRE(heard->wait_for_ends(count));
  for (const auto& each : heard->ended()) {
    const auto& result = each.result;
    BOOST_TEST(result.claim == claim::run_tests, result.reason << "\n" << result.stderr_text);
    BOOST_TEST(result.stdout_text.starts_with("1 ["), result.stdout_text);
    BOOST_TEST(result.stdout_text.find(result.gpu_uuid) != std::string::npos, result.stdout_text);
    BOOST_TEST(result.engine.starts_with("cuda-sm_"));
  }
}

BOOST_AUTO_TEST_CASE(a_triton_kernel_is_compiled_and_runs_there) {
  if (!has_gpu()) {
    return;
  }
  start_evaluator(1, {found.gpus.front()});
  const auto result = evaluate(candidate(kernel));
  BOOST_TEST(result.claim == claim::run_tests, result.reason << "\n" << result.stderr_text);
}

BOOST_AUTO_TEST_CASE(a_gpu_whose_nodes_are_incomplete_is_the_hosts_failure) {
  if (!has_gpu()) {
    return;
  }
  auto crippled = found.gpus.front();
  std::erase_if(crippled.device_nodes, [](const std::string& x) { return x.ends_with("nvidia-uvm"); });
  start_evaluator(1, {crippled});
  const auto result = evaluate(candidate("import torch\nprint(torch.zeros(1, device='cuda') + 1, 'PASS')\n"));
  BOOST_TEST(result.outcome == outcome::sandbox_failed, result.reason << "\n" << result.stderr_text);
}

BOOST_AUTO_TEST_CASE(a_kernel_that_never_ends_is_killed_and_the_gpu_works_again) {
  if (!has_gpu()) {
    return;
  }
  start_evaluator(1, {found.gpus.front()});
  auto endless = candidate(R"(
import torch, triton
import triton.language as tl

@triton.jit
def spin(x):
    while tl.load(x, volatile=True) == 0:
        pass

spin[(1,)](torch.zeros(1, device='cuda', dtype=torch.int32))
torch.cuda.synchronize()
)");
  endless.limits.wall = std::chrono::seconds{20};
  const auto stuck = evaluate(endless);
  BOOST_TEST(stuck.outcome == outcome::timed_out, stuck.reason << "\n" << stuck.stderr_text);
  std::cerr << "killed in " << stuck.killed_in.count() << " us\n";
  const auto next = evaluate(candidate(kernel, 2));
  BOOST_TEST(next.claim == claim::run_tests, next.reason << "\n" << next.stderr_text);
}

BOOST_AUTO_TEST_SUITE_END()
