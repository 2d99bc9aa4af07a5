# SPDX-License-Identifier: Apache-2.0
import os
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
attack.done()
