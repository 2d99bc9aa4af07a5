# SPDX-License-Identifier: Apache-2.0
import os
import attack

for what in ["exe", "cwd", "root"]:
    attack.must_fail(f"/proc/1/{what}", lambda w=what: os.readlink(f"/proc/1/{w}"))
for what in ["maps", "mem", "stack", "syscall", "auxv", "task/1/mem", "task/1/maps", "map_files"]:
    path = f"/proc/1/{what}"
    attack.must_fail(path, lambda p=path: os.listdir(p) if os.path.isdir(p) else attack.read(p) or 1 / 0)
attack.done()
