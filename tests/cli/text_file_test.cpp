// SPDX-License-Identifier: Apache-2.0
#include "cli/text_file.hpp"

#include "messages/digest.hpp"
#include "messages/error.hpp"
#include "messages/limits.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>

namespace regatta::cli {

BOOST_AUTO_TEST_SUITE(text_files)

BOOST_AUTO_TEST_CASE(a_problem_is_read_with_links_resolved_and_its_mark_dropped) {
  const test::scratch_folder folder;
  const auto real = folder.write("real/softmax.py", "\xEF\xBB\xBFimport torch\n");
  std::filesystem::create_symlink(real, folder / "link.py");
  const auto problem = read_problem(folder / "link.py");
  BOOST_REQUIRE(problem);
  BOOST_TEST(problem->name == "softmax");
  BOOST_TEST(problem->path == std::filesystem::canonical(real).string());
  BOOST_TEST(problem->text == "import torch\n");
  BOOST_TEST(problem->digest == sha256_hex("\xEF\xBB\xBFimport torch\n"));
}

BOOST_AUTO_TEST_CASE(what_is_not_a_problem_file_is_refused_in_one_line) {
  const test::scratch_folder folder;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {folder / "absent.py", "No such file"},
      {folder.path(), "a folder"},
      {folder.write("latin.py", "x = '\xE9'\n"), "offset 5 that is not UTF-8"},
      {folder.write("nul.py", std::string{"x\0y", 3}), "NUL at offset 1"},
      {folder.write("empty.py", " \n"), "an empty file"},
      {folder.write("wide.py", std::string("\xFF\xFEx\0", 4)), "not UTF-8"},
      {folder.write("huge.py", std::string(problem_bytes + 1, '#')), "more than 1048576 bytes"},
      {"/dev/null", "a device"},
  };
  for (const auto& [path, expected] : cases) {
    const auto problem = read_problem(path);
    BOOST_REQUIRE(!problem);
    const auto text = text_of(problem.error());
    BOOST_TEST_INFO(text);
    BOOST_TEST((code_of(problem.error()) == ec::invalid_config));
    BOOST_TEST(text.find(expected) != std::string::npos);
    BOOST_TEST(text.find("allowed: ") != std::string::npos);
    BOOST_TEST(text.find('\n') == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(utf8_is_checked_as_the_standard_says) {
  for (const auto* good :
       {"", "a", "\xC3\xA9", "\xE6\xBC\xA2", "\xF0\x9F\x99\x82", "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"}) {
    BOOST_TEST(first_bad_utf8(good) == std::string_view::npos);
  }
  for (const auto* bad :
       {"\x80", "\xC1\xBF", "\xC3", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5"}) {
    BOOST_TEST(first_bad_utf8(bad) == 0U);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::cli
