# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import socket
import struct
import attack

libc = ctypes.CDLL(None, use_errno=True)


def connect():
    fd = libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "socket")
    address = struct.pack("=HHI8x", socket.AF_INET, socket.htons(int(attack.fact("PORT"))), socket.htonl(0x7F000001))
    if libc.connect(fd, address, len(address)) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "connected"


attack.must_fail("ctypes connect", connect)
attack.must_fail("packet socket", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attack.must_fail("vsock", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
attack.must_fail("io_uring", lambda: None if libc.syscall(425, 8, ctypes.create_string_buffer(120)) >= 0 else 1 / 0)
attack.done()
