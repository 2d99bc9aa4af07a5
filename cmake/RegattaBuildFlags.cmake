# SPDX-License-Identifier: Apache-2.0
# Warnings and sanitizers, once. Every target of ours links regatta_build_flags.
add_library(regatta_build_flags INTERFACE)
target_include_directories(regatta_build_flags INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/generated")
target_compile_options(regatta_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast
  $<$<BOOL:${REGATTA_WERROR}>:-Werror>
  # GCC 12 warns of overlapping copies in std::string's own assignment once it is inlined (its bug 105651).
  $<$<AND:$<CONFIG:RelWithDebInfo>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>)
if(REGATTA_SANITIZE)
  target_compile_options(regatta_build_flags INTERFACE
    -fsanitize=${REGATTA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(regatta_build_flags INTERFACE -fsanitize=${REGATTA_SANITIZE})
endif()

if(REGATTA_FUZZ)
  target_compile_options(regatta_build_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# ccache with paths relative to the tree, so that build folders and clones share what they compiled.
find_program(REGATTA_CCACHE ccache)
if(REGATTA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    "${REGATTA_CCACHE}")
endif()

# Line numbers and names for back-traces; full debug information would double the build time of CAF code.
set(CMAKE_CXX_FLAGS_DEBUG "-g1")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

configure_file("${PROJECT_SOURCE_DIR}/cmake/version.hpp.in" "${PROJECT_BINARY_DIR}/generated/regatta_version.hpp" @ONLY)
