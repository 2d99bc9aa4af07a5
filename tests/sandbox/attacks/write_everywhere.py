# SPDX-License-Identifier: Apache-2.0
import os
import attack

# These names are the run's own: writing works and the test looks whether the host saw it.
for folder in ["/tmp", "/dev/shm", os.environ["HOME"]]:
    with open(folder + "/" + attack.fact("MARK"), "w") as file:
        file.write("x")
for folder in ["/usr/local", "/usr/local/bin", "/usr/lib", "/etc", "/", "/var", "/opt", "/root", "/home", "/bin", "/run", "/dev"]:
    attack.must_fail("write in " + folder, lambda f=folder: open(f + "/" + attack.fact("MARK"), "w"))
attack.must_fail("write beside the canary", lambda: open(attack.fact("CANARY") + ".new", "w"))
attack.must_fail("remount", lambda: os.chmod("/usr/bin/env", 0o777))
attack.done()
