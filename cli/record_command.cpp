// SPDX-License-Identifier: Apache-2.0
#include "actors/file_batch.hpp"
#include "actors/run_recording.hpp"
#include "actors/store_reader.hpp"
#include "cli/commands.hpp"
#include "messages/error.hpp"

#include <filesystem>

namespace regatta::cli {

namespace {

std::string count_of(std::uint32_t n, const std::string& one, const std::string& many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

std::string summary_of(const run_recording& x) {
  std::string out = count_of(x.replies, "reply", "replies");
  out += x.failures == 0 ? "" : ", " + std::to_string(x.failures) + " of them failures";
  out += x.unheard == 0 ? "" : "; left out: " + count_of(x.unheard, "call", "calls") + " without an answer";
  out += x.undecided == 0 ? ""
                          : "; left out: " + count_of(x.undecided, "reply", "replies") +
                                " that might win before the winner did, as there was no verdict in time";
  return out;
}

/// Whole or not at all: a file is written beside it and takes its name. So nothing else may have that name, and no folder
/// is made for it.
caf::error write_whole(const std::string& file, const std::string& text) {
  const auto path = std::filesystem::absolute(file);
  std::error_code error;
  const auto there = std::filesystem::symlink_status(path, error).type();
  if (there != std::filesystem::file_type::not_found && there != std::filesystem::file_type::regular) {
    return fail(ec::invalid_config, "-o: got " + file +
                                        ", which is no regular file; allowed: a new file, or one to be replaced "
                                        "(without -o the recording goes to stdout)");
  }
  if (!std::filesystem::is_directory(path.parent_path(), error)) {
    return fail(ec::invalid_config, "-o: got " + file + ", allowed: a file in a folder that exists");
  }
  file_batch batch{path.parent_path().string()};
  batch.put(path.filename().string(), text, file_care::lasting);
  return batch.flush();
}

}  // namespace

exit_code run_record(const session& x, streams to) {
  auto store = store_reader::open(state_dir_of(x));
  if (!store) {
    return complain(store.error(), to);
  }
  const auto race = find_run(*store, x.line.run);
  if (!race) {
    return complain(race.error(), to);
  }
  const auto record = store->load_race(*race);
  const auto replies = store->load_replies(*race);
  if (!record || !replies) {
    return complain(record ? replies.error() : record.error(), to);
  }
  const auto out = record_run(*record, *replies);
  if (out.replies == 0) {
    return complain(fail(ec::not_found, race->text + " has no reply on record"), to);
  }
  if (x.line.out_file.empty()) {
    to.out.write(out.text);
  } else if (auto error = write_whole(x.line.out_file, out.text)) {
    return complain(error, to);
  }
  to.err.write(race->text + ": " + summary_of(out) + "\n");
  return exit_code::won;
}

}  // namespace regatta::cli
