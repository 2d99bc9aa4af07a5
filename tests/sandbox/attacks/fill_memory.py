# SPDX-License-Identifier: Apache-2.0
import mmap

# Reserved without being used, then touched page by page: only what is touched may count.
area = mmap.mmap(-1, 6 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
for at in range(0, 6 << 30, 4096):
    area[at] = 1
print("touched 6 GiB")
