# SPDX-License-Identifier: Apache-2.0
import os
import attack

reachable = []
for pid in range(1, int(attack.fact("MOST_PID"))):
    try:
        os.kill(pid, 0)
        reachable.append(pid)
    except OSError:
        pass
# Ourselves, and at most our pid 1. (Where /proc is the host's, names of processes are seen, nothing else.)
if len(reachable) > 2:
    attack.breach(f"{len(reachable)} processes can be signalled")
seen = [pid for pid in os.listdir("/proc") if pid.isdigit()]
if len(seen) > 2 and not attack.sees_host():
    attack.breach(f"{len(seen)} processes can be seen")
attack.done()
