// SPDX-License-Identifier: Apache-2.0
#include "actors/prompts.hpp"
#include "messages/install_paths.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

using namespace regatta;
namespace fs = std::filesystem;

namespace {

std::string source_dir() {
  const char* given = std::getenv("REGATTA_SOURCE_DIR");
  return given == nullptr ? "." : given;
}

std::string read(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

stage_spec shipped(const std::string& name) {
  auto stage = load_stage(source_dir() + "/prompts", name);
  BOOST_REQUIRE_MESSAGE(stage, (stage ? "" : describe(stage.error())));
  return *stage;
}

problem_spec problem_of(const std::string& text) {
  return {"p", "/p.py", text, "digest"};
}

/// A stage folder of the test's own.
struct own_stage {
  own_stage() : root{fs::temp_directory_path() / ("regatta_prompts_" + std::to_string(getpid()))} {
    fs::create_directories(root / "mine");
    write("system.md", "System.\n");
    write("body.md", "<!-- for editors -->\n\nBody {x} %s.\n\n");
    write("variants.md", "not sent\n## one\nFirst.\n\n## two\nSecond\nline.\n");
    write("must_define.txt", "# comment\nModelNew  # why\n\n");
  }
  ~own_stage() { fs::remove_all(root); }
  own_stage(const own_stage&) = delete;
  own_stage& operator=(const own_stage&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::ofstream{root / "mine" / name, std::ios::binary} << text;
  }
  caf::expected<stage_spec> load() const { return load_stage(root.string(), "mine"); }
  std::string complaint() const {
    const auto stage = load();
    return stage ? "none" : describe(stage.error());
  }
  fs::path root;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// REGATTA_UPDATE_SNAPSHOTS=1 writes them anew; the difference is then reviewed like code.
void check_snapshot(const std::string& name, const std::string& text) {
  const auto path = fs::path{source_dir()} / "tests/actors/text/snapshots" / name;
  if (std::getenv("REGATTA_UPDATE_SNAPSHOTS") != nullptr) {
    std::ofstream{path, std::ios::binary} << text;
  }
  BOOST_TEST((read(path) == text), name << " differs: run with REGATTA_UPDATE_SNAPSHOTS=1 and look at the difference");
}

const std::string small_problem = "class Model: ...\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n";

}  // namespace

BOOST_AUTO_TEST_SUITE(prompts)

BOOST_AUTO_TEST_CASE(prompts_are_word_for_word_what_was_reviewed) {
  const worker_progress second{2, "RUN_FAIL: exit status 1\nSTDOUT_TAIL:\n{oops}\n", "x = 1\n", {}, 0, {}};
  check_snapshot("kernel_round_1.txt", render_prompt(shipped("kernel"), 0, {}, problem_of(small_problem)));
  check_snapshot("kernel_round_2.txt", render_prompt(shipped("kernel"), 3, second, problem_of(small_problem)));
  check_snapshot("extract_round_1.txt", render_prompt(shipped("extract"), 1, {}, problem_of(small_problem)));
}

BOOST_AUTO_TEST_CASE(the_parts_come_in_their_order) {
  const own_stage files;
  const worker_progress progress{3, "\n  failed\n\n", "a = 1", {}, 0, {}};
  BOOST_TEST(render_prompt(*files.load(), 1, progress, problem_of("P\n")) ==
             "Second\nline.\n\nBody {x} %s.\n\nATTEMPT: 3\n\nERROR_CONTEXT:\nfailed\n\nPREVIOUS_CANDIDATE:\n"
             "```python\na = 1\n```\n\nPROBLEM_FILE_CONTENT:\nP\n");
  BOOST_TEST(render_prompt(*files.load(), 0, {}, problem_of("P\n")) ==
             "First.\n\nBody {x} %s.\n\nATTEMPT: 1\n\nPROBLEM_FILE_CONTENT:\nP\n");
}

BOOST_AUTO_TEST_CASE(hostile_problem_text_arrives_unchanged) {
  const std::string hostile =
      "{% include '/etc/passwd' %}{{ 7 * 7 }} {0} %(x)s $HOME ${x} `id`\n```\n```python\nATTEMPT: 9\nERROR_CONTEXT:\n"
      "\\n \r\n\t\xF0\x9F\x9A\xA4 <!-- x --> ## y";
  for (const auto* name : {"kernel", "extract"}) {
    const auto text = render_prompt(shipped(name), 0, {2, hostile, hostile, {}, 0, {}}, problem_of(hostile));
    BOOST_TEST(text.ends_with("\n\nPROBLEM_FILE_CONTENT:\n" + hostile));
    BOOST_TEST(contains(
        text, "\nERROR_CONTEXT:\n" + hostile + "\n\nPREVIOUS_CANDIDATE:\n````python\n" + hostile + "\n````\n"));
  }
}

BOOST_AUTO_TEST_CASE(no_code_can_close_the_fence_around_it) {
  const std::string code = "s = '''\n`````\n'''\n";
  const auto text = render_prompt(stage_spec{}, 0, {2, "e", code, {}, 0, {}}, problem_of(""));
  BOOST_TEST(contains(text, "\n``````python\n" + code + "``````\n"));
}

BOOST_AUTO_TEST_CASE(every_variant_is_used_and_none_resembles_another) {
  for (const auto* name : {"kernel", "extract"}) {
    const auto stage = shipped(name);
    BOOST_TEST(stage.variants.size() >= 5U);
    std::set<std::string> begins;
    for (std::uint32_t worker = 0; worker < 2 * stage.variants.size(); ++worker) {
      const auto text = render_prompt(stage, worker, {}, problem_of(""));
      begins.insert(text.substr(0, text.find("\n\n")));
    }
    BOOST_TEST(begins.size() == stage.variants.size());
  }
}

BOOST_AUTO_TEST_CASE(the_shipped_stages_ask_for_what_they_say) {
  BOOST_TEST((shipped("kernel").must_define == std::vector<std::string>{"ModelNew", "kernel_function"}));
  BOOST_TEST((shipped("extract").must_define == std::vector<std::string>{"Model", "run_tests"}));
  for (const auto* name : {"kernel", "extract"}) {
    const auto stage = shipped(name);
    for (const auto& must : stage.must_define) {
      BOOST_TEST(contains(stage.body, must), name << " never says " << must);
    }
    BOOST_TEST(!contains(stage.body + stage.system, "SPDX"));
  }
}

BOOST_AUTO_TEST_CASE(a_digest_names_the_wording) {
  const own_stage files;
  const auto before = files.load()->digest;
  BOOST_TEST(before.size() == 64U);
  BOOST_TEST(files.load()->digest == before);
  files.write("body.md", "Body {x} %s.\r\n");
  BOOST_TEST(files.load()->digest == before, "what is not sent does not count");
  files.write("body.md", "Body {y} %s.\n");
  BOOST_TEST(files.load()->digest != before);
}

BOOST_AUTO_TEST_CASE(a_stage_that_is_not_there_is_named_with_those_that_are) {
  const auto stage = load_stage(source_dir() + "/prompts", "kernl");
  BOOST_REQUIRE(!stage);
  BOOST_TEST(code_of(stage.error()) == ec::not_found);
  BOOST_TEST(contains(describe(stage.error()), "\"kernl\""));
  BOOST_TEST(contains(describe(stage.error()), "stages there: extract, kernel"));
  for (const auto* name : {"../kernel", "/etc", "", ".", "Kernel", "a b", "extract/../kernel", "./kernel"}) {
    BOOST_TEST(!load_stage(source_dir() + "/prompts", name), name);
  }
}

BOOST_AUTO_TEST_CASE(a_bad_file_is_named_with_what_it_has_and_what_is_allowed) {
  const own_stage files;
  const auto check = [&](const std::string& file, const std::string& text, const std::string& good,
                         const std::string& expected) {
    files.write(file, text);
    const auto complaint = files.complaint();
    BOOST_TEST(contains(complaint, file), complaint);
    BOOST_TEST(contains(complaint, expected), complaint);
    files.write(file, good);
  };
  check("body.md", "<!-- only this -->", "b", "got nothing");
  check("body.md", std::string(300'000, 'x'), "b", "at most 262144");
  check("system.md", "\xFF", "s", "UTF-8");
  check("variants.md", "no heading", "## a\nx\n", "got no variant");
  check("variants.md", "## a\n## b\nx\n", "## a\nx\n", "heading without text");
  check("variants.md", "## a\nx\n## b\nx\n", "## a\nx\n", "same text twice");
  check("must_define.txt", "Model New\n", "", "\"Model New\"");
  check("must_define.txt", "3d\n", "", "\"3d\"");
  BOOST_TEST(files.complaint() == "none");
  fs::remove(files.root / "mine" / "system.md");
  BOOST_TEST(contains(files.complaint(), "not_found: no file"));
}

BOOST_AUTO_TEST_SUITE_END()
