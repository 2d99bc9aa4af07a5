// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE text
#include "messages/limits.hpp"
#include "tests/actors/text/extractor_support.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

using namespace regatta;
using namespace regatta::tests;

namespace {

const std::string program = "class ModelNew:\n    x = 1\n";

std::string in_fence(const std::string& code, const std::string& tag = "python", const std::string& fence = "```") {
  return fence + tag + "\n" + code + fence + "\n";
}

void check_found(const std::string& reply, const std::string& code = program) {
  const auto x = extract(reply);
  BOOST_TEST(x.chosen.result == extraction::found, x.chosen.note);
  BOOST_TEST(x.chosen.code == code);
}

void check_outcome(const extracted& x, extraction expected, std::string_view in_note) {
  BOOST_TEST(x.chosen.result == expected, x.chosen.note);
  BOOST_TEST(x.chosen.note.find(in_note) != std::string::npos, x.chosen.note);
  BOOST_TEST(x.chosen.code.empty());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(extractor)

BOOST_AUTO_TEST_CASE(a_tagged_block_is_the_candidate) {
  check_found("Here it is:\n\n" + in_fence(program) + "\nGood luck.\n");
  for (const auto* tag : {"py", "python3", "Python", "PYTHON", "py3", "python title=\"a.py\"", " python", "{.python}",
                          "python3.11", "python,linenos"}) {
    BOOST_TEST_CONTEXT(tag) {
      check_found(in_fence(program, tag));
    }
  }
}

// Kind H112: no code in the reply (docs/field-failures.md).
BOOST_AUTO_TEST_CASE(prose_is_never_a_candidate) {
  check_outcome(extract("I cannot help with that."), extraction::no_code, "no fenced code block");
  check_outcome(extract(""), extraction::no_code, "empty");
  check_outcome(extract("  \n\n"), extraction::no_code, "empty");
  check_outcome(extract("I would first", {"ModelNew"}, true), extraction::no_code, "cut at its output limit");
}

BOOST_AUTO_TEST_CASE(a_whole_program_without_a_fence_is_no_candidate) {
  check_outcome(extract(program), extraction::no_code, "no fenced code block");
}

// Kind H113: the first block is not the program.
BOOST_AUTO_TEST_CASE(the_last_python_block_that_defines_the_entry_point_wins) {
  const auto second = "class ModelNew:\n    x = 2\n";
  check_found(in_fence("pip(1)\n", "bash") + "\nthen\n\n" + in_fence(program));
  check_found(in_fence(program) + "\nBetter:\n\n" + in_fence(second), second);
  check_found(in_fence(program) + "\nUse it:\n\n" + in_fence("model = ModelNew()\n"));
  check_found(in_fence(program) + "\nOutput:\n\n" + in_fence("class ModelNew:\n", ""));
  check_found(in_fence(program) + "\nThen run\n\n" + in_fence("class ModelNew:\n", "bash"));
}

BOOST_AUTO_TEST_CASE(untagged_indented_and_oddly_tagged_blocks_count_in_this_order) {
  check_found(in_fence(program, ""));
  check_found("Code:\n\n    class ModelNew:\n        x = 1\n");
  check_found("1.     class ModelNew:\n           x = 1\n");
  check_found(in_fence(program, "triton"));
  check_found(in_fence("class ModelNew:\n    x = 3\n", "triton") + in_fence(program, ""));
  check_found("Code:\n\n    class ModelNew:\n        x = 3\n\nor\n\n" + in_fence(program, ""));
}

BOOST_AUTO_TEST_CASE(a_foreign_block_is_never_run_where_nothing_must_be_defined) {
  check_outcome(extract(in_fence("ls = 1\n", "bash"), {}), extraction::no_code, "tagged bash");
  BOOST_TEST((extract(in_fence("x = 1\n"), {}).chosen.result == extraction::found));
}

// Kind H115: fences within fences.
BOOST_AUTO_TEST_CASE(longer_and_other_fences_hold_shorter_ones) {
  const auto code = "class ModelNew:\n    \"\"\"\n```\nx\n```\n    \"\"\"\n";
  check_found(in_fence(code, "python", "````"), code);
  check_found(in_fence(code, "python", "~~~"), code);
  check_found(in_fence(program, "python", "~~~~~"));
  check_found("~~~\n" + in_fence(program) + "~~~\n" + in_fence(program));
}

BOOST_AUTO_TEST_CASE(a_fence_inside_a_docstring_does_not_cut_the_program) {
  const auto code = "class ModelNew:\n    \"\"\"Use it:\n```\nModelNew()\n```\n    \"\"\"\n    x = 1\n";
  check_found(in_fence(code), code);
  check_found("Here:\n\n" + in_fence(code) + "\nDone.\n", code);
  check_found("```python\n" + std::string{code}, code);
  const auto tagged = "class ModelNew:\n    \"\"\"Use it:\n```python\nModelNew()\n```\n    \"\"\"\n    x = 1\n";
  check_found(in_fence(tagged), tagged);
}

BOOST_AUTO_TEST_CASE(fences_in_lists_and_quotes_lose_their_indentation) {
  check_found("1. First\n\n   ```python\n   class ModelNew:\n       x = 1\n   ```\n2. Then run it.\n");
  check_found("- ```python\n  class ModelNew:\n      x = 1\n  ```\n");
  check_found("> ```python\n> class ModelNew:\n>     x = 1\n> ```\n");
  check_found("  ```python\n  class ModelNew:\n      x = 1\n  ```\n");
}

BOOST_AUTO_TEST_CASE(code_that_falls_out_of_its_list_item_is_still_found) {
  check_found("1. The program:\n   ```python\nclass ModelNew:\n    x = 1\n```\n");
}

BOOST_AUTO_TEST_CASE(fences_that_commonmark_takes_for_text_are_a_last_resort) {
  check_found("<details>\n<summary>Code</summary>\n```python\nclass ModelNew:\n\n    x = 1\n```\n</details>\n",
              "class ModelNew:\n\n    x = 1\n");
  check_found("Code:\n\n      ```python\n      class ModelNew:\n          x = 1\n      ```\n");
}

BOOST_AUTO_TEST_CASE(a_fence_indented_as_code_is_the_code_of_an_indented_block) {
  const auto found = find_code("    ```\n    x = 1\n    ```\n", false);
  BOOST_REQUIRE(found.options.size() == 1U);
  BOOST_TEST(found.options[0].text == "```\nx = 1\n```\n");
}

BOOST_AUTO_TEST_CASE(a_reply_cut_inside_its_block_is_truncated) {
  check_outcome(extract("```python\n" + program, {"ModelNew"}, true), extraction::truncated, "output limit");
  check_outcome(extract("```python\n", {"ModelNew"}, true), extraction::no_code, "empty");
  check_outcome(extract("```python\nclass ModelNew:\n  x = \"\"\"", {"ModelNew"}, true), extraction::truncated,
                "1 of 1");
}

BOOST_AUTO_TEST_CASE(a_whole_block_before_the_cut_is_used) {
  const auto x = extract(in_fence(program) + "Or:\n```python\nclass ModelNew:\n  y", {"ModelNew"}, true);
  BOOST_TEST((x.chosen.result == extraction::found));
  BOOST_TEST(x.chosen.code == program);
}

BOOST_AUTO_TEST_CASE(a_block_that_nothing_closes_is_used_if_the_reply_was_not_cut) {
  check_found("```python\n" + program);
  BOOST_TEST(extract("```python\n" + program).chosen.note.find("never closed") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_not_python_is_named_with_line_and_reason) {
  check_outcome(extract(in_fence("class ModelNew:\n    x = 1\nso then\n")), extraction::syntax_error,
                "line 3: invalid syntax");
  check_outcome(extract(in_fence(program + "so then\n") + in_fence("x = ModelNew()\n")), extraction::syntax_error,
                "code block 1 of 2");
}

BOOST_AUTO_TEST_CASE(a_program_without_the_entry_point_is_named_with_what_it_has) {
  check_outcome(extract(in_fence("def kernel_function(x):\n    pass\n"), {"ModelNew", "kernel_function"}),
                extraction::no_entry_point, "does not define ModelNew at top level; it defines kernel_function");
}

BOOST_AUTO_TEST_CASE(an_empty_block_is_no_program) {
  check_outcome(extract(in_fence(""), {}), extraction::no_code, "empty");
  check_outcome(extract(in_fence(" \n\t\n"), {}), extraction::no_code, "empty");
}

// Kind H118: line ends, marks, bytes.
BOOST_AUTO_TEST_CASE(line_ends_and_byte_order_marks_are_normalised) {
  check_found("```python\r\nclass ModelNew:\r\n    x = 1\r\n```\r\n");
  check_found("```python\rclass ModelNew:\r    x = 1\r```\r");
  check_found("\xEF\xBB\xBF" + in_fence(program));
  check_found(in_fence("\xEF\xBB\xBF" + program));
  check_found("\t\n" + in_fence("class ModelNew:\t \n    x = 1  \n"));
}

BOOST_AUTO_TEST_CASE(bytes_that_no_interpreter_takes_are_named) {
  using namespace std::string_literals;
  check_outcome(extract(in_fence("class ModelNew:\n    x = '\0'\n"s)), extraction::bad_bytes, "NUL bytes");
  check_outcome(extract(in_fence("class ModelNew:\n    x = '\xFF'\n")), extraction::bad_bytes, "not UTF-8");
  check_outcome(extract(in_fence("x = '\xED\xA0\x80'\n")), extraction::bad_bytes, "not UTF-8");
  check_outcome(extract("\xFF\xFE`\0`\0`\0"s), extraction::bad_bytes, "UTF-16");
  check_outcome(extract("no\0code"s), extraction::bad_bytes, "NUL");
}

BOOST_AUTO_TEST_CASE(bad_bytes_outside_the_program_do_no_harm) {
  using namespace std::string_literals;
  check_found("\0\xFF\n"s + in_fence(program) + in_fence("\xFF", "text"));
  check_found(in_fence("class ModelNew:\n    s = '\xC3\xA4\xF0\x9F\x9A\x80'\n"),
              "class ModelNew:\n    s = '\xC3\xA4\xF0\x9F\x9A\x80'\n");
}

BOOST_AUTO_TEST_CASE(a_program_with_bad_bytes_is_not_replaced_by_a_lesser_block) {
  check_outcome(extract(in_fence("x = '\xFF'\n") + in_fence("y = 1\n", "bash"), {}), extraction::bad_bytes, "1 of 2");
}

BOOST_AUTO_TEST_CASE(what_is_too_large_is_named_with_both_sizes) {
  check_outcome(extract(in_fence(std::string(candidate_bytes, '#') + "\n")), extraction::too_large, "1048576");
  check_outcome(extract(std::string(reply_bytes + 1, 'a')), extraction::too_large, "4194304");
}

BOOST_AUTO_TEST_SUITE_END()
