// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/ending.hpp"
#include "sandbox/judge/tree_codec.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <string>
#include <vector>

using namespace regatta::judge;

namespace {

tree_node tree_of(const std::string& text) {
  return read_tree(json::parse(text));
}

std::string refusal_of(const std::string& text) {
  try {
    (void)read_tree(parse_object(text));
  } catch (const malformed& x) {
    return x.what;
  }
  return {};
}

std::string nested(std::size_t depth) {
  std::string out = R"({"t":"none"})";
  for (std::size_t i = 0; i < depth; ++i) {
    out = R"({"t":"list","v":[)" + out + "]}";
  }
  return out;
}

const char* const whole = R"({"t":"dict","k":[{"t":"str","v":"a"},{"t":"int","v":"3"}],"v":[
  {"t":"tuple","v":[{"t":"tensor","dtype":"float16","shape":[2,3],"bytes":12},{"t":"none"}]},
  {"t":"record","name":"Out","f":["x","y"],"v":[{"t":"bool","v":true},{"t":"list","v":[{"t":"float","v":"-0x1.8p+1"}]}]}]})";

}  // namespace

BOOST_AUTO_TEST_SUITE(tree_codec_test)

BOOST_AUTO_TEST_CASE(a_tree_can_be_read_and_written_again) {
  const auto tree = tree_of(whole);
  BOOST_TEST(body_bytes(tree) == 12U);
  const auto leaves = leaves_of(tree);
  BOOST_TEST_REQUIRE(leaves.size() == 4U);
  BOOST_TEST(leaves[0].path == "[\"a\"][0]");
  BOOST_TEST(leaves[1].path == "[\"a\"][1]");
  BOOST_TEST(leaves[2].path == "[3].x");
  BOOST_TEST(leaves[3].path == "[3].y[0]");
  BOOST_TEST(leaves[3].node->number == -3.0);
  const auto again = read_tree(write_tree(tree));
  BOOST_TEST(structure_difference(again, tree).empty());
  BOOST_TEST(write_tree(again) == write_tree(tree));
}

BOOST_AUTO_TEST_CASE(floats_are_read_as_python_writes_them) {
  const auto number = [](const std::string& x) { return tree_of(R"({"t":"float","v":")" + x + "\"}").number; };
  BOOST_TEST(number("0x1.999999999999ap-4") == 0.1);
  BOOST_TEST(number("-0x0.0p+0") == 0);
  BOOST_TEST(std::signbit(number("-0x0.0p+0")));
  BOOST_TEST(number("0x0.0000000000001p-1022") == 4.9406564584124654e-324);
  BOOST_TEST(std::isinf(number("inf")));
  BOOST_TEST(number("-inf") < 0);
  BOOST_TEST(std::isnan(number("nan")));
}

BOOST_AUTO_TEST_CASE(integers_have_one_way_to_be_written) {
  BOOST_TEST(tree_of(R"({"t":"int","v":"-007"})").text == "-7");
  BOOST_TEST(tree_of(R"({"t":"int","v":"-0"})").text == "0");
  BOOST_TEST(tree_of(R"({"t":"int","v":"123456789012345678901234567890"})").text == "123456789012345678901234567890");
}

BOOST_AUTO_TEST_CASE(what_is_no_tree_is_refused_by_name) {
  const std::vector<std::pair<std::string, std::string>> table{
      {"[]", "no JSON object"},
      {"{\"t\":", "no JSON object"},
      {"{}", "no t"},
      {R"({"t":1})", "t is no string"},
      {R"({"t":"set","v":[]})", "kind set"},
      {R"({"t":"bool","v":1})", "bool"},
      {R"({"t":"int","v":"1e3"})", "int"},
      {R"({"t":"int","v":""})", "int"},
      {R"({"t":"int","v":"-"})", "int"},
      {R"({"t":"int","v":5})", "v is no string"},
      {R"({"t":"float","v":"0x1p+99999"})", "float"},
      {R"({"t":"float","v":"0x-1"})", "float"},
      {R"({"t":"float","v":"1.5"})", "float"},
      {R"({"t":"float","v":""})", "float"},
      {R"({"t":"list","v":{}})", "no list"},
      {R"({"t":"list"})", "no v"},
      {R"({"t":"dict","k":[],"v":[{"t":"none"}]})", "unlike numbers"},
      {R"({"t":"dict","k":[{"t":"tensor","dtype":"bool","shape":[],"bytes":1}],"v":[{"t":"none"}]})", "key"},
      {R"({"t":"record","name":"X","f":["a"],"v":[]})", "unlike numbers"},
      {R"({"t":"record","name":"X","f":[1],"v":[{"t":"none"}]})", "without a name"},
      {R"({"t":"tensor","dtype":"quint8","shape":[],"bytes":1})", "dtype"},
      {R"({"t":"tensor","dtype":"float32","shape":[2],"bytes":4})", "has 8 bytes, not 4"},
      {R"({"t":"tensor","dtype":"float32","shape":[-2],"bytes":4})", "no list of numbers"},
      {R"({"t":"tensor","dtype":"float32","shape":[1.0],"bytes":4})", "no list of numbers"},
      {R"({"t":"tensor","dtype":"float32","shape":3,"bytes":12})", "no list"},
      {R"({"t":"tensor","dtype":"float32","shape":[1],"bytes":"4"})", "no number"},
      {R"({"t":"tensor","dtype":"float32","shape":[4294967296,4294967296],"bytes":0})", "too large"},
      {R"({"t":"tensor","dtype":"uint8","shape":[2305843009213693952],"bytes":2305843009213693952})", "too large"},
      {nested(33), "deeper"},
      {std::string(1000, '[') + std::string(1000, ']'), "nested too deep"},
  };
  for (const auto& [text, wanted] : table) {
    BOOST_TEST_CONTEXT(text.substr(0, 80)) {
      const auto got = refusal_of(text);
      BOOST_TEST(got.find(wanted) != std::string::npos, got);
    }
  }
  BOOST_TEST(refusal_of(nested(32)) == "");
}

