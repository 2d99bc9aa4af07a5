# SPDX-License-Identifier: Apache-2.0
# Warnings and sanitizers, once. Every target of ours links regatta_build_flags.
add_library(regatta_build_flags INTERFACE)
target_include_directories(regatta_build_flags INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/generated")
target_compile_options(regatta_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast
  $<$<BOOL:${REGATTA_WERROR}>:-Werror>)
if(REGATTA_SANITIZE)
  target_compile_options(regatta_build_flags INTERFACE
    -fsanitize=${REGATTA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(regatta_build_flags INTERFACE -fsanitize=${REGATTA_SANITIZE})
endif()

if(REGATTA_FUZZ)
  target_compile_options(regatta_build_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(REGATTA_CCACHE ccache)
if(REGATTA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${REGATTA_CCACHE}")
endif()

configure_file("${PROJECT_SOURCE_DIR}/cmake/version.hpp.in" "${PROJECT_BINARY_DIR}/generated/regatta_version.hpp" @ONLY)
