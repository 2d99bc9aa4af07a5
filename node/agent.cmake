# SPDX-License-Identifier: Apache-2.0
add_library(regatta_node_agent STATIC node_agent.cpp node_rules.cpp)
target_sources(regatta_node_agent PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES
  node_agent.hpp node_rules.hpp)
target_link_libraries(regatta_node_agent PUBLIC regatta_actors)
