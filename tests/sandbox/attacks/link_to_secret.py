# SPDX-License-Identifier: Apache-2.0
import os
import attack

# Whoever collects output or artifacts by name would follow these.
for name in ["stdout.txt", "stderr.txt", "result.json", "kernel.ptx"]:
    os.symlink(attack.fact("CANARY"), name)
os.symlink("/etc", "folder")
print("PASS")
