# SPDX-License-Identifier: Apache-2.0
regatta_test(NAME node_unit_test LABEL unit
  SOURCES main.cpp check_desk_test.cpp evaluator_test.cpp gpu_inventory_test.cpp gpu_seed_test.cpp judging_test.cpp lease_table_test.cpp record_test.cpp run_book_test.cpp
    run_queue_test.cpp timing_watch_test.cpp
  LIBRARIES regatta_node)
# dlopen'd by the test instead of the driver's library.
add_library(fake_nvml MODULE fake_nvml.cpp)
target_link_libraries(fake_nvml PRIVATE regatta_build_flags)
set_target_properties(fake_nvml PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
add_dependencies(node_unit_test fake_nvml)
regatta_test(NAME node_sandbox_test LABEL integration TIMEOUT 300
  SOURCES sandbox_main.cpp evaluator_sandbox_test.cpp source_checker_test.cpp
  LIBRARIES regatta_node)
add_dependencies(node_sandbox_test regatta-sandbox)
regatta_test(NAME node_gpu_test LABEL gpu TIMEOUT 300 SOURCES gpu_test.cpp LIBRARIES regatta_node)
add_dependencies(node_gpu_test regatta-sandbox)
