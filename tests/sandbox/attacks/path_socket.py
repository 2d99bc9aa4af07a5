# SPDX-License-Identifier: Apache-2.0
import socket
import attack

client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
attack.must_fail("path socket", lambda: client.connect(attack.fact("SOCKET")))
attack.must_fail("docker's", lambda: client.connect("/var/run/docker.sock"))
attack.done()
