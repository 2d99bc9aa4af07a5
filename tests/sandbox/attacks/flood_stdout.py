# SPDX-License-Identifier: Apache-2.0
import os

block = b"x" * (1 << 20)
for _ in range(1024):
    os.write(1, block)
print("PASS")
