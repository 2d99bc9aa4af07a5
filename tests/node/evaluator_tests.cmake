# SPDX-License-Identifier: Apache-2.0
regatta_test(NAME node_unit_test LABEL unit
  SOURCES main.cpp evaluator_test.cpp lease_table_test.cpp record_test.cpp run_book_test.cpp run_queue_test.cpp
  LIBRARIES regatta_node)
