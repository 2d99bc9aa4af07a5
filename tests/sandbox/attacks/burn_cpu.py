# SPDX-License-Identifier: Apache-2.0
import signal
import threading

for number in range(1, signal.NSIG):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass


def burn():
    while True:
        pass


for _ in range(8):
    threading.Thread(target=burn).start()
