# SPDX-License-Identifier: Apache-2.0
import ctypes
import glob
import os
import attack

# The kernel's own checks say no to a slot uid; a sandbox with host uid 0 inside would fail here.
for path in ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger", "/proc/sys/kernel/modprobe",
             "/dev/kmsg", "/proc/kmsg", "/proc/kcore", "/proc/1/oom_score_adj"]:
    attack.must_fail("open for writing " + path, lambda p=path: os.open(p, os.O_WRONLY))
for pattern in ["/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/*/cgroup.procs", "/sys/kernel/*"]:
    for path in glob.glob(pattern):
        attack.must_fail("open for writing " + path, lambda p=path: os.open(p, os.O_WRONLY))
attack.must_fail("raw disk", lambda: os.mknod("/tmp/disk", 0o60600, os.makedev(8, 0)))
attack.must_fail("char device", lambda: os.mknod("/tmp/mem", 0o20600, os.makedev(1, 1)))
# Shared memory and queues of the host, where they are not the run's own.
libc = ctypes.CDLL(None, use_errno=True)
if attack.sees_host():
    attack.must_fail("shmget", lambda: None if libc.shmget(0, 4096, 0o1600) >= 0 else 1 / 0)
    attack.must_fail("msgget", lambda: None if libc.msgget(0, 0o1600) >= 0 else 1 / 0)
attack.done()
