# SPDX-License-Identifier: Apache-2.0
"""A whole judging at the levels without namespaces: a right and a wrong candidate, `regatta verify`, a likeness of Docker."""
import os
import subprocess
import sys
import tempfile

BIN = os.environ["REGATTA_BIN_DIR"]
PROBLEM = """
import torch


class Model(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return torch.relu(x) * self.scale


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return [2.0]
"""
RIGHT = PROBLEM.replace("torch.relu(x)", "torch.clamp(x, min=0)")
WRONG = PROBLEM.replace("torch.relu(x)", "x")
# Makes what lies below a closed home reachable for a uid of its own, in a mount namespace of the test's.
OPENED = """mkdir -p "$1/o" && mount -t tmpfs none "$1/o" && mkdir "$1/o/u" "$1/o/w" && chmod 755 "$1/o/u" &&
mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/o/u,workdir=$1/o/w" "$2" && shift 2 && exec "$@" """


def skip(feature, why):
    print("SKIPPED:", why, flush=True)
    sys.exit(1 if feature in os.environ.get("REGATTA_REQUIRE", "").split(",") else 0)


def closed_parent(path):
    """The outermost folder above the interpreter that others may not pass."""
    at = "/"
    for part in os.path.realpath(path).split("/")[1:-1]:
        at = os.path.join(at, part)
        if not os.stat(at).st_mode & 0o001:
            return at
    return None


def main(environment, level):
    python = os.environ.get("REGATTA_PYTHON")
    if not python or subprocess.run([python, "-c", "import torch"], capture_output=True).returncode != 0:
        skip("torch", "REGATTA_PYTHON with torch is not set")
    if os.geteuid() != 0:
        skip("sandbox", "other environments are entered as root")
    folder = tempfile.mkdtemp(prefix="regatta-judged-")
    for name, text in (("problem.py", PROBLEM), ("right.py", RIGHT), ("wrong.py", WRONG)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    before = [f"{BIN}/in_environment", environment]
    if level == "L2" and (closed := closed_parent(python)):
        before = ["unshare", "-m", "sh", "-c", OPENED, "sh", folder, closed] + before
    failures = 0
    for name, status in (("right.py", 0), ("wrong.py", 4)):
        done = subprocess.run(
            before + [f"{BIN}/regatta", "verify", name, "problem.py", "--stage", "extract", "--device", "cpu", "--python", python,
                      "--require-level", level], cwd=folder, capture_output=True, text=True, timeout=300)
        print(f"{environment} {level} {name}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}", flush=True)
        failures += done.returncode != status or f"sandbox level {level}" not in done.stderr + done.stdout
    subprocess.run(["rm", "-rf", folder], check=False)
    sys.exit(1 if failures else 0)


main(*sys.argv[1:])
