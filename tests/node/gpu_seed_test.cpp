// SPDX-License-Identifier: Apache-2.0
#include "node/gpu_seed.hpp"

#include <boost/test/unit_test.hpp>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using namespace regatta;
namespace fs = std::filesystem;

struct own_folder {
  own_folder() {
    char name[] = "/tmp/regatta-helpers-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~own_folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string path;
};

std::string content_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

const std::string packed = "KEY1 cuda_utils.so 4\nab\n\nKEY2 launcher.cpython-311.so 2\ncdend 2\n";

}  // namespace

BOOST_FIXTURE_TEST_SUITE(helpers_of_triton, own_folder)

BOOST_AUTO_TEST_CASE(what_the_seeding_run_left_is_kept_whole_and_readable_for_other_users) {
  const auto folder = path + "/helpers";
  const auto mask = ::umask(0077);
  BOOST_TEST(store_kernel_helpers(packed, folder) == "");
  ::umask(mask);
  BOOST_TEST(content_of(folder + "/KEY1/cuda_utils.so") == "ab\n\n");
  BOOST_TEST(content_of(folder + "/KEY2/launcher.cpython-311.so") == "cd");
  const auto others = fs::status(folder + "/KEY1/cuda_utils.so").permissions() & fs::perms::others_all;
  BOOST_TEST((others == fs::perms::others_read));
  BOOST_TEST(((fs::status(folder + "/KEY1").permissions() & fs::perms::others_exec) == fs::perms::others_exec));
}

BOOST_AUTO_TEST_CASE(a_second_seeding_leaves_the_first_ones_in_place) {
  const auto folder = path + "/helpers";
  BOOST_TEST(store_kernel_helpers(packed, folder) == "");
  BOOST_TEST(store_kernel_helpers("KEY1 cuda_utils.so 1\nXend 1\n", folder) == "");
  BOOST_TEST(content_of(folder + "/KEY1/cuda_utils.so") == "ab\n\n");
  BOOST_TEST(std::distance(fs::directory_iterator{path}, {}) == 1);
}

BOOST_AUTO_TEST_CASE(what_is_cut_or_points_elsewhere_is_refused_whole) {
  const auto folder = path + "/helpers";
  for (const std::string bad :
       {"", "end 0\n", "KEY1 a.so 4\nab", "KEY1 a.so 2\nab", "KEY1 a.so 2\nabend 2\n", "../K a.so 2\nabend 1\n",
        "K ../a.so 2\nabend 1\n", "K a/b.so 2\nabend 1\n", ".. a.so 2\nabend 1\n", "K a.so -2\nabend 1\n",
        "K a.so 99999999999999999999\nabend 1\n", "K a.so 2\nabend 1\nmore", "K  2\nabend 1\n"}) {
    BOOST_TEST(!store_kernel_helpers(bad, folder).empty(), bad);
    BOOST_TEST(!has_kernel_helpers(folder));
  }
}

BOOST_AUTO_TEST_CASE(the_seeding_run_has_its_gpu_gives_way_and_writes_only_into_its_own_folder) {
  gpu device{"GPU-1", "Fake", 1, 0, "9.0", {"/dev/nvidiactl", "/dev/nvidia1"}};
  device.kernel_helpers = path + "/helpers";
  sandbox::interpreter python;
  python.executable = "/usr/bin/python3";
  const auto spec = seeding_spec(device, python, {}, "print()");
  BOOST_TEST(spec.gives_way);
  BOOST_TEST(spec.devices == device.device_nodes, boost::test_tools::per_element());
  BOOST_TEST(spec.readable.empty());
  BOOST_TEST(spec.environment.at("TRITON_CACHE_DIR").starts_with("/run/job/"));
  BOOST_TEST(spec.ready == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
