# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import attack

libc = ctypes.CDLL(None, use_errno=True)


def ptrace_attach(pid):
    if libc.ptrace(16, pid, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    return "attached"


def vm_read(pid):
    class Piece(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]

    buffer = ctypes.create_string_buffer(8)
    local, remote = Piece(ctypes.addressof(buffer), 8), Piece(0x400000, 8)
    if libc.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "process_vm_readv")
    return "read"


for pid in {1, os.getppid()} - {0}:
    attack.must_fail(f"ptrace {pid}", lambda p=pid: ptrace_attach(p))
    attack.must_fail(f"process_vm_readv {pid}", lambda p=pid: vm_read(p))
    attack.must_fail(f"/proc/{pid}/mem", lambda p=pid: os.open(f"/proc/{p}/mem", os.O_RDWR))
    attack.must_fail(f"/proc/{pid}/fd", lambda p=pid: os.listdir(f"/proc/{p}/fd"))
attack.done()
