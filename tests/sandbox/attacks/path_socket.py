# SPDX-License-Identifier: Apache-2.0
import socket
import attack

client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
attack.must_fail("path socket", lambda: client.connect(attack.fact("SOCKET")))
attack.must_fail("docker's", lambda: client.connect("/var/run/docker.sock"))
if attack.sees_host():
    # They need no connect: the address goes with the message.
    attack.must_fail("datagrams", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    attack.must_fail("datagrams by pairs", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
attack.done()
