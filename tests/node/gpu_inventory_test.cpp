// SPDX-License-Identifier: Apache-2.0
#include "node/gpu_inventory.hpp"

#include "messages/limits.hpp"
#include "node/host_devices.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace regatta;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

std::vector<std::string> uuids(const std::vector<gpu>& gpus) {
  std::vector<std::string> result;
  for (const auto& each : gpus) {
    result.push_back(each.uuid);
  }
  return result;
}

using names = std::vector<std::string>;

/// /proc and /dev of a host with GPUs, in a folder of its own.
struct fake_host {
  fake_host() {
    std::string pattern = (fs::temp_directory_path() / "regatta-gpus-XXXXXX").string();
    root = mkdtemp(pattern.data());
    fs::create_directories(root / "dev");
    paths = {(root / "proc").string(), (root / "dev").string(), fake_library("libfake_nvml.so"), 2s};
    unsetenv("REGATTA_FAKE_NVML");
  }
  fake_host(const fake_host&) = delete;
  fake_host& operator=(const fake_host&) = delete;
  ~fake_host() { fs::remove_all(root); }

  static std::string fake_library(const std::string& name) {
    return std::string{std::getenv("REGATTA_BIN_DIR")} + "/" + name;
  }
  void add_gpu(const std::string& bus, const std::string& uuid, int minor, const std::string& excluded = "No") {
    fs::create_directories(root / "proc" / bus);
    std::ofstream{root / "proc" / bus / "information"} << "Model: \t\t NVIDIA H200\nIRQ:   \t\t 0\nGPU UUID: \t "
                                                       << uuid << "\nBus Location: \t " << bus << "\nDevice Minor: \t "
                                                       << minor << "\nGPU Excluded:\t " << excluded << "\n";
    add_node("nvidia" + std::to_string(minor));
  }
  void add_node(const std::string& name) { std::ofstream{root / "dev" / name}; }
  void add_shared_nodes() {
    add_node("nvidiactl");
    add_node("nvidia-uvm");
  }
  gpu_inventory find(const std::map<std::string, std::string>& environment = {}) const {
    return find_gpus(host_devices{paths}, environment);
  }

