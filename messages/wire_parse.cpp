// SPDX-License-Identifier: Apache-2.0
#include "messages/wire_parse.hpp"

namespace regatta::wire {

namespace {

/// First pass: walks the bytes without storing anything. The parser's own stack grows without limit, so depth is
/// counted here.
class shape_check : public msgpack::null_visitor {
public:
  bool start_array(std::uint32_t n) { return enter(n); }
  bool start_map(std::uint32_t n) { return enter(2ULL * n); }
  bool end_array() { return leave(); }
  bool end_map() { return leave(); }
  bool visit_ext(const char* /*data*/, std::uint32_t /*size*/) { return false; }

private:
  bool enter(std::uint64_t values) {
    values_ += values;
    return ++depth_ <= max_depth && values_ <= max_values;
  }
  bool leave() {
    --depth_;
    return true;
  }

  std::uint32_t depth_ = 0;
  std::uint64_t values_ = 0;
};

bool refer_always(object_kind /*kind*/, std::size_t /*size*/, void* /*user*/) { return true; }

}  // namespace

std::optional<object> parse(msgpack::zone& zone, std::string_view bytes) {
  std::size_t end = 0;
  shape_check shape;
  if (!msgpack::parse(bytes.data(), bytes.size(), end, shape) || end != bytes.size()) {
    return std::nullopt;
  }
  bool is_referenced = false;
  end = 0;
  return msgpack::unpack(zone, bytes.data(), bytes.size(), end, is_referenced, refer_always);
}

std::string_view kind_in(const object& map) {
  if (map.type != object_kind::MAP) {
    return {};
  }
  for (std::uint32_t i = 0; i < map.via.map.size; ++i) {
    const auto& [key, value] = map.via.map.ptr[i];
    if (key.type == object_kind::STR && value.type == object_kind::STR &&
        std::string_view{key.via.str.ptr, key.via.str.size} == "kind") {
      return {value.via.str.ptr, value.via.str.size};
    }
  }
  return {};
}

}  // namespace regatta::wire
