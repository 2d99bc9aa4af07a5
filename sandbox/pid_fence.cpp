// SPDX-License-Identifier: Apache-2.0
#include "sandbox/pid_fence.hpp"

#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace regatta::sandbox {

namespace {

struct call_by_pid {
  long number;
  unsigned argument;
};

constexpr call_by_pid calls[] = {{SYS_kill, 0},
                                 {SYS_tkill, 0},
                                 {SYS_tgkill, 0},
                                 {SYS_rt_sigqueueinfo, 0},
                                 {SYS_rt_tgsigqueueinfo, 0},
                                 {SYS_pidfd_open, 0},
                                 {SYS_prlimit64, 0},
                                 {SYS_sched_setaffinity, 0},
                                 {SYS_sched_setparam, 0},
                                 {SYS_sched_setscheduler, 0},
                                 {SYS_sched_setattr, 0},
                                 {SYS_setpriority, 1},
                                 {SYS_ioprio_set, 1}};

sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}

sock_filter jump(unsigned test, std::uint32_t value, unsigned if_true, unsigned if_false) {
  return {static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), static_cast<std::uint8_t>(if_true),
          static_cast<std::uint8_t>(if_false), value};
}

sock_filter answer(std::uint32_t action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}

}  // namespace

std::vector<sock_filter> pid_fence(pid_t last) {
  const auto highest = static_cast<std::uint32_t>(last);
  // The lower half of the register, little endian; the kernel reads these arguments as int. A negative one is a group,
  // -1 is everybody.
  std::vector<sock_filter> program;
  for (const auto& call : calls) {
    program.push_back(load(offsetof(seccomp_data, nr)));
    program.push_back(jump(BPF_JEQ, static_cast<std::uint32_t>(call.number), 0, 5));
    program.push_back(load(offsetof(seccomp_data, args) + call.argument * sizeof(std::uint64_t)));
    program.push_back(jump(BPF_JEQ, 0, 3, 0));
    program.push_back(jump(BPF_JGE, 0U - highest, 1, 0));
    program.push_back(jump(BPF_JGT, highest, 1, 0));
    program.push_back(answer(SECCOMP_RET_ERRNO | EPERM));
  }
  // Other architectures' numbers mean other calls: they are the other program's, which ends who makes them.
  program.push_back(answer(SECCOMP_RET_ALLOW));
  return program;
}

std::vector<sock_filter> program_of(std::string_view bytes) {
  std::vector<sock_filter> program(bytes.size() / sizeof(sock_filter));
  std::memcpy(program.data(), bytes.data(), program.size() * sizeof(sock_filter));
  return program;
}

}  // namespace regatta::sandbox
