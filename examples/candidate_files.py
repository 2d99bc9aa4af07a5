# SPDX-License-Identifier: Apache-2.0
"""The reviewable form of a recording: one file for each reply, with front matter that says what must become of it.

    ---
    expect: exited_nonzero        passes, exited_nonzero, timed_out, duplicate_of <file stem>,
                                  no_code, syntax_error, no_entry_point, truncated, error
    says: elements beyond         a text that its output must contain (optional)
    judged: correct               the judge takes it although its own test fails (optional)
    finish: length                why the model stopped; `stop` if not given
    ---
    <the reply, character for character>

An `error` has no reply but `error_outcome`, `error_text`, `http_status`.
"""
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
NAME = re.compile(r"worker_(\d+)_round_(\d+)(?:_attempt_(\d+))?\.md$")
RUNS = ("passes", "exited_nonzero", "timed_out")


class Reply:
    def __init__(self, path):
        self.path = path
        self.worker, self.round, self.attempt = (int(x or 1) for x in NAME.search(path.name).groups())
        _, front, self.text = path.read_text(encoding="utf-8").split("---\n", 2)
        self.front = dict(line.split(": ", 1) for line in front.splitlines())
        self.expect, _, self.original = self.front["expect"].partition(" ")

    @property
    def is_right(self):
        """As the judge sees it."""
        return self.expect == "passes" or self.front.get("judged") == "correct"

    @property
    def code(self):
        """What the extractor must find: from the first python-tagged fence to the last fence like it. That is not how
        one extracts code from any reply, but it is right for these, whichever blocks stand before."""
        lines = self.text.split("\n")
        begin = next(i for i, line in enumerate(lines) if re.match(r"`{3,}py(thon)?$", line))
        fence = re.match("`+", lines[begin]).group()
        end = max(i for i, line in enumerate(lines) if line == fence)
        return "\n".join(lines[begin + 1:end]) + "\n"


def problems():
    """Name -> problem file. Those under toy/ need no torch."""
    files = [path for path in sorted(HERE.glob("*.py")) if (HERE / "candidates" / path.stem).is_dir()]
    return {path.stem: path for path in files + sorted(HERE.glob("toy/*.py"))}


def recording_path(problem):
    path = problems()[problem]
    return path.with_suffix(".jsonl") if path.parent.name == "toy" else HERE / "recordings" / f"{problem}.jsonl"


def replies(problem):
    found = [Reply(path) for path in (HERE / "candidates" / problem).glob("*.md")]
    return sorted(found, key=lambda x: (x.worker, x.round, x.attempt))
