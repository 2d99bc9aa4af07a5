# SPDX-License-Identifier: Apache-2.0
import os
import attack

secret = attack.fact("SECRET")[::-1]
for pid in {"1", str(os.getppid()), attack.fact("HARNESS_PID")}:
    attack.must_not_contain(f"/proc/{pid}/environ", lambda p=pid: attack.read(f"/proc/{p}/environ"), [secret])
for pid in filter(str.isdigit, os.listdir("/proc")):
    attack.must_not_contain(f"/proc/{pid}/environ", lambda p=pid: attack.read(f"/proc/{p}/environ"), [secret])
attack.done()
