# SPDX-License-Identifier: Apache-2.0
# store: SQLite, run directories and the event socket.
add_library(regatta_store STATIC
  event_endpoint.cpp event_files.cpp event_publisher.cpp file_batch.cpp race_standing.cpp
  result_archive.cpp run_directory.cpp run_directory_codec.cpp run_log.cpp store.cpp store_budget.cpp store_gc.cpp
  store_database.cpp store_journal.cpp store_ledger.cpp store_ledger_lost.cpp store_migration_2.cpp store_migration_3.cpp store_migration_4.cpp store_migration_5.cpp
  store_migrations.cpp store_owner.cpp store_reader.cpp store_schema.cpp store_writer.cpp store_writer_facts.cpp)
target_sources(regatta_store PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES
  event_endpoint.hpp event_files.hpp event_publisher.hpp file_batch.hpp money_text.hpp
  race_standing.hpp result_archive.hpp run_directory.hpp run_directory_codec.hpp run_log.hpp run_tally.hpp store.hpp
  store_budget.hpp store_clock.hpp store_database.hpp store_gc.hpp store_journal.hpp store_ledger.hpp store_migration_2.hpp store_migration_3.hpp store_migration_4.hpp store_migration_5.hpp
  store_migrations.hpp store_owner.hpp store_reader.hpp store_rows.hpp store_schema.hpp store_writer.hpp)
# CMake 4.3 renamed it and warns about the old name.
if(TARGET SQLite3::SQLite3)
  set(REGATTA_SQLITE SQLite3::SQLite3)
else()
  set(REGATTA_SQLITE SQLite::SQLite3)
endif()
target_link_libraries(regatta_store PUBLIC regatta_protocol
  PRIVATE regatta_text ${REGATTA_SQLITE} LibArchive::LibArchive cppzmq nlohmann_json::nlohmann_json)

# What was run, as a recording for the `replay` provider.
add_library(regatta_recording STATIC run_recording.cpp)
target_sources(regatta_recording PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES run_recording.hpp)
target_link_libraries(regatta_recording PUBLIC regatta_store PRIVATE regatta_llm)
