// SPDX-License-Identifier: Apache-2.0
#include "messages/event.hpp"
#include "tests/actors/store/scratch_folder.hpp"
#include "tests/actors/store/skip.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <type_traits>
#include <utility>

using namespace regatta;
using namespace regatta::test;

namespace {

/// From the line that introduces `kind` to the next kind or heading.
std::string section_of(const std::string& document, const std::string& kind) {
  const auto begin = document.find("\n**`" + kind + "`**");
  if (begin == std::string::npos) {
    return {};
  }
  const auto end = std::min(document.find("\n**`", begin + 1), document.find("\n## ", begin + 1));
  return document.substr(begin, end - begin);
}

template <class T>
void require_all_fields(const std::string& section) {
  for (const auto name : field_names<T>) {
    BOOST_TEST(section.find("`" + std::string{name} + "`") != std::string::npos, T::field_list << ": " << name);
  }
}

template <std::size_t... Is>
void require_all_kinds(const std::string& document, std::index_sequence<Is...>) {
  const auto require = [&]<class T>(std::type_identity<T>) {
    const auto section = section_of(document, std::string{T::kind});
    BOOST_TEST(!section.empty(), T::kind);
    require_all_fields<T>(section);
  };
  (require(std::type_identity<std::variant_alternative_t<Is, fact>>{}), ...);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_document_of_events)

BOOST_AUTO_TEST_CASE(names_every_kind_and_every_field) {
  const auto document = read_file(environment("REGATTA_SOURCE_DIR") + "/docs/events.md");
  require_all_kinds(document, std::make_index_sequence<std::variant_size_v<fact>>{});
  require_all_fields<evaluation>(document.substr(document.find("\n## An evaluation")));
  require_all_fields<race_spec>(section_of(document, "race_started"));
  require_all_fields<model_choice>(document);
  require_all_fields<token_usage>(section_of(document, "reply_ended"));
}

BOOST_AUTO_TEST_SUITE_END()