BOOST_AUTO_TEST_CASE(numbers_of_leaves_and_values_are_limited) {
  const auto list_of = [](std::size_t count) {
    std::string out = R"({"t":"list","v":[{"t":"none"})";
    for (std::size_t i = 1; i < count; ++i) {
      out += R"(,{"t":"none"})";
    }
    return out + "]}";
  };
  BOOST_TEST(refusal_of(list_of(4096)) == "");
  BOOST_TEST(refusal_of(list_of(4097)).find("4096 leaves") != std::string::npos);
  BOOST_TEST(refusal_of("{\"x\":[" + std::string(600'000, ',') + "]}").find("too many values") != std::string::npos);
  // Containers without leaves are limited, too.
  std::string empties = R"({"t":"list","v":[{"t":"list","v":[]})";
  for (std::size_t i = 0; i < 20'000; ++i) {
    empties += R"(,{"t":"list","v":[]})";
  }
  BOOST_TEST(refusal_of(empties + "]}").find("leaves") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(brackets_in_strings_do_not_count) {
  BOOST_TEST(refusal_of(R"({"t":"str","v":")" + std::string(500, '[') + R"(\"[[["})") == "");
}

BOOST_AUTO_TEST_CASE(a_difference_in_structure_names_its_place) {
  const std::vector<std::array<std::string, 3>> table{
      {R"({"t":"list","v":[{"t":"int","v":"1"}]})", R"({"t":"tuple","v":[{"t":"int","v":"1"}]})", ""},
      {R"({"t":"list","v":[]})", R"({"t":"tuple","v":[{"t":"none"}]})", "output: got list of 0 items, expected tuple of 1 item"},
      {R"({"t":"none"})", R"({"t":"bool","v":false})", "output: got None, expected False"},
      {R"({"t":"bool","v":true})", R"({"t":"bool","v":false})", "output: got True, expected False"},
      {R"({"t":"int","v":"1"})", R"({"t":"bool","v":true})", "output: got 1, expected True"},
      {R"({"t":"int","v":"1"})", R"({"t":"float","v":"0x1p+0"})", "output: got 1, expected 1"},
      {R"({"t":"float","v":"0x1p+1"})", R"({"t":"float","v":"0x1p+0"})", ""},
      {R"({"t":"str","v":"a"})", R"({"t":"str","v":"b"})", "output: got str \"a\", expected str \"b\""},
      {R"({"t":"tensor","dtype":"float32","shape":[1],"bytes":4})",
       R"({"t":"tensor","dtype":"float16","shape":[1],"bytes":2})",
       "output: got tensor float32 (1,), expected tensor float16 (1,)"},
      {R"({"t":"tensor","dtype":"float32","shape":[1,2],"bytes":8})",
       R"({"t":"tensor","dtype":"float32","shape":[2,1],"bytes":8})",
       "output: got tensor float32 (1, 2), expected tensor float32 (2, 1)"},
      {R"({"t":"dict","k":[{"t":"str","v":"b"}],"v":[{"t":"none"}]})",
       R"({"t":"dict","k":[{"t":"str","v":"a"}],"v":[{"t":"none"}]})", "output: key 0 is \"b\", expected \"a\""},
      {R"({"t":"record","name":"Mine","f":["a"],"v":[{"t":"none"}]})",
       R"({"t":"record","name":"Output","f":["a"],"v":[{"t":"none"}]})", ""},
      {R"({"t":"record","name":"X","f":["b"],"v":[{"t":"none"}]})",
       R"({"t":"record","name":"X","f":["a"],"v":[{"t":"none"}]})", "output: field 0 is \"b\", expected \"a\""},
      {R"({"t":"dict","k":[{"t":"str","v":"a"}],"v":[{"t":"list","v":[{"t":"none"},{"t":"unknown","v":"Foo"}]}]})",
       R"({"t":"dict","k":[{"t":"str","v":"a"}],"v":[{"t":"list","v":[{"t":"none"},{"t":"none"}]}]})",
       "output[\"a\"][1]: got an object of type Foo, expected None"},
  };
  for (const auto& [got, wanted, text] : table) {
    BOOST_TEST(structure_difference(tree_of(got), tree_of(wanted)) == text);
  }
}

BOOST_AUTO_TEST_CASE(names_from_a_side_cannot_steer_a_terminal) {
  const auto got = tree_of(R"({"t":"dict","k":[{"t":"str","v":"\u001b[31m\u009b\u202e"}],"v":[{"t":"none"}]})");
  BOOST_TEST(leaves_of(got)[0].path == "[\"?[31m?\"]");
}

BOOST_AUTO_TEST_SUITE_END()
