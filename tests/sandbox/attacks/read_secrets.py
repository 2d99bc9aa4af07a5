# SPDX-License-Identifier: Apache-2.0
import glob
import os
import attack

for path in ["/etc/shadow", "/etc/ssh/ssh_host_ed25519_key", "/root/.bashrc", attack.fact("CANARY"), attack.fact("CANARY_TMP")]:
    attack.must_fail("read " + path, lambda p=path: attack.read(p))
for pattern in ["/root/*", "/root/.*", "/home/*", "/home/*/.*", "/var/*", "/srv/*", "/mnt/*"]:
    for found in glob.glob(pattern):
        # An interpreter that lies there may be seen, nothing else.
        if not os.environ.get("ATTACK_PREFIX", "/nonexistent").startswith(found):
            attack.breach("sees " + found)
for folder in ["/tmp", "/dev/shm"]:
    if attack.sees_host():
        attack.must_fail("list " + folder, lambda f=folder: os.listdir(f))
    elif os.listdir(folder):
        attack.breach(f"{folder} is not empty: {os.listdir(folder)}")
attack.done()
