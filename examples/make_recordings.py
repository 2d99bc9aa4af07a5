#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the recordings (regatta-recording/1, docs/recordings.md) from the files under candidates/.

    examples/make_recordings.py             write them all
    examples/make_recordings.py --check     write nothing; fail if one is not what its candidates make it
"""
import json
import sys

from candidate_files import problems, recording_path, replies

# A reply comes in so many pieces, so that progress can be seen …
PIECES = 20
# … at the pace of a quick model, in milliseconds. The torch-free example has none: tests and benchmarks use it.
FIRST_DELAY_MS = 400
NEXT_DELAY_MS = 25
# Characters a token stands for, roughly: usage in recordings is made up.
CHARACTERS_PER_TOKEN = 4


def main(check):
    stale = []
    for problem in problems():
        text, path = recording(problem), recording_path(problem)
        if check and (not path.exists() or path.read_text(encoding="utf-8") != text):
            stale.append(str(path))
        elif not check:
            path.write_text(text, encoding="utf-8")
    if stale:
        sys.exit("not what make_recordings.py writes: " + ", ".join(stale))


def recording(problem):
    found = replies(problem)
    head = {"format": "regatta-recording/1", "workers": max(x.worker for x in found)}
    is_paced = recording_path(problem).parent.name != "toy"
    lines = [head] + [entry(problem, x, is_paced) for x in found]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def entry(problem, reply, is_paced):
    out = {"worker": reply.worker, "round": reply.round, "attempt": reply.attempt}
    if reply.expect == "error":
        front = reply.front
        out["error"] = {"outcome": front["error_outcome"], "text": front["error_text"],
                        "http_status": int(front.get("http_status", 0))}
        return out
    out["deltas"] = pieces(reply.text)
    if is_paced:
        out["delay_ms"] = [FIRST_DELAY_MS] + [NEXT_DELAY_MS] * (len(out["deltas"]) - 1)
    out["finish"] = reply.front.get("finish", "stop")
    out["response_id"] = f"rec_{problem}_{reply.worker}_{reply.round}_{reply.attempt}"
    out["usage"] = {"input_tokens": 2500, "output_tokens": len(reply.text) // CHARACTERS_PER_TOKEN}
    out["accepted"] = reply.is_right
    return out


def pieces(text):
    size = -(-len(text) // PIECES)
    return [text[i:i + size] for i in range(0, len(text), size)]


if __name__ == "__main__":
    main("--check" in sys.argv[1:])
