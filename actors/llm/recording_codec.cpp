// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/recording_codec.hpp"

#include "actors/llm/json_codec.hpp"

#include <limits>
#include <utility>

namespace regatta {

namespace {

constexpr std::string_view format_name = "regatta-recording/1";
constexpr std::uint64_t longest_delay_ms = 3'600'000;

/// Reads one file; remembers the first thing that is wrong.
class line_reader {
public:
  explicit line_reader(std::string place) : place_{std::move(place)} {}

  bool has_failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }

  void fail(const std::string& key, const std::string& got, const std::string& allowed) {
    if (failure_.empty()) {
      failure_ = place_ + ": " + key + ": got " + got + ", allowed: " + allowed;
    }
  }

  std::uint32_t number(const json::value& x, const char* key, std::uint32_t fallback, std::uint32_t lowest) {
    const auto& found = json::at(x, key);
    if (found.is_null() && fallback >= lowest) {
      return fallback;
    }
    const auto count = found.is_number_unsigned() ? json::count(x, key) : std::nullopt;
    if (!count || *count < lowest || *count > std::numeric_limits<std::uint32_t>::max()) {
      fail(key, shown(found), "an integer from " + std::to_string(lowest));
      return lowest;
    }
    return static_cast<std::uint32_t>(*count);
  }

  std::string text(const json::value& x, const char* key) {
    const auto& found = json::at(x, key);
    if (!found.is_null() && !found.is_string()) {
      fail(key, shown(found), "a string");
    }
    return json::text(x, key);
  }

  std::optional<bool> flag(const json::value& x, const char* key) {
    const auto& found = json::at(x, key);
    if (found.is_null()) {
      return std::nullopt;
    }
    if (!found.is_boolean()) {
      fail(key, shown(found), "true, false");
      return std::nullopt;
    }
    return found.get<bool>();
  }

  recorded_reply reply(const json::value& x) {
    recorded_reply out;
    out.key = {number(x, "worker", 0, 1), number(x, "round", 0, 1), number(x, "attempt", 1, 1)};
    read_deltas(x, out);
    read_delays(x, out);
    out.finish = text(x, "finish");
    out.response_id = text(x, "response_id");
    out.is_stalled = flag(x, "stall").value_or(false);
    out.is_accepted = flag(x, "accepted");
    const auto& usage = json::at(x, "usage");
    out.usage = {json::count(usage, "input_tokens"), json::count(usage, "output_tokens"),
                 json::count(usage, "reasoning_tokens"), json::count(usage, "cached_tokens"),
                 json::count(usage, "cache_written_tokens")};
    read_error(json::at(x, "error"), out);
    if (!has_failed() && out.finish.empty() && !out.error && !out.is_stalled) {
      fail("finish", "nothing", "a finish, an error, or stall: true");
    }
    return out;
  }

private:
  static std::string shown(const json::value& x) { return x.is_null() ? "nothing" : json::to_text(x).substr(0, 80); }

  void read_deltas(const json::value& x, recorded_reply& out) {
    const auto& deltas = json::at(x, "deltas");
    if (!deltas.is_null() && !deltas.is_array()) {
      fail("deltas", shown(deltas), "a list of strings");
    }
    for (const auto& delta : deltas.is_array() ? deltas : json::value::array()) {
      if (!delta.is_string()) {
        return fail("deltas", shown(delta), "a list of strings");
      }
      out.deltas.push_back(delta.get<std::string>());
    }
  }

  void read_delays(const json::value& x, recorded_reply& out) {
    const auto& delays = json::at(x, "delay_ms");
    const auto list = delays.is_array() ? delays : delays.is_null() ? json::value::array() : json::value{delays};
    for (const auto& delay : list.is_array() ? list : json::value::array({list})) {
      if (!delay.is_number_unsigned() || delay.get<std::uint64_t>() > longest_delay_ms) {
        return fail("delay_ms", shown(delay), "milliseconds from 0 to " + std::to_string(longest_delay_ms));
      }
      out.delays.emplace_back(delay.get<std::uint64_t>());
    }
  }

  void read_error(const json::value& error, recorded_reply& out) {
    if (error.is_null()) {
      return;
    }
    const auto name = text(error, "outcome");
    out.error = from_name<llm_outcome>(name);
    if (!out.error || has_text(*out.error)) {
      fail("error.outcome", name.empty() ? shown(error) : name,
           all_names<llm_outcome>() + ", but not those with a text");
    }
    out.error_text = text(error, "text");
    out.http_status = number(error, "http_status", 0, 0);
  }

