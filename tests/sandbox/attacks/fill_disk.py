# SPDX-License-Identifier: Apache-2.0
import os

written = 0
try:
    for number in range(64):
        with open(f"fill-{number}", "wb", buffering=0) as file:
            for _ in range(48):
                written += file.write(b"x" * (1 << 20))
    print("wrote it all")
except OSError as error:
    print("stopped by", type(error).__name__, error.errno, "after", written >> 20, "MiB")
