# SPDX-License-Identifier: Apache-2.0
import os
import attack

open_fds = sorted(int(fd) for fd in os.listdir("/proc/self/fd"))
own = os.open("/proc/self/fd", os.O_RDONLY)
for fd in range(3, 1024):
    if fd == own:
        continue
    try:
        os.fstat(fd)
    except OSError:
        continue
    attack.breach(f"descriptor {fd} is open: {os.readlink(f'/proc/self/fd/{fd}')}")
attack.done()
