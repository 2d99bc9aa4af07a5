// SPDX-License-Identifier: Apache-2.0
/// \file
/// The JSON files of a run directory as text. KernelAgent's keys keep their names and meanings; ours come after them.
/// Pure. docs/run-directory.md describes every key.
#pragma once

#include "actors/run_tally.hpp"
#include "messages/event.hpp"

#include <cstdint>
#include <string>

namespace regatta {

/// `schema_version` of metadata.json, summary.json and evaluation.json.
inline constexpr int run_directory_schema_version = 1;

std::string metadata_json(const race_tally& race);
std::string state_json(const worker_tally& worker);
std::string reply_json(const reply_ended& reply);
/// One line of iteration_<k>.stream.jsonl, with line end.
std::string stream_record(const std::string& kind, const std::string& key, const std::string& text, std::int64_t at_us);
std::string digest_json(const candidate_reserved& candidate, std::int64_t at_us);
std::string evaluation_json(const evaluation& result, std::uint32_t attempt, const source_digest& digest,
                            bool is_accepted);
std::string summary_json(const race_tally& race, const race_ended& ended);

}  // namespace regatta
