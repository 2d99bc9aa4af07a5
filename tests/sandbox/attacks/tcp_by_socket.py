# SPDX-License-Identifier: Apache-2.0
import socket
import attack

for host in ["127.0.0.1", "localhost", "::1"]:
    attack.must_fail(host, lambda h=host: socket.create_connection((h, int(attack.fact("PORT"))), timeout=2))
attack.must_fail("the world", lambda: socket.create_connection(("192.0.2.1", 80), timeout=2))
attack.done()
