# SPDX-License-Identifier: Apache-2.0
import os
import attack

outside = ["/usr/local", "/usr/local/bin", "/usr/lib", "/etc", "/", "/var", "/opt", "/root", "/home", "/bin", "/run", "/dev"]
private = ["/tmp", "/dev/shm", os.environ["HOME"]]
if attack.sees_host():
    outside += private[:2]
    private = private[2:]
# These names are the run's own: writing works and the test looks whether the host saw it.
for folder in private:
    with open(folder + "/" + attack.fact("MARK"), "w") as file:
        file.write("x")
for folder in outside:
    attack.must_fail("write in " + folder, lambda f=folder: open(f + "/" + attack.fact("MARK"), "w"))
attack.must_fail("write beside the canary", lambda: open(attack.fact("CANARY") + ".new", "w"))
# Without opening it.
canary = attack.fact("CANARY")
attack.must_fail("chmod", lambda: os.chmod(canary, 0o777))
attack.must_fail("chown", lambda: os.chown(canary, os.getuid(), os.getgid()))
attack.must_fail("utime", lambda: os.utime(canary, (1, 1)))
attack.must_fail("truncate", lambda: os.truncate(canary, 0))
attack.must_fail("set an attribute", lambda: os.setxattr(canary, "user.mark", b"x"))
attack.must_fail("link", lambda: os.link(canary, "stolen"))
attack.must_fail("rename", lambda: os.rename(canary, "stolen"))
attack.must_fail("remove", lambda: os.unlink(canary))
attack.must_fail("remount", lambda: os.chmod("/usr/bin/env", 0o777))
attack.done()
