// SPDX-License-Identifier: Apache-2.0
/// \file
/// The runner's zygotes: a process and a link for each that the book (warm_rules.hpp) says there should be. Used by the
/// runner's thread only, never blocks it.
#pragma once

#include "sandbox/forker_link.hpp"
#include "sandbox/warm_rules.hpp"
#include "sandbox/zygote.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace regatta::sandbox {

class zygote_pool {
public:
  using clock = zygote_book::clock;
  using id = zygote_book::id;

  /// `watch` puts a zygote's channel into the runner's epoll.
  void open(zygote_files files, std::function<bool(int channel, id zygote)> watch);
  ~zygote_pool();

  /// Decides for a run and starts what must be started. `use`: `link` may be given the run.
  zygote_book::answer ask(const run_spec& spec, clock::time_point now);
  forker_link& link(id zygote) { return *links_.at(zygote); }
  bool is_known(id zygote) const { return links_.count(zygote) != 0; }

  /// The first reply of a zygote: hello or refusal.
  void on_hello(id zygote, const forker_link::reply& reply, clock::time_point now);
  void on_run_end(id zygote, clock::time_point now);
  /// It hung up, or hangs and is killed. Its runs die with it.
  void on_down(id zygote, const std::string& why, clock::time_point now);
  void on_unfit(id zygote, clock::time_point now) { book_.on_unfit(zygote, "it has threads or a device", now); }

  /// Starts, ends, reaps. At least every second.
  void tend(clock::time_point now);
  std::chrono::seconds patience() const { return book_.limits().patience; }

private:
  void start(id zygote, clock::time_point now);
  void retire(id zygote);

  zygote_book book_;
  zygote_files files_;
  std::function<bool(int channel, id zygote)> watch_;
  unique_fd filter_;
  std::map<id, std::unique_ptr<forker_link>> links_;
  std::vector<std::unique_ptr<forker_link>> leaving_;
};

}  // namespace regatta::sandbox
