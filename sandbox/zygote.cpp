// SPDX-License-Identifier: Apache-2.0
// libregatta-zygote.so: makes a forker of a Python that has its modules loaded (sandbox/python/zygote.py calls this
// through ctypes.PyDLL, so the interpreter's lock is held). Knows Python by three functions of its stable interface.
#include "sandbox/forker.hpp"
#include "sandbox/linux_api.hpp"
#include "sandbox/warm_parent.hpp"
#include "sandbox/wire.hpp"
#include "sandbox/zygote.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace regatta::sandbox {

namespace {

using hook = void (*)();
using fitness = int (*)();
using continuation = void (*)(int argc, const char* const* argv, int waits);

/// Where the kernel reads /proc/PID/cmdline from: for those who look at the host's processes.
class command_line {
public:
  command_line() {
    // The fields behind the name, which ends at the last parenthesis; proc(5) numbers them from 3 there.
    constexpr int arg_start = 48, arg_end = 49;
    const auto text = linux_api::read_file("/proc/self/stat");
    std::istringstream fields{text.substr(text.rfind(')') + 1)};
    std::string field;
    for (int number = 3; number <= arg_end && fields >> field; ++number) {
      auto& end = number == arg_start ? start_ : end_;
      end = number >= arg_start ? std::strtoull(field.c_str(), nullptr, 10) : 0;
    }
  }

  /// As much of it as there is room for; ours is the longer one mostly.
  void show(const std::vector<std::string>& argv) const {
    std::string text;
    for (const auto& argument : argv) {
      text += argument + '\0';
    }
    if (start_ != 0 && end_ > start_) {
      text.resize(end_ - start_, '\0');
      text.back() = '\0';
      // /proc tells it as a number. NOLINTNEXTLINE(performance-no-int-to-ptr)
      std::memcpy(reinterpret_cast<void*>(start_), text.data(), text.size());
    }
  }

private:
  std::uintptr_t start_ = 0, end_ = 0;
};

class python_parent final : public warm_parent {
public:
  python_parent(fitness is_fit, continuation go_on)
      : fitness_(is_fit),
        go_on_(go_on),
        before_(find("PyOS_BeforeFork")),
        after_(find("PyOS_AfterFork_Parent")),
        in_child_(find("PyOS_AfterFork_Child")) {}

  bool is_whole() const { return before_ != nullptr && after_ != nullptr && in_child_ != nullptr; }

  bool is_fit() override { return fitness_() != 0; }
  void before_fork() override { before_(); }
  void after_fork() override { after_(); }

  [[noreturn]] void become(const launch_plan& plan) override {
    command_line_.show(plan.argv);
    std::vector<const char*> argv;
    for (const auto& argument : plan.argv) {
      argv.push_back(argument.c_str());
    }
    in_child_();
    go_on_(static_cast<int>(argv.size()), argv.data(), plan.waits ? 1 : 0);
    ::_exit(125);
  }

private:
  static hook find(const char* name) { return reinterpret_cast<hook>(::dlsym(RTLD_DEFAULT, name)); }

  const fitness fitness_;
  const continuation go_on_;
  const hook before_, after_, in_child_;
  const command_line command_line_;
};

std::vector<sock_filter> read_filter() {
  const auto bytes = read_memory_file(zygote_filter_fd);
  ::close(zygote_filter_fd);
  std::vector<sock_filter> program(bytes.size() / sizeof(sock_filter));
  std::memcpy(program.data(), bytes.data(), program.size() * sizeof(sock_filter));
  return program;
}

}  // namespace

}  // namespace regatta::sandbox

/// Serves until the runner hangs up. 0 if it did serve. In each run's candidate `go_on` is called and never returns.
extern "C" __attribute__((visibility("default"))) int regatta_zygote_serve(int (*is_fit)(),
                                                                           void (*go_on)(int, const char* const*,
                                                                                         int)) {
  using namespace regatta::sandbox;
  python_parent parent{is_fit, go_on};
  return parent.is_whole() && serve_runs(read_filter(), &parent) ? 0 : 1;
}
