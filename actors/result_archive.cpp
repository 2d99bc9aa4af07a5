// SPDX-License-Identifier: Apache-2.0
#include "actors/result_archive.hpp"

#include "actors/file_batch.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <memory>

namespace regatta {

namespace {

using archive_ptr = std::unique_ptr<archive, decltype(&archive_write_free)>;
using entry_ptr = std::unique_ptr<archive_entry, decltype(&archive_entry_free)>;

la_ssize_t collect(archive*, void* out, const void* data, std::size_t size) {
  static_cast<std::string*>(out)->append(static_cast<const char*>(data), size);
  return static_cast<la_ssize_t>(size);
}

caf::error archive_error(archive* raw, const std::string& what) {
  const char* why = archive_error_string(raw);
  return fail(ec::io_failed, "cannot pack " + what + ": " + (why == nullptr ? "unknown reason" : why));
}

caf::error add(archive* raw, const archive_member& member, std::int64_t modified_s) {
  if (!stays_below(member.path)) {
    return fail(ec::io_failed, "cannot pack \"" + member.path + "\": not a path below the archive");
  }
  const entry_ptr entry{archive_entry_new(), &archive_entry_free};
  archive_entry_set_pathname(entry.get(), member.path.c_str());
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(member.content.size()));
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0600);
  archive_entry_set_mtime(entry.get(), modified_s, 0);
  if (archive_write_header(raw, entry.get()) != ARCHIVE_OK ||
      archive_write_data(raw, member.content.data(), member.content.size()) !=
          static_cast<la_ssize_t>(member.content.size())) {
    return archive_error(raw, "\"" + member.path + "\"");
  }
  return {};
}

}  // namespace

caf::expected<std::string> make_result_archive(std::vector<archive_member> members, std::int64_t modified_s) {
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  std::string bytes;
  const archive_ptr out{archive_write_new(), &archive_write_free};
  archive_write_set_format_pax_restricted(out.get());
  archive_write_add_filter_gzip(out.get());
  // Else gzip's header carries the time of packing.
  archive_write_set_filter_option(out.get(), "gzip", "timestamp", nullptr);
  if (archive_write_open(out.get(), &bytes, nullptr, &collect, nullptr) != ARCHIVE_OK) {
    return archive_error(out.get(), "the result");
  }
  for (const auto& member : members) {
    if (auto error = add(out.get(), member, modified_s)) {
      return error;
    }
  }
  if (archive_write_close(out.get()) != ARCHIVE_OK) {
    return archive_error(out.get(), "the result");
  }
  return bytes;
}

}  // namespace regatta
