// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE node_unit
#include <boost/test/unit_test.hpp>
