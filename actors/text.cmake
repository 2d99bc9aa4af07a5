# SPDX-License-Identifier: Apache-2.0
# What comes out of texts alone: prompts, candidates, where a race stands.
add_library(regatta_text STATIC code_blocks.cpp code_choice.cpp code_extractor.cpp prompts.cpp race_fold.cpp
  stage_files.cpp utf8_check.cpp)
target_sources(regatta_text PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES
  code_blocks.hpp code_extractor.hpp prompts.hpp race_fold.hpp utf8_check.hpp)
target_link_libraries(regatta_text PUBLIC regatta_protocol PRIVATE PkgConfig::CMARK)
