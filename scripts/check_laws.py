#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""House laws that a machine can hold us to: licences, third-party fences, forbidden words, sizes.

An exception stands beside the law, with its reason.
"""
import re
import subprocess
import sys

# Pattern of an include -> files that may have it.
FENCES = [
    (r"<curl/", r"actors/llm/curl_transport\.(cpp|hpp)$"),
    (r"<zmq", r"actors/event_publisher\.cpp$|actors/remoting/|tests/"),
    (r"<nlohmann/", r"_codec\.cpp$|(actors/llm|sandbox/judge)/\w*_codec\.hpp$|tests/"),
    (r"<sqlite3", r"actors/store\w*\.cpp$|actors/store_\w+\.hpp$|tests/"),
    (r"<archive", r"actors/result_archive\.cpp$|tests/"),
    (r"<toml\+\+/", r"cli/config\w*\.cpp$|tests/"),
    (r"<CLI/", r"cli/\w+\.cpp$|sandbox/\w*main\w*\.cpp$"),
    (r"<spdlog/", r"cli/log\.(cpp|hpp)$"),
    (r"<msgpack", r"messages/wire_parse\.hpp$|tests/"),
    (r"<cmark", r"actors/code_\w+\.cpp$"),
    (r"<caf/", r"^(?!sandbox/)"),
]
# Pattern in C++ -> files where it is right, each with its reason.
FORBIDDEN = [
    (r"caf/all\.hpp", r"^$"),
    (r"catch \(\.\.\.\)", r"^$"),
    # The test clock decides when time passes; a real time-out there could only hide a lost reply.
    (r"caf::infinite", r"^tests/support/|^tests/.*_test\.cpp$"),
    # Integration tests wait for what real processes do (bounded, by polling /proc); a fake that must block does.
    (r"\bsleep_for\(|\busleep\(", r"^tests/(sandbox|node|cli)/|^tests/actors/llm/|^bench/"),
    (r"\b(TODO|FIXME|XXX|HACK)\b", r"^$"),
    # A wall clock is passed like `now`: it is read where a program is put together, as the default of a config that
    # tests replace, and by the sandbox for a run's start time in records.
    (r"system_clock::now\(", r"^cli/|^sandbox/active_run\.hpp|^sandbox/run|^tests/|^bench/|^actors/store|"
                             r"^actors/llm/llm_gateway\.cpp|^coordinator/coordinator\.hpp|^node/"),
]
SIZES = {".hpp": 200, ".cpp": 400}
SPDX = "SPDX-License-Identifier: Apache-2.0"
NEEDS_SPDX = re.compile(r"\.(cpp|hpp|py|sh|cmake)$|(^|/)(CMakeLists\.txt|Makefile)$|^\.ci/run$")


def main():
    files = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    bad = []
    for path in filter(None, files):
        try:
            text = open(path, encoding="utf-8").read()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        if NEEDS_SPDX.search(path) and SPDX not in "\n".join(text.split("\n")[:3]) and not path.startswith("examples/candidates"):
            bad.append(f"{path}:1: no SPDX line")
        if path.endswith((".cpp", ".hpp")):
            bad += cpp_complaints(path, text)
    bad += missing_tests("docs/field-failures.md")
    bad += missing_tests("docs/exploits.md") + missing_numbers("docs/exploits.md", range(1, 32))
    print("\n".join(bad) if bad else "laws: kept")
    sys.exit(1 if bad else 0)


def missing_tests(table):
    """Every pair `tests/…` `name` in the table is a test case of that file."""
    bad, kinds = [], 0
    for number, line in enumerate(open(table, encoding="utf-8"), 1):
        named = re.findall(r"`(tests/[\w/.]+)` `(\w+)`", line)
        is_kind = line.startswith("| **")
        kinds += is_kind
        if is_kind and not named:
            bad.append(f"{table}:{number}: a kind without a test")
        for path, name in named:
            try:
                text = open(path, encoding="utf-8").read()
            except FileNotFoundError:
                text = ""
            if not re.search(rf"TEST_CASE\({name}\b|^ *def {name}\(", text, re.MULTILINE):
                bad.append(f"{table}:{number}: {path} has no test {name}")
    return bad if kinds else [f"{table}: no kind found"]


def missing_numbers(table, numbers):
    told = re.findall(r"^\| \*\*(\d+)\*\* ", open(table, encoding="utf-8").read(), re.MULTILINE)
    return [f"{table}: {told.count(str(x))} rows for number {x}" for x in numbers if told.count(str(x)) != 1]


def cpp_complaints(path, text):
    lines, bad = text.split("\n"), []
    for number, line in enumerate(lines, 1):
        if line.startswith("#include"):
            bad += [f"{path}:{number}: {fence} is fenced to {where}" for fence, where in FENCES
                    if re.search(fence, line) and not re.search(where, path)]
        bad += [f"{path}:{number}: {law} is forbidden here" for law, where in FORBIDDEN
                if re.search(law, line) and not re.search(where, path)]
    cap = SIZES[path[-4:]]
    if len(lines) > cap:
        bad.append(f"{path}: {len(lines)} lines, cap {cap}: split by reason to change")
    return bad


if __name__ == "__main__":
    main()
