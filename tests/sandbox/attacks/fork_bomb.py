# SPDX-License-Identifier: Apache-2.0
import os
import signal
import time

for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
made = 0
for _ in range(400):
    try:
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
        made += 1
    except OSError:
        break
print("made", made, flush=True)
time.sleep(600)
