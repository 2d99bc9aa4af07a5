# SPDX-License-Identifier: Apache-2.0
import os

deep = 0
try:
    for _ in range(1500):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
        deep += 1
except OSError:
    pass
print("deep", deep)
os.chdir("/run/job" if os.path.isdir("/run/job") else os.environ["HOME"])
os.mkdir("closed")
os.mkdir("closed/inner")
try:
    os.chmod("closed", 0)
except PermissionError:
    pass  # where there is no uid of our own to do it with
os.mkdir("shut", 0)
