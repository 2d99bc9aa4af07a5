#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a translation unit depends on a folder that does not stand on a lower floor (docs/architecture.md).

Reads the compiler's own dependency output from a Ninja build folder, so nothing that an #include pulls in escapes.
"""
import os
import re
import subprocess
import sys

FLOOR = {"messages": 0, "sandbox": 1, "actors": 2, "coordinator": 3, "node": 3, "cli": 4, "tests": 4, "bench": 4}
# messages/ is two libraries; sandbox/ may see only this one, which knows nothing of CAF or msgpack.
WORDS = {"digest", "ec", "endings", "enums", "fields", "ids", "install_paths", "limits", "outcome"}
# tests/ may look at everything; only cli/ and bench/ link both programs' sides together.
SEES_ALL = {"tests", "cli", "bench"}


def main(build):
    root = os.getcwd()
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    bad, units = set(), 0
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if not lines or not re.search(r"\.c(pp|xx)\.o:", lines[0]) or "verify_interface" in lines[0]:
            continue
        deps = [os.path.relpath(os.path.join(build, line.strip()), root) for line in lines[1:]]
        # Sources of one target that were joined (CMAKE_UNITY_BUILD) stand on its floor.
        deps[0] = os.path.relpath(deps[0], os.path.relpath(build, root)) if "/Unity/" in deps[0] else deps[0]
        own = deps[0].split("/")[0]
        if own not in FLOOR:
            continue
        units += 1
        for dep in deps[1:]:
            bad |= complaints(own, deps[0], dep)
    if units == 0:
        sys.exit(f"{build}: no dependency output; build first")
    for line in sorted(bad):
        print(line)
    print(f"floors: {units} translation units, {len(bad)} complaints")
    sys.exit(1 if bad else 0)


def complaints(own, unit, dep):
    top = dep.split("/")[0]
    # The comparator speaks JSON; what runs candidates does not.
    json = () if unit.startswith("sandbox/judge/") else ("/nlohmann/",)
    if own == "sandbox" and any(x in dep for x in ("/include/caf/", "/msgpack", *json)):
        return {f"{unit}: sandbox/ may not see {dep}"}
    if top not in FLOOR or own in SEES_ALL:
        return set()
    if top != own and FLOOR[top] >= FLOOR[own]:
        return {f"{unit}: {own}/ (floor {FLOOR[own]}) may not include {dep} (floor {FLOOR[top]})"}
    stem = os.path.basename(dep).split(".")[0]
    if own == "sandbox" and top == "messages" and stem not in WORDS:
        return {f"{unit}: sandbox/ may see only the words of messages/, not {dep}"}
    return set()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "build/debug")
