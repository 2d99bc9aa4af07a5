// SPDX-License-Identifier: Apache-2.0
#include "cli/problem_check.hpp"

#include <boost/test/unit_test.hpp>

namespace regatta::cli {

namespace {

source_facts parsed(std::vector<std::string> definitions) {
  source_facts out;
  out.parses = true;
  out.definitions = std::move(definitions);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(problem_checks)

BOOST_AUTO_TEST_CASE(a_problem_defines_a_model_and_its_inputs) {
  BOOST_TEST(why_no_problem(parsed({"helper", "Model", "get_init_inputs", "get_inputs"}), "") == "");
  BOOST_TEST(why_no_problem(parsed({"Model"}), "") == "got no get_inputs, no get_init_inputs at its top level");
  source_facts broken;
  broken.error = "line 3: invalid syntax";
  BOOST_TEST(why_no_problem(broken, "") == "line 3: invalid syntax");
}

BOOST_AUTO_TEST_CASE(names_that_are_assigned_or_imported_are_there) {
  const auto lacks = [](const std::string& line) {
    return why_no_problem(parsed({"get_inputs", "get_init_inputs"}), "import torch\n" + line) != "";
  };
  for (const auto* good : {"Model = Other", "from torch.nn import ReLU as Model", "from x import (Model)",
                           "Model: type = Other", "Model, other = pair"}) {
    BOOST_TEST(!lacks(good));
  }
  for (const auto* bad : {"# Model = 1", "x = Model", "Models = 1", "  Model = 1", "Model", "import models  # Model"}) {
    BOOST_TEST(lacks(bad));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::cli
