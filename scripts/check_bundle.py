#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_bundle.py ROOT CHROOT: the other half of check_bundle.sh, which unpacked the tarball to CHROOT/srv/regatta."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

ROOT, CHROOT = sys.argv[1:]
HOME = "/srv/regatta"
NAME = "models.regatta.test"
CODE = "print('PASS')\nclass ModelNew: pass\ndef kernel_function(*inputs): pass\n"
DEBIANS, FEDORAS = "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"


def inside(*arguments, **environment):
    variables = {"PATH": "/usr/bin:/bin", "HOME": "/root", "TERM": "dumb", **environment}
    return subprocess.run([shutil.which("chroot"), CHROOT, *arguments], env=variables, capture_output=True, text=True,
                          timeout=300)


def must(good, what, done):
    print(("ok: " if good else "FAILED: ") + what, flush=True)
    if not good:
        sys.exit(f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}")


def race(*more, **environment):
    shutil.rmtree(CHROOT + "/tmp/races", ignore_errors=True)
    return inside(HOME + "/bin/regatta", "race", HOME + "/toy/moving_average.py", "--python", "/usr/bin/python3",
                  "--accept", "claimed", "--state-dir", "/tmp/races", "--events", "off", *more, **environment)


def answer(query):
    """A DNS answer: 127.0.0.1 for NAME, "no such name" for all others."""
    end = query.index(b"\0", 12) + 5
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode().lower())
        at += query[at] + 1
    is_ours, is_ipv4 = ".".join(labels) == NAME, query[end - 4:end - 2] == b"\0\1"
    found = is_ours and is_ipv4
    flags, answers = b"\x85\x80" if is_ours else b"\x85\x83", b"\0\1" if found else b"\0\0"
    head = query[:2] + flags + b"\0\1" + answers + b"\0\0\0\0"
    record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton("127.0.0.1")
    return head + query[12:end] + (record if found else b"")


def serve_names():
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind(("127.0.0.53", 53))

    def serve():
        while True:
            query, peer = listener.recvfrom(4096)
            listener.sendto(answer(query), peer)
    threading.Thread(target=serve, daemon=True).start()
    with open(CHROOT + "/etc/resolv.conf", "w", encoding="ascii") as file:
        file.write("nameserver 127.0.0.53\n")


def start_imposter():
    rules = [{"steps": [{"chat": {"text": f"```python\n{CODE}```\n"}}]}]
    script = tempfile.NamedTemporaryFile("w", suffix=".json")
    json.dump({"rules": rules}, script)
    script.flush()
    program = ROOT + "/tests/support/imposter/imposter.py"
    server = subprocess.Popen([sys.executable, program, script.name, "--tls", "--http1", "--name", NAME],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return server, script, server.stdout.readline().split()[1], server.stdout.readline().split()[1]


def trust(certificate, place):
    for each in (DEBIANS, FEDORAS):
        if os.path.lexists(CHROOT + each):
            os.remove(CHROOT + each)
    if place:
        os.makedirs(os.path.dirname(CHROOT + place), exist_ok=True)
        shutil.copy(certificate, CHROOT + place)


def main():
    done = inside(HOME + "/bin/regatta", "--version")
    must(done.returncode == 0, f"starts: {done.stdout.strip()}", done)
    done = inside(HOME + "/bin/regatta", "doctor", "--python", "/usr/bin/python3")
    level = re.search(r"L\d", done.stdout)
    must(level is not None, f"doctor finds the sandbox level {level and level.group()}", done)
    must(re.search(r"gpu +none", done.stdout), "a host without NVML is a host without GPUs", done)
    done = race("--replay", HOME + "/toy/moving_average.jsonl")
    must(done.returncode == 0 and "claimed, not verified" in done.stdout, "a race with recorded replies is won", done)
    serve_names()
    server, script, port, certificate = start_imposter()
    with script, server:
        live = ("--provider", "chat", "--model", "some-model", "--workers", "1",
                "--base-url", f"https://{NAME}:{port}/v1")
        for place in (DEBIANS, FEDORAS):
            trust(certificate, place)
            done = race(*live)
            must(done.returncode == 0, f"a server whose name DNS knows and {place} trusts is asked", done)
        trust(certificate, None)
        done = race(*live)
        refused = done.returncode != 0 and "certificate" in (done.stdout + done.stderr).lower()
        must(refused, "a server that nothing vouches for is refused", done)
        shutil.copy(certificate, CHROOT + "/tmp/site.pem")
        done = race(*live, SSL_CERT_FILE="/tmp/site.pem")
        must(done.returncode == 0, "SSL_CERT_FILE is heeded", done)
        server.stdin.close()
        server.wait()


main()
