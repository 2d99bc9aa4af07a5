# SPDX-License-Identifier: Apache-2.0
# CI and the sanitizers join the sources of a target (CMAKE_UNITY_BUILD): most of the time goes into reading the same
# headers, and joined they take less than half of it. The plain build (`make test`) still reads each source alone.
# Included last: names targets.
if(NOT CMAKE_UNITY_BUILD)
  return()
endif()
# Both warn of what sources that know nothing of each other have in common.
target_compile_options(regatta_build_flags INTERFACE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)

# Sources with a file-local name that is another source's, too, or with macros.
function(regatta_compile_alone target)
  if(TARGET ${target})
    get_target_property(folder ${target} SOURCE_DIR)
    list(TRANSFORM ARGN PREPEND "${folder}/")
    set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()
regatta_compile_alone(regatta_sandbox child_output.cpp)
regatta_compile_alone(regatta_text stage_files.cpp)
regatta_compile_alone(regatta_llm curl_transport.cpp responses_codec.cpp)
regatta_compile_alone(regatta_cli account_codec.cpp config.cpp provider_keys.cpp)
regatta_compile_alone(regatta_node source_checker.cpp)
regatta_compile_alone(regatta_store store.cpp)
regatta_compile_alone(llm_test messages_wire_test.cpp nothing_test.cpp retry_test.cpp)
regatta_compile_alone(node_unit_test check_desk_test.cpp lease_table_test.cpp run_book_test.cpp)
regatta_compile_alone(sandbox_test ready_rules_test.cpp)
regatta_compile_alone(sandbox_warm_test ready_test.cpp)
regatta_compile_alone(coordinator_test race_resume_test.cpp)
regatta_compile_alone(regatta resume_command.cpp)
