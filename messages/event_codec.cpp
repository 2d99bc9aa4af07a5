// SPDX-License-Identifier: Apache-2.0
#include "messages/event_codec.hpp"

#include "messages/codec.hpp"
#include "messages/error.hpp"

#include <nlohmann/json.hpp>

namespace regatta {

namespace {

/// The envelope's own entries, in this order in front of the fact's.
struct envelope {
  std::uint32_t schema_version = 0;
  std::uint64_t seq = 0;
  std::int64_t at_us = 0;
  race_id race;
  REGATTA_FIELDS(schema_version, seq, at_us, race);
};

}  // namespace

std::string topic_of(const event& x) {
  return "race." + x.race.text + "." + std::string{kind_of(x.body)};
}

std::string encode_event(const event& x) {
  wire::string_sink sink;
  wire::packer out{sink};
  std::visit(
      [&]<class T>(const T& body) {
        out.pack_map(static_cast<std::uint32_t>(field_count<envelope> + 1 + field_count<T>));
        wire::put_entries(out, envelope{x.schema_version, x.seq, x.at_us, x.race});
        wire::put_text(out, "kind");
        wire::put_text(out, T::kind);
        wire::put_entries(out, body);
      },
      x.body);
  return std::move(sink.bytes);
}

caf::expected<event> decode_event(std::string_view bytes) {
  auto head = decode<envelope>(bytes);
  if (!head) {
    return std::move(head.error());
  }
  auto body = decode<fact>(bytes);
  if (!body) {
    return std::move(body.error());
  }
  return event{head->schema_version, head->seq, head->at_us, head->race, std::move(*body)};
}

std::string event_to_json(const event& x) {
  return msgpack_to_json(encode_event(x));
}

caf::expected<event> event_from_json(std::string_view text) {
  const auto tree = nlohmann::json::parse(text, nullptr, false);
  if (tree.is_discarded()) {
    return fail(ec::malformed_frame, "an event that is no JSON");
  }
  std::string bytes;
  nlohmann::json::to_msgpack(tree, bytes);
  return decode_event(bytes);
}

std::string msgpack_to_json(std::string_view bytes, int indent) {
  const auto tree = nlohmann::ordered_json::from_msgpack(bytes, true, false);
  return tree.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace regatta
