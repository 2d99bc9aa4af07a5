// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE race_actors
#include <boost/test/unit_test.hpp>