  fs::path root;
  host_paths_of_devices paths;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(gpu_inventory_rules)

BOOST_AUTO_TEST_CASE(healthy_gpus_are_all_there_in_bus_order) {
  const auto found = find_gpus(healthy_fake_gpus(3), {});
  BOOST_TEST(uuids(found.gpus) == (names{"GPU-fake-0", "GPU-fake-1", "GPU-fake-2"}), boost::test_tools::per_element());
  BOOST_TEST(found.left_out.empty());
  BOOST_TEST(found.warnings.empty());
  BOOST_TEST(found.gpus[1].compute_capability == "9.0");
  BOOST_TEST(found.gpus[1].memory == 80 * GiB);
}

BOOST_AUTO_TEST_CASE(a_host_without_gpus_has_none_and_nothing_to_say) {
  const auto found = find_gpus(fake_devices{}, {});
  BOOST_TEST(found.gpus.empty());
  BOOST_TEST(found.left_out.empty());
  BOOST_TEST(found.warnings.empty());
}

BOOST_AUTO_TEST_CASE(a_driver_without_nodes_leaves_the_gpu_out_and_names_the_node) {
  auto host = healthy_fake_gpus(2);
  host.nodes[1] = {"/dev/nvidiactl", "/dev/nvidia1"};
  host.states["/dev/nvidia1"] = node_state::absent;
  const auto found = find_gpus(host, {});
  BOOST_TEST(uuids(found.gpus) == names{"GPU-fake-0"}, boost::test_tools::per_element());
  BOOST_TEST(found.left_out.at(0).starts_with("GPU-fake-1 (Fake GPU): /dev/nvidia1 is missing"));
  host.states["/dev/nvidia1"] = node_state::forbidden;
  BOOST_TEST(find_gpus(host, {}).left_out.at(0).find("no right to open /dev/nvidia1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_silent_nvml_costs_knowledge_but_no_gpu) {
  auto host = healthy_fake_gpus(1);
  host.management = {nvml_state::blocked, "NVML did not answer within 2000 ms", {}};
  const auto found = find_gpus(host, {});
  BOOST_TEST(found.gpus.size() == 1U);
  BOOST_TEST(found.gpus[0].compute_capability.empty());
  BOOST_TEST(found.warnings.at(0).starts_with("NVML did not answer"));
}

BOOST_AUTO_TEST_CASE(memory_in_use_by_others_is_told) {
  auto host = healthy_fake_gpus(2);
  host.management.gpus[0].memory_used = 2 * GiB - 1;
  host.management.gpus[1].memory_used = 20 * GiB;
  const auto found = find_gpus(host, {});
  BOOST_TEST(found.gpus.size() == 2U);
  BOOST_TEST(found.warnings == names{"GPU-fake-1 (Fake GPU): 20 GiB of 80 GiB are in use by others"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_split_or_excluded_gpu_is_not_leased) {
  auto host = healthy_fake_gpus(2);
  host.driver[0].is_excluded = true;
  host.management.gpus[1].is_split = true;
  const auto found = find_gpus(host, {});
  BOOST_TEST(found.gpus.empty());
  BOOST_TEST(found.left_out.size() == 2U);
}

BOOST_AUTO_TEST_CASE(where_procfs_is_hidden_nvml_is_enough) {
  auto host = healthy_fake_gpus(1);
  host.driver.clear();
  const auto found = find_gpus(host, {});
  BOOST_TEST(uuids(found.gpus) == names{"GPU-fake-0"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_uuid_that_the_driver_does_not_know_yet_comes_from_nvml_by_minor) {
  auto host = healthy_fake_gpus(2);
  host.driver[1].uuid.clear();
  BOOST_TEST(find_gpus(host, {}).gpus.at(1).uuid == "GPU-fake-1");
  host.management.gpus.clear();
  BOOST_TEST(find_gpus(host, {}).gpus.size() == 1U);
}

BOOST_AUTO_TEST_CASE(cuda_visible_devices_restricts_as_cuda_reads_it) {
  const auto host = healthy_fake_gpus(3);
  const auto visible = [&](const std::string& text) {
    return uuids(find_gpus(host, {{"CUDA_VISIBLE_DEVICES", text}}).gpus);
  };
  BOOST_TEST(visible("1") == names{"GPU-fake-1"}, boost::test_tools::per_element());
  BOOST_TEST(visible("2, 0") == (names{"GPU-fake-2", "GPU-fake-0"}), boost::test_tools::per_element());
  BOOST_TEST(visible("GPU-fake-2") == names{"GPU-fake-2"}, boost::test_tools::per_element());
  BOOST_TEST(visible("0,-1,2") == names{"GPU-fake-0"}, boost::test_tools::per_element());
  for (const char* none : {"", "-1", "9", "NoDevFiles", "GPU-fake", "GPU-x", "1,1", "MIG-1", "0x1"}) {
    BOOST_TEST(visible(none).empty(), none);
  }
  BOOST_TEST(find_gpus(host, {{"CUDA_VISIBLE_DEVICES", "1"}}).left_out.size() == 2U);
}

BOOST_AUTO_TEST_CASE(an_index_among_unlike_gpus_is_read_in_bus_order_and_said_so) {
  auto host = healthy_fake_gpus(2);
  host.driver[1].model = "Slow GPU";
  BOOST_TEST(find_gpus(host, {{"CUDA_VISIBLE_DEVICES", "0"}}).warnings.size() == 1U);
  BOOST_TEST(find_gpus(host, {{"CUDA_VISIBLE_DEVICES", "GPU-fake-0"}}).warnings.empty());
  BOOST_TEST(find_gpus(host, {{"CUDA_VISIBLE_DEVICES", "0"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}).warnings.empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(gpus_of_a_host, fake_host)

BOOST_AUTO_TEST_CASE(procfs_nvml_and_nodes_make_a_gpu) {
  add_shared_nodes();
  add_gpu("0000:ab:00.0", "GPU-bbbb", 1);
  add_gpu("0000:19:00.0", "GPU-aaaa", 0);
  const auto found = find();
  BOOST_TEST(uuids(found.gpus) == (names{"GPU-aaaa", "GPU-bbbb"}), boost::test_tools::per_element());
  const auto& first = found.gpus[0];
  BOOST_TEST(first.name == "NVIDIA H200");
  BOOST_TEST(first.compute_capability == "9.0");
  BOOST_TEST(first.memory == 140 * GiB);
  BOOST_TEST(first.memory_bytes_per_s == 4.916736e12, boost::test_tools::tolerance(1e-6));
  const auto dev = (root / "dev").string();
  BOOST_TEST(first.device_nodes == (names{dev + "/nvidiactl", dev + "/nvidia-uvm", dev + "/nvidia0"}),
             boost::test_tools::per_element());
  BOOST_TEST(found.warnings.at(0).starts_with("GPU-bbbb (NVIDIA H200): 20 GiB of 140 GiB"));
}

BOOST_AUTO_TEST_CASE(without_nvidia_uvm_no_gpu_is_usable) {
  add_node("nvidiactl");
  add_gpu("0000:19:00.0", "GPU-aaaa", 0);
  const auto found = find();
  BOOST_TEST(found.gpus.empty());
  BOOST_TEST(found.left_out.at(0).find("/nvidia-uvm is missing") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_host_without_the_library_still_has_its_gpus) {
  add_shared_nodes();
  add_gpu("0000:19:00.0", "GPU-aaaa", 0);
  paths.nvml = "libregatta-no-such-library.so.1";
  const auto found = find();
  BOOST_TEST(found.gpus.size() == 1U);
  BOOST_TEST((host_devices{paths}.nvml().state == nvml_state::absent));
}

BOOST_AUTO_TEST_CASE(a_library_without_a_driver_says_why) {
  setenv("REGATTA_FAKE_NVML", "uninitialised", 1);
  const auto answer = host_devices{paths}.nvml();
  BOOST_TEST((answer.state == nvml_state::failed));
  BOOST_TEST(answer.text == "nvmlInit: Driver Not Loaded");
}

BOOST_AUTO_TEST_CASE(a_library_that_hangs_does_not_hang_us) {
  setenv("REGATTA_FAKE_NVML", "blocked", 1);
  paths.nvml_limit = 50ms;
  const auto start = std::chrono::steady_clock::now();
  const auto answer = host_devices{paths}.nvml();
  BOOST_TEST((answer.state == nvml_state::blocked));
  BOOST_TEST((std::chrono::steady_clock::now() - start < 5s));
}

BOOST_AUTO_TEST_CASE(a_garbled_information_file_is_no_gpu_and_no_crash) {
  add_shared_nodes();
  fs::create_directories(root / "proc/0000:01:00.0");
  std::ofstream{root / "proc/0000:01:00.0/information"} << "Device Minor: 4294967296\nGPU UUID:\n\xFF\n:::";
  const auto found = find();
  BOOST_TEST(found.gpus.empty());
  BOOST_TEST(found.left_out.size() == 1U);
  BOOST_TEST(parse_gpu_information("b", "GPU UUID: GPU-?\?-?\nDevice Minor: 3").uuid.empty());
}

BOOST_AUTO_TEST_SUITE_END()
