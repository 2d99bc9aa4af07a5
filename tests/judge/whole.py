# SPDX-License-Identifier: Apache-2.0
"""The whole judge for tests: one node's sandbox and warm interpreters, many judgings one after the other."""
import json
import os
import subprocess
import sys

NO_SANDBOX = 3  # judge_queue's exit code


def skip(why, feature):
    print("SKIPPED: " + why)
    sys.exit(1 if feature in os.environ.get("REGATTA_REQUIRE", "").split(",") else 0)


class Judge:
    """judge(candidate, problem) -> what judge_queue.cpp says of it."""

    def __init__(self):
        program = os.path.join(os.environ["REGATTA_BIN_DIR"], "judge_queue")
        self.process = subprocess.Popen([program, os.environ["REGATTA_PYTHON"]], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ask(self, **line):
        try:
            self.process.stdin.write(json.dumps(line) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            error = self.process.stderr.read()
            if self.process.wait() == NO_SANDBOX:
                skip(error.strip(), "sandbox")
            raise RuntimeError("judge_queue ended: " + error)
        return json.loads(answer)

    def __call__(self, candidate, problem, stage="kernel", **terms):
        return self.ask(candidate=candidate, problem=problem, stage=stage, **terms)

    def probe(self, problem, **terms):
        return self.ask(problem=problem, stage="kernel", probe=True, **terms)

    def warm_up(self, candidate, problem):
        """On a busy machine the first interpreter may come up too late for the first judging."""
        for _ in range(5):
            if self(candidate, problem)["is_warm"]:
                return

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.stderr.close()
        self.process.wait(timeout=60)


def marks(end):
    return (end["record"] or {}).get("marks", [])


def told(end):
    """One line for tables and failures."""
    word = end["judgement"] if end["judgement"] != "not_judged" else end["outcome"]
    return word + (": " + end["reason"] if end["reason"] else "")
