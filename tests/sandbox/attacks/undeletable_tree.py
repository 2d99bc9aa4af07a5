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
os.chmod("closed", 0)
