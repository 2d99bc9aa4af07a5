// SPDX-License-Identifier: Apache-2.0
#include "sandbox/zygote_pool.hpp"

#include "sandbox/seccomp_policy.hpp"
#include "sandbox/wire.hpp"

#include <fcntl.h>

#include <algorithm>
#include <utility>

namespace regatta::sandbox {

namespace {

/// What zygote.py splits at commas.
std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) {
    out += (out.empty() ? "" : ",") + name;
  }
  return out;
}

unique_fd filter_file(std::string& error) {
  const auto program = build_seccomp_filter(error);
  const auto file = make_memory_file(
      {reinterpret_cast<const char*>(program.data()), program.size() * sizeof(sock_filter)});
  // Out of the way of the numbers that it and the channel get.
  unique_fd moved{file ? ::fcntl(file.get(), F_DUPFD_CLOEXEC, zygote_filter_fd + 1) : -1};
  if (error.empty() && !moved) {
    error = "no descriptor for the filter";
  }
  return moved;
}

}  // namespace

void zygote_pool::open(zygote_files files, std::function<bool(int channel, id zygote)> watch) {
  files_ = std::move(files);
  watch_ = std::move(watch);
  if (files_.problem.empty()) {
    filter_ = filter_file(files_.problem);
  }
}

zygote_pool::~zygote_pool() {
  // All at once, then each is waited for. They have nothing to clean up, and one that imports would not hear.
  for (auto& item : links_) {
    item.second->kill();
  }
}

zygote_book::answer zygote_pool::ask(const run_spec& spec, clock::time_point now) {
  zygote_book::answer answer;
  const auto key = zygote_key_of(spec, answer.why_cold);
  if (!key || !files_.problem.empty()) {
    answer.why_cold = key ? files_.problem : answer.why_cold;
    return answer;
  }
  answer = book_.ask(*key, now);
  if (answer.is_new) {
    start(answer.zygote, now);
    answer = book_.ask(*key, now);  // it may have failed at once
  }
  return answer;
}

void zygote_pool::start(id zygote, clock::time_point now) {
  const auto& key = book_.key_of(zygote);
  forker_link::command what;
  what.program = key.command.front();
  what.argv = key.command;
  what.argv.insert(what.argv.end(), {files_.script, files_.library, joined(key.preload), key.kernel_target, key.kernel_helpers});
  for (const auto& [name, value] : key.environment) {
    what.environment.push_back(name + "=" + value);
  }
  what.filter = filter_.get();
  std::string error;
  auto& link = *(links_[zygote] = std::make_unique<forker_link>());
  if (!link.begin(what, error) || !watch_(link.channel(), zygote)) {
    on_down(zygote, error.empty() ? "epoll" : error, now);
  }
}

void zygote_pool::on_hello(id zygote, const forker_link::reply& reply, clock::time_point now) {
  if (reply.error == static_cast<std::int32_t>(wire_version)) {
    book_.on_ready(zygote, now);
  } else {
    on_down(zygote, reply.text.empty() ? "it is of another version" : reply.text, now);
  }
}

void zygote_pool::on_run_end(id zygote, clock::time_point now) {
  book_.on_run_end(zygote, now);
}

void zygote_pool::on_down(id zygote, const std::string& why, clock::time_point now) {
  book_.on_failure(zygote, "no zygote: " + why, now);
  retire(zygote);
}

void zygote_pool::retire(id zygote) {
  const auto found = links_.find(zygote);
  if (found != links_.end()) {
    found->second->kill();
    leaving_.push_back(std::move(found->second));
    links_.erase(found);
  }
}

void zygote_pool::tend(clock::time_point now) {
  const auto orders = book_.due(now);
  for (const auto zygote : orders.to_end) {
    retire(zygote);
  }
  for (const auto zygote : orders.too_late) {
    on_down(zygote, "it did not come up within " + std::to_string(book_.limits().come_up.count()) + " s", now);
  }
  for (const auto zygote : orders.to_start) {
    start(zygote, now);
  }
  std::erase_if(leaving_, [](const auto& link) { return link->has_ended(); });
}

}  // namespace regatta::sandbox
