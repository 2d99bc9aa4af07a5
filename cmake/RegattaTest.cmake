# SPDX-License-Identifier: Apache-2.0
# Boost brings its own CMake config; the module of the same name is gone from newer CMakes.
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)
endif()
find_package(Boost 1.74 REQUIRED COMPONENTS unit_test_framework)

# regatta_test(NAME <executable> LABEL unit|integration|gpu [TIMEOUT <s>] SOURCES <files…> LIBRARIES <targets…>)
# One executable per folder where that saves build time. Data and programs are found through the environment.
function(regatta_test)
  cmake_parse_arguments(arg "" "NAME;LABEL;TIMEOUT" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  # BOOST_TEST_MODULE must be defined before Boost's header is read, also where sources are joined.
  set(main_sources ${arg_SOURCES})
  list(FILTER main_sources INCLUDE REGEX "main[^/]*\\.cpp$")
  list(FILTER arg_SOURCES EXCLUDE REGEX "main[^/]*\\.cpp$")
  add_executable(${arg_NAME} ${main_sources} ${arg_SOURCES})
  target_compile_definitions(${arg_NAME} PRIVATE BOOST_TEST_DYN_LINK)
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBRARIES} regatta_build_flags Boost::unit_test_framework)
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME} --color_output=no)
  set_tests_properties(${arg_NAME} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${arg_LABEL}
    ENVIRONMENT "REGATTA_SOURCE_DIR=${PROJECT_SOURCE_DIR};REGATTA_BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
endfunction()
