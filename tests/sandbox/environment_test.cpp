// SPDX-License-Identifier: Apache-2.0
#include "sandbox/interpreter.hpp"
#include "sandbox/run_command.hpp"

#include <boost/test/unit_test.hpp>

using namespace regatta::sandbox;

BOOST_AUTO_TEST_SUITE(environment)

BOOST_AUTO_TEST_CASE(keys_and_everything_unlisted_stay_out) {
  const auto made = candidate_environment({{"OPENAI_API_KEY", "sk-1"},
                                           {"AWS_SECRET_ACCESS_KEY", "x"},
                                           {"SSH_AUTH_SOCK", "/tmp/agent"},
                                           {"LD_PRELOAD", "/tmp/evil.so"},
                                           {"PYTHONSTARTUP", "/tmp/x.py"},
                                           {"CUDA_VISIBLE_DEVICES", "1"},
                                           {"HOME", "/root"},
                                           {"TRITON_CACHE_DIR", "/root/.triton"}},
                                          {});
  for (const char* name : {"OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "LD_PRELOAD", "PYTHONSTARTUP",
                           "CUDA_VISIBLE_DEVICES"}) {
    BOOST_TEST(!made.contains(name), name);
  }
  BOOST_TEST(made.at("HOME") == "/run/job/.home");
  BOOST_TEST(made.at("TRITON_CACHE_DIR") == "/run/job/.cache/triton");
}

BOOST_AUTO_TEST_CASE(what_runs_need_is_taken_over) {
  const auto made = candidate_environment({{"PATH", "/x/bin:/usr/bin"},
                                           {"LANG", "de_DE.UTF-8"},
                                           {"LANGUAGE", "de"},
                                           {"LC_ALL", "C"},
                                           {"LD_LIBRARY_PATH", "/usr/local/nvidia/lib64"},
                                           {"CUDA_HOME", "/usr/local/cuda"},
                                           {"TRITON_INTERPRET", "1"}},
                                          {});
  for (const char* name : {"PATH", "LANG", "LANGUAGE", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_HOME", "TRITON_INTERPRET"}) {
    BOOST_TEST(made.contains(name), name);
  }
  BOOST_TEST(made.at("PYTHONHASHSEED") == "0");
  BOOST_TEST(made.at("OMP_NUM_THREADS") == "1");
}

BOOST_AUTO_TEST_CASE(pythonpath_keeps_existing_folders_only) {
  const auto made = candidate_environment({{"PYTHONPATH", "/nonexistent:/usr:relative::/usr/lib"}}, {});
  BOOST_TEST(made.at("PYTHONPATH") == "/usr:/usr/lib");
  BOOST_TEST(!candidate_environment({{"PYTHONPATH", "/nonexistent"}}, {}).contains("PYTHONPATH"));
}

BOOST_AUTO_TEST_CASE(extra_wins) {
  const auto made = candidate_environment({{"TRITON_INTERPRET", "0"}}, {{"TRITON_INTERPRET", "1"}, {"HOME", "/x"}});
  BOOST_TEST(made.at("TRITON_INTERPRET") == "1");
  BOOST_TEST(made.at("HOME") == "/x");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(text_output)

BOOST_AUTO_TEST_CASE(json_strings_are_always_valid) {
  BOOST_TEST(json_string("a\"b\\c\n") == "\"a\\\"b\\\\c\\u000a\"");
  BOOST_TEST(json_string("\xFFö✅") == "\"\\ufffdö✅\"");
  BOOST_TEST(json_string("\x1b[31m") == "\"\\u001b[31m\"");
}

BOOST_AUTO_TEST_CASE(no_control_sequence_reaches_a_terminal) {
  BOOST_TEST(printable("\x1b]0;title\x07 ok\n\tö") == "?]0;title? ok\n\tö");
  BOOST_TEST(printable("\xC2\x9B"
                       "31m") == "?31m");  // C1's one-character CSI
}

BOOST_AUTO_TEST_SUITE_END()
