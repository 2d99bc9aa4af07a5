#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a few sources that include all of ours, with their compile commands: joined_sources.py CI_FOLDER FOLDER.

clang-tidy spends most of its time in CAF's headers, once per source it is given: 19 s for each of 190, and little more
for fifty joined. The parts are made of the joined sources of the ci preset, apart where names meet: a program's main()
is one per part, and the store's `json` is not the gateway's.
"""
import json
import pathlib
import re
import sys

PARTS = {"race": {"regatta_llm", "regatta_coordinator"},
         "cli": {"regatta_node", "regatta_node_agent", "regatta_cli", "regatta_embedded", "regatta"},
         "next": {"regatta-lifeline"}, "zygote": {"regatta-zygote"}, "alone": {"regatta-sandbox"}, "judge": {"regatta_judge", "regatta-judge"}}
OTHERS = "store"
FLAG = re.compile(r"-(I|D|isystem|std|W(?!error|no-subobject-linkage))")  # that one is gcc's


def part(source):
    joined = re.search(r"/([^/]+)\.dir/Unity/unity_(\d+)_cxx\.cxx$", source)
    if not joined:
        return "alone"
    target, number = joined.groups()
    if number != "0":
        return "next-cli" if target in PARTS["cli"] else "next"
    return next((name for name, targets in PARTS.items() if target in targets), OTHERS)


def main(ci, folder):
    parts, flags = {}, {}
    for entry in json.loads((ci / "compile_commands.json").read_text()):
        if re.search(r"/(tests|bench)/|_verify_interface_header_sets/", entry["output"] + entry["file"]):
            continue
        parts.setdefault(part(entry["file"]), []).append(entry["file"])
        flags.update(dict.fromkeys(word for word in entry["command"].split() if FLAG.match(word)))
    folder.mkdir(parents=True, exist_ok=True)
    commands = []
    for name, sources in sorted(parts.items()):
        path = folder / f"{name}.cxx"
        path.write_text("".join(f'#include "{source}"\n' for source in sources))
        arguments = ["clang++", *flags, "-c", str(path)]
        commands.append({"directory": str(folder), "file": str(path), "arguments": arguments})
        print(path)
    (folder / "compile_commands.json").write_text(json.dumps(commands, indent=1))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
