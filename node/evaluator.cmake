# SPDX-License-Identifier: Apache-2.0
add_library(regatta_node STATIC
  check_desk.cpp clean_text.cpp compile_check_codec.cpp evaluation_record.cpp evaluator.cpp evaluator_actor.cpp gpu_inventory.cpp gpu_seed.cpp
  host_devices.cpp judge_codec.cpp judge_launcher.cpp judge_memory.cpp judge_specs.cpp judging.cpp lease_table.cpp nvml.cpp nvml_clocks.cpp run_book.cpp run_queue.cpp sandbox_launcher.cpp source_check_codec.cpp
  source_checker.cpp timing_codec.cpp timing_watch.cpp)
target_sources(regatta_node PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES
  candidate_launcher.hpp check_desk.hpp clean_text.hpp compile_check.hpp device_layer.hpp evaluation_record.hpp evaluator.hpp
  evaluator_actor.hpp gpu_inventory.hpp gpu_seed.hpp host_devices.hpp judge_codec.hpp judge_launcher.hpp judge_memory.hpp judge_specs.hpp judging.hpp lease_table.hpp nvml.hpp nvml_clocks.hpp run_book.hpp run_queue.hpp
  sandbox_launcher.hpp source_check_codec.hpp source_checker.hpp timing_codec.hpp timing_watch.hpp)
target_link_libraries(regatta_node PUBLIC regatta_protocol regatta_sandbox
  PRIVATE nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS} Threads::Threads)
