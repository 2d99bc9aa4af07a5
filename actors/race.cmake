# SPDX-License-Identifier: Apache-2.0
# Worker and dedup registry: what races are made of, on either side of the wire.
add_library(regatta_actors STATIC
  dedup_registry.cpp worker.cpp worker_candidate.cpp worker_feedback.cpp worker_rules.cpp)
target_sources(regatta_actors PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES
  dedup_registry.hpp wake_timer.hpp worker.hpp worker_brief.hpp worker_feedback.hpp worker_rules.hpp)
target_link_libraries(regatta_actors PUBLIC regatta_protocol regatta_text)
