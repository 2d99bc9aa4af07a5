#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reaches a real terminal, seen from the other side of a pty: terminal.py. Exits 0 if all that is promised held.

A model, its candidate and a problem's file name all bring sequences that clear a screen, set a title, ask the terminal to
answer, or turn the direction of writing. Only the sequences of our own display may arrive.
"""
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time

from end_to_end import PYTHON, REGATTA, TOY

# Each is a sequence that a terminal obeys; the word behind it shows that the text itself was displayed.
HOSTILE = ["\x1b[2J", "\x1b]0;title\x07", "\x1b]52;c;Y29weQ==\x1b\\", "\x1bP+q544e\x1b\\", "\x1b[6n", "\x1b[?1049h", "\x9b2J",
           "\u009d0;title\u009c", "\x08\x08", "\x07", "\x0b", "\x0c", "\x0e", "\x7f", "\x1bc", "\u202e", "\u2066", "\r\x1b[1A",
           "\x1b", "\x1b[", "\x1b]unending"]
# cli/progress.cpp: up, clear below, colours.
OWN = re.compile(r"\x1b\[\d+A|\r|\x1b\[J|\x1b\[[\d;]*m")
# Everything that a terminal could take for an order: C0 but the line end, DEL, C1, marks of direction.
ORDERS = re.compile("[\x00-\x09\x0b-\x1f\x7f\x80-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def recording(folder):
    path = os.path.join(folder, "hostile.jsonl")
    python = "".join(f"print({text!r} + 'shown{n}')\n" for n, text in enumerate(HOSTILE))
    names = "class ModelNew: pass\ndef kernel_function(*x): pass\n"
    code = f"```python\nimport sys\n{names}{python}sys.stderr.write({''.join(HOSTILE)!r})\n{{}}\n```\n"
    said = [text + f"told{n} \n" for n, text in enumerate(HOSTILE)]
    with open(path, "w", encoding="utf-8") as out:
        out.write(json.dumps({"format": "regatta-recording/1", "workers": 2}) + "\n")
        for worker, number, end in ((1, 1, "raise ValueError(''.join(%r))" % HOSTILE), (1, 2, "x ="), (1, 3, "print('PASS')"),
                                    (2, 1, "sys.exit(3)"), (2, 2, "import nothing"), (2, 3, "sys.exit(4)")):
            # A delta may end in the middle of a sequence.
            text = "".join(said) + code.format(f"# {worker} {number}\n{end}")
            pieces = [text[at:at + 7] for at in range(0, len(text), 7)]
            out.write(json.dumps({"worker": worker, "round": number, "deltas": pieces, "finish": "stop",
                                  "accepted": end == "print('PASS')"}) + "\n")
    return path


def on_a_terminal(arguments, folder):
    """Exit code and all bytes that a terminal of 30 lines got."""
    main, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    environment = dict(os.environ, TERM="xterm-256color")
    with subprocess.Popen(arguments, stdin=end, stdout=end, stderr=end, cwd=folder, env=environment,
                          start_new_session=True) as program:
        os.close(end)
        got, until = b"", time.monotonic() + 90
        while time.monotonic() < until:
            if not select.select([main], [], [], 1)[0]:
                continue
            try:
                piece = os.read(main, 65536)
            except OSError:  # Linux' word for "the other side is closed"
                break
            if not piece:
                break
            got += piece
        os.close(main)
        return program.wait(), got


def main():
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        problem = os.path.join(folder, "mov\x1b[2Jing\u202e.py")
        with open(TOY, encoding="utf-8") as source, open(problem, "w", encoding="utf-8") as copy:
            copy.write(source.read())
        race = [REGATTA, "race", problem, "--replay", recording(folder), "--python", PYTHON, "--device", "cpu", "--events", "off", "--accept", "claimed",
                "--workers", "2"]
        # The second one shows the live display alone; the last two read the record.
        for more in (race + ["--stream", "all"], race, race + ["--stream", "winner"], [REGATTA, "show", "latest"],
                     [REGATTA, "show", "latest", "--worker", "1"], [REGATTA, "list"]):
            name = " ".join(more[-2:])
            code, raw = on_a_terminal(more, folder)
            text = raw.decode("utf-8", "surrogateescape")
            if code != 0:
                failures.append(f"{name}: exit {code}: {text[-400:]!r}")
            left = OWN.sub("", text)
            bad = ORDERS.search(left)
            if bad:
                at = bad.start()
                failures.append(f"{name}: {bad.group()!r} arrived: {left[max(0, at - 60):at + 40]!r}")
            if re.search("[\udc80-\udcff]", text):
                failures.append(f"{name}: bytes that are not UTF-8 arrived")
            if "--stream" in more and more[-1] == "all" and "told20" not in text:
                failures.append(f"{name}: the reply itself was not shown")
            if more is race and "\x1b[" not in text:
                failures.append(f"{name}: no live display on a terminal")
    print("\n".join(failures) if failures else "all held")
    sys.exit(1 if failures else 0)


main()
