# SPDX-License-Identifier: Apache-2.0
import os
import resource
import signal
import attack

for number in [signal.SIGUSR1, signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP]:
    for pid in {1, os.getppid(), int(attack.fact("HARNESS_PID"))} - {0, os.getpid()}:
        try:
            os.kill(pid, number)
        except OSError:
            pass  # pid 1 may take it without effect: the test looks whether the harness got it
    try:
        os.killpg(0, 0)
    except OSError:
        pass
for pid in {os.getppid(), int(attack.fact("HARNESS_PID"))}:
    attack.must_fail(f"limit the CPU time of {pid}", lambda p=pid: resource.prlimit(p, resource.RLIMIT_CPU, (1, 1)))
    attack.must_fail(f"set {pid} back", lambda p=pid: os.setpriority(os.PRIO_PROCESS, p, 19))
    attack.must_fail(f"tie {pid} to a core", lambda p=pid: os.sched_setaffinity(p, {0}))
if attack.sees_host() and os.getuid() == os.stat(attack.fact("CANARY")).st_uid:
    attack.must_fail("set all of the user back", lambda: os.setpriority(os.PRIO_USER, 0, 19))
attack.done()
