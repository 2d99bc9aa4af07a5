// SPDX-License-Identifier: Apache-2.0
#include "cli/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace regatta::cli {

namespace {

spdlog::logger& logger() {
  static const auto instance = [] {
    auto out = std::make_shared<spdlog::logger>("regatta", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    out->set_pattern("regatta: %v");
    return out;
  }();
  return *instance;
}

}  // namespace

void open_log(bool is_verbose) {
  auto& log = logger();
  log.set_level(is_verbose ? spdlog::level::info : spdlog::level::warn);
  if (is_verbose) {
    log.set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
  }
  log.flush_on(spdlog::level::info);
}

void log_info(const std::string& text) {
  logger().info("{}", text);
}
void log_warning(const std::string& text) {
  logger().warn("{}", text);
}

}  // namespace regatta::cli
