# SPDX-License-Identifier: Apache-2.0
import socket
import attack

client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
attack.must_fail("abstract socket", lambda: client.connect("\0" + attack.fact("ABSTRACT")))
attack.done()