  std::string place_;
  std::string failure_;
};

recorded_reply read_line(std::string_view line, line_reader& reader) {
  const auto entry = json::parse(line);
  if (!entry.is_object()) {
    reader.fail("line", std::string{line.substr(0, 80)}, "a JSON object");
    return {};
  }
  return reader.reply(entry);
}

void read_header(std::string_view line, line_reader& reader, recording& out) {
  const auto header = json::parse(line);
  const auto format = json::text(header, "format");
  if (format != format_name) {
    reader.fail("format", format.empty() ? "nothing" : "\"" + format + "\"", std::string{format_name});
  }
  out.workers = reader.number(header, "workers", 0, 0);
}

llm_outcome outcome_of(const recorded_reply& reply, const std::string& text) {
  if (reply.error) {
    return *reply.error;
  }
  if (reply.finish == "content_filter") {
    return llm_outcome::refused;
  }
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return llm_outcome::empty;
  }
  const bool is_cut = reply.finish == "length" || reply.finish == "max_tokens" || reply.finish == "max_output_tokens";
  return is_cut ? llm_outcome::truncated : llm_outcome::replied;
}

void put_count(json::value& out, const char* key, const std::optional<std::uint64_t>& count) {
  if (count) {
    out[key] = *count;
  }
}

}  // namespace

caf::expected<recording> read_recording(std::string_view text, const std::string& file) {
  recording out;
  std::size_t number = 0;
  bool has_header = false;
  while (!text.empty()) {
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) {
      continue;
    }
    line_reader reader{file + ":" + std::to_string(number)};
    if (!std::exchange(has_header, true)) {
      read_header(line, reader, out);
    } else if (auto reply = read_line(line, reader);
               !reader.has_failed() && !out.replies.emplace(reply.key, reply).second) {
      reader.fail("worker, round, attempt", "the key of an earlier line", "each key once");
    }
    if (reader.has_failed()) {
      return fail(ec::invalid_config, reader.failure());
    }
  }
  if (!has_header) {
    return fail(ec::invalid_config, file + ":1: format: got nothing, allowed: " + std::string{format_name});
  }
  return out;
}

std::string recording_header(std::uint32_t workers) {
  return json::to_text({{"format", format_name}, {"workers", workers}}) + "\n";
}

std::string recording_line(const recorded_reply& reply) {
  json::value out{{"worker", reply.key.worker}, {"round", reply.key.round}, {"attempt", reply.key.attempt}};
  out["deltas"] = reply.deltas;
  if (!reply.delays.empty()) {
    out["delay_ms"] = json::value::array();
    for (const auto delay : reply.delays) {
      out["delay_ms"].push_back(delay.count());
    }
  }
  if (!reply.finish.empty()) {
    out["finish"] = reply.finish;
  }
  if (!reply.response_id.empty()) {
    out["response_id"] = reply.response_id;
  }
  json::value usage = json::value::object();
  put_count(usage, "input_tokens", reply.usage.input_tokens);
  put_count(usage, "output_tokens", reply.usage.output_tokens);
  put_count(usage, "reasoning_tokens", reply.usage.reasoning_tokens);
  put_count(usage, "cached_tokens", reply.usage.cached_tokens);
  put_count(usage, "cache_written_tokens", reply.usage.cache_written_tokens);
  if (!usage.empty()) {
    out["usage"] = usage;
  }
  if (reply.error) {
    out["error"] = {
        {"outcome", to_string(*reply.error)}, {"text", reply.error_text}, {"http_status", reply.http_status}};
  }
  if (reply.is_stalled) {
    out["stall"] = true;
  }
  if (reply.is_accepted) {
    out["accepted"] = *reply.is_accepted;
  }
  return json::to_text(out) + "\n";
}

try_result result_of(const recorded_reply& reply) {
  try_result out;
  for (const auto& delta : reply.deltas) {
    out.text += delta;
  }
  out.outcome = outcome_of(reply, out.text);
  out.finish_reason = reply.finish;
  out.response_id = reply.response_id;
  out.usage = reply.usage;
  out.error = reply.error_text;
  out.http_status = reply.http_status;
  return out;
}

}  // namespace regatta
