// SPDX-License-Identifier: Apache-2.0
// What people write by hand, and what the source checker's helper (which reads candidates) answers.
#include "cli/config.hpp"
#include "cli/options.hpp"
#include "messages/error.hpp"
#include "node/source_check_codec.hpp"
#include "tests/fuzz/demands.hpp"

#include <string>

using namespace regatta;
using fuzz::demand;

namespace {

void check_config(std::string_view text) {
  const auto file = cli::parse_config(text, "/r.toml");
  if (!file) {
    demand(code_of(file.error()) == ec::invalid_config, "a bad file is a bad setting");
    demand(text_of(file.error()).starts_with("/r.toml"), "the file is named");
    return;
  }
  for (const auto& [name, value] : file->values) {
    const auto* option = cli::find_option(name);
    demand(option != nullptr, "only options come out");
    demand(value.source.starts_with("/r.toml:"), "the line is named");
    for (const auto& x : value.texts) {
      demand(cli::fits(option->rule, x), "a value keeps its option's rule");
    }
  }
  for (const auto& [name, table] : file->providers) {
    demand(table.values.count("api_key") == 0, "no key stands in a file");
  }
}

void check_helper(std::string_view line) {
  if (const auto got = decode_answer(line)) {
    demand(fuzz::is_utf8(got->facts.error), "the interpreter's words are UTF-8");
    for (const auto& x : got->facts.definitions) {
      demand(fuzz::is_utf8(x), "names are UTF-8");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  check_config(text);
  check_helper(text);
  return 0;
}
