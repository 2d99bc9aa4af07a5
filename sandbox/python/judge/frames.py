# SPDX-License-Identifier: Apache-2.0
"""The channel of a side of the judge: frames over two pipes (docs/judge.md).

What is needed to answer is taken before foreign code is loaded, so that patched functions do not reach the answer.
That is against accidents: foreign code in this process can send any bytes it likes, and they are judged as bytes.
"""
__builtins__ = dict(vars(__import__("builtins")))  # Functions made below see these, not what is patched later.

import errno
import fcntl
import json
import os
import struct
import sys

HEAD_BYTES = 4 << 20
HEADER = struct.Struct("<IQ")
READ_BYTES = 1 << 20
FIRST_FD = 16  # away from numbers that programs close or reuse

_read, _readv, _write, _exit = os.read, os.readv, os.write, os._exit
_loads, _quoted = json.loads, json.encoder.encode_basestring_ascii


def leave(status=0):
    """Without atexit, other threads, destructors: the answer is out, nothing of theirs may hold the process."""
    _exit(status)


def text_of(value):
    """JSON of what heads are made of. Ours, as json's own encoder looks its parts up when called."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value.encode("utf-8", "replace").decode("utf-8"))  # lone surrogates are no JSON elsewhere
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([text_of(x) for x in value]) + "]"
    return "{" + ",".join([_quoted(key) + ":" + text_of(x) for key, x in value.items()]) + "}"


class Channel:
    def __init__(self):
        """Takes stdin and stdout; what others print goes to stderr, and there is nothing to read for them."""
        self.questions = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, FIRST_FD)
        self.answers = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, FIRST_FD)
        self.unread = 0  # bytes of the body of the question that came last
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        os.close(nothing)
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(line_buffering=True, errors="replace")

    def fill(self, view):
        """Fills the memoryview. False at end of file."""
        at = 0
        while at < len(view):
            try:
                got = _readv(self.questions, [view[at:at + READ_BYTES]])
            except ConnectionResetError:  # who asked left something of ours unread
                got = 0
            if got == 0:
                return False
            at += got
        self.unread -= len(view)
        return True

    def skip_body(self):
        """What an answer that failed early left unread."""
        rest = bytearray(READ_BYTES)
        while self.unread > 0:
            if not self.fill(memoryview(rest)[:min(READ_BYTES, self.unread)]):
                leave()

    def receive(self):
        """The next question's head, or None at the end. Its body is read by `fill`."""
        header = bytearray(HEADER.size)
        if not self.fill(memoryview(header)):
            return None
        head_bytes, body_bytes = HEADER.unpack(header)
        if not 2 <= head_bytes <= HEAD_BYTES:
            raise ValueError("a head of %d bytes" % head_bytes)
        head = bytearray(head_bytes)
        if not self.fill(memoryview(head)):
            return None
        self.unread = body_bytes
        return _loads(bytes(head))

    def put(self, data):
        view = memoryview(data)
        at = 0
        while at < len(view):
            try:
                at += _write(self.answers, view[at:at + READ_BYTES])
            except OSError as error:
                if error.errno == errno.EAGAIN:
                    continue
                leave(1)  # nobody listens any more

    def send(self, head, body_bytes=0, pieces=()):
        """`pieces`: buffers that make `body_bytes` together."""
        text = text_of(head).encode("ascii")
        if len(text) > HEAD_BYTES:
            text = b'{"op":"failed","id":%d,"judgement":"contract_violation","reason":"answer with a head of %d ' \
                   b'bytes","detail":""}' % (
                head.get("id", 0), len(text))
            body_bytes, pieces = 0, ()
        self.put(HEADER.pack(len(text), body_bytes) + text)
        for piece in pieces:
            self.put(piece)
