# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import attack

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)
    return name


attack.must_fail("unshare user", lambda: call("unshare", 0x10000000))
attack.must_fail("unshare user and mount", lambda: call("unshare", 0x10020000))
attack.must_fail("unshare pid", lambda: call("unshare", 0x20000000))
attack.must_fail("mount", lambda: call("mount", b"none", b"/tmp", b"tmpfs", 0, None))
attack.must_fail("remount /", lambda: call("mount", None, b"/", None, 32, None))
attack.must_fail("umount /proc", lambda: call("umount2", b"/proc", 2))
attack.must_fail("chroot", lambda: os.chroot("/tmp"))
attack.must_fail("setns", lambda: call("setns", os.open("/proc/self/ns/net", os.O_RDONLY), 0))
attack.must_fail("clone with NEWUSER", lambda: 1 / 0 if libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0) < 0 else "made")
attack.must_fail("setuid 0", lambda: os.setuid(0))
attack.must_fail("setgroups", lambda: os.setgroups([0]))
attack.done()
