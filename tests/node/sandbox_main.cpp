// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE node_sandbox
#include <boost/test/unit_test.hpp>
