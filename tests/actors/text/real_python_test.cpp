// SPDX-License-Identifier: Apache-2.0
// Extraction with the facts of a real Python, over every reply under examples/candidates and a few hard ones.
#define BOOST_TEST_MODULE text_real_python
#include "actors/code_extractor.hpp"
#include "messages/digest.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>

using namespace regatta;
namespace fs = std::filesystem;

namespace {

const std::vector<std::string> must_define{"ModelNew", "kernel_function"};

std::string source_dir() {
  const char* given = std::getenv("REGATTA_SOURCE_DIR");
  return given == nullptr ? "." : given;
}

std::string read(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::string output_of(const std::string& command) {
  struct closer {
    void operator()(FILE* x) const { pclose(x); }
  };
  const std::unique_ptr<FILE, closer> pipe{popen(command.c_str(), "r")};
  std::string out;
  for (int c = pipe ? std::fgetc(pipe.get()) : EOF; c != EOF; c = std::fgetc(pipe.get())) {
    out += static_cast<char>(c);
  }
  return out;
}

/// A folder that goes away with the test.
struct scratch {
  scratch() : path{fs::temp_directory_path() / ("regatta_text_" + std::to_string(getpid()))} {
    fs::create_directories(path);
  }
  ~scratch() { fs::remove_all(path); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  fs::path path;
};

std::vector<source_facts> facts_of(const std::vector<code_option>& options) {
  const scratch folder;
  auto command = "/usr/bin/env python3 '" + source_dir() + "/tests/actors/text/ast_facts.py'";
  for (std::size_t i = 0; i < options.size(); ++i) {
    const auto file = folder.path / std::to_string(i);
    std::ofstream{file, std::ios::binary} << options[i].text;
    command += " '" + file.string() + "'";
  }
  std::istringstream lines{output_of(command)};
  std::vector<source_facts> out;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words{line};
    std::string word;
    words >> word;
    source_facts facts{word == "ok", {}, {}, false};
    if (!facts.parses) {
      std::getline(words >> std::ws, facts.error);
    }
    while (words >> word) {
      facts.definitions.push_back(word);
    }
    out.push_back(facts);
  }
  BOOST_TEST(out.size() == options.size());
  return out;
}

chosen_code extract(std::string_view reply, bool is_cut = false) {
  const auto found = find_code(reply, is_cut);
  return choose_code(found, found.options.empty() ? std::vector<source_facts>{} : facts_of(found.options), must_define,
                     is_cut);
}

struct candidate_file {
  std::map<std::string, std::string> front;
  std::string reply;
};

/// As examples/candidate_files.py reads them.
candidate_file parse(const std::string& text) {
  candidate_file out;
  const auto end = text.find("---\n", 4);
  std::istringstream lines{text.substr(4, end - 4)};
  for (std::string line; std::getline(lines, line);) {
    out.front[line.substr(0, line.find(": "))] = line.substr(line.find(": ") + 2);
  }
  out.reply = text.substr(end + 4);
  return out;
}

std::string expected_outcome(const std::string& expect) {
  const bool is_named = from_name<extraction>(expect).has_value();
  return is_named ? expect : "found";
}

/// From the first python fence to the last one like it: right for these files.
std::string whole_program(const std::string& reply) {
  const auto begin = reply.find("```py");
  const auto fence_begin = begin > 0 && reply[begin - 1] == '`' ? begin - 1 : begin;
  const auto fence = reply.substr(fence_begin, reply.find('p', fence_begin) - fence_begin);
  const auto code = reply.find('\n', begin) + 1;
  return canonical_source(reply.substr(code, reply.rfind("\n" + fence + "\n") + 1 - code));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(real_python)

BOOST_AUTO_TEST_CASE(every_recorded_reply_is_read_as_it_was_meant) {
  std::size_t seen = 0;
  for (const auto& entry : fs::recursive_directory_iterator{source_dir() + "/examples/candidates"}) {
    if (entry.path().extension() != ".md") {
      continue;
    }
    auto file = parse(read(entry.path()));
    if (file.front["expect"] == "error") {
      continue;
    }
    ++seen;
    BOOST_TEST_CONTEXT(entry.path().string()) {
      const auto chosen = extract(file.reply, file.front["finish"] == "length");
      BOOST_TEST(to_string(chosen.result) == expected_outcome(file.front["expect"]), chosen.note);
      if (chosen.result == extraction::found) {
        BOOST_TEST(chosen.code == whole_program(file.reply));
      }
    }
  }
  BOOST_TEST(seen > 60U);
}

BOOST_AUTO_TEST_CASE(a_docstring_with_a_fence_is_read_whole_where_python_says_so) {
  const std::string code =
      "def kernel_function(x):\n    "
      "'''Example:\n```\nkernel_function(1)\n```\nand\n```python\nkernel_function(2)\n```\n"
      "    '''\n    return x\n\n\nclass ModelNew:\n    pass\n";
  const auto chosen = extract("Here:\n\n```python\n" + code + "```\n\nThat's all.\n");
  BOOST_TEST(chosen.result == extraction::found, chosen.note);
  BOOST_TEST(chosen.code == code);
}

BOOST_AUTO_TEST_CASE(a_cut_reply_and_a_broken_one_have_different_names) {
  const std::string broken = "```python\nclass ModelNew:\n    def f(self:\n        pass\n";
  BOOST_TEST(extract(broken + "```\n").result == extraction::syntax_error);
  BOOST_TEST(extract(broken + "```\n").note.find("line 2") != std::string::npos);
  BOOST_TEST(extract(broken, true).result == extraction::truncated);
}

BOOST_AUTO_TEST_SUITE_END()
