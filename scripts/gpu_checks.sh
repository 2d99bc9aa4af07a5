#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What can only be tried on a GPU, from an unpacked bundle: scripts/gpu_checks.sh BUNDLE.tar.xz. Needs a Python with torch and
# triton first on PATH (or REGATTA_PYTHON). Prints what it does; ends with "gpu checks: N passed, N failed".
set -uo pipefail
bundle=$(readlink -f "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
python=${REGATTA_PYTHON:-$(command -v python3)}
work=$(mktemp -d)
tar -C "$work" -xf "$bundle"
regatta=$(echo "$work"/regatta-*/bin/regatta)
cd "$work"
passed=0 failed=0
check() { if [ "$1" = 0 ]; then passed=$((passed + 1)); echo "ok: $2"; else failed=$((failed + 1)); echo "FAILED: $2"; fi; }
gpus=$(nvidia-smi --query-gpu=uuid --format=csv,noheader | wc -l)
memory_used() { nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | sort -n | tail -n 1; }
race() {
  timeout 300 "$regatta" race "$@" --python "$python" --device gpu --events off 2>progress.log | tee account.txt
  local status=${PIPESTATUS[0]}
  [ -s account.txt ] || tail -n 5 progress.log
  return "$status"
}

echo "== host: $gpus GPUs, $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)"
"$python" -c 'import torch, triton; print("torch", torch.__version__, "triton", triton.__version__)'
"$regatta" doctor --python "$python"
check $? "doctor finds no failure"

echo "== a recorded race, its Triton kernels compiled for this GPU"
race "$root/examples/softmax_rows.py" --replay "$root/examples/recordings/softmax_rows.jsonl" --max-iters 3 --run-timeout-s 60
check $? "softmax_rows is won on the GPU"
grep -q 'cuda-sm_' account.txt
check $? "the account names a CUDA engine"

# One worker, one candidate: a recording made of a Python file that also defines what the stage asks for.
record() {
  "$python" - "$1" "$2" <<'PY'
import json, sys
code = open(sys.argv[1]).read() + "\nclass ModelNew: pass\ndef kernel_function(*a): pass\n"
with open(sys.argv[2], "w") as out:
    out.write(json.dumps({"format": "regatta-recording/1", "workers": 1}) + "\n")
    out.write(json.dumps({"worker": 1, "round": 1, "deltas": ["```python\n" + code + "```\n"], "finish": "stop"}) + "\n")
PY
}
candidate() { record "$1.py" "$1.jsonl"; shift_args=("${@:2}"); race "$root/examples/softmax_rows.py" --replay "$1.jsonl" --workers 1 --max-iters 1 --accept claimed "${shift_args[@]}"; }

grep -q '(verified)' account.txt
check $? "its winner is verified"

echo "== the judge on this GPU"
"$python" - "$root/examples" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from candidate_files import replies
for reply in replies("softmax_rows") + replies("linear_gelu"):
    if reply.expect == "passes":
        open(reply.path.parent.name + ".py", "w").write(reply.code)
        open(reply.path.parent.name + "_wrong.py", "w").write(reply.code.replace("tl.store(out_ptr", "tl.store(0 + out_ptr").replace("tl.exp(", "tl.exp2("))
PY
cat >cuda_inline.py <<'PY'
import torch
from torch.utils.cpp_extension import load_inline
source = r"""
#include <torch/extension.h>
__global__ void swish(const float* x, const float* shift, float* out, int count, int features, float slope) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) { float s = x[i] + shift[i % features]; out[i] = x[i] / (1.0f + expf(-slope * s)) + 0.5f * x[i]; }
}
torch::Tensor run(torch::Tensor x, torch::Tensor shift, double slope) {
  auto out = torch::empty_like(x);
  int count = x.numel();
  swish<<<(count + 255) / 256, 256>>>(x.data_ptr<float>(), shift.data_ptr<float>(), out.data_ptr<float>(), count, shift.numel(), slope);
  return out;
}
"""
module = load_inline("swish_inline", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor shift, double slope);",
                     cuda_sources=source, functions=["run"])
def kernel_function(x, shift, slope):
    return module.run(x.contiguous(), shift.contiguous(), slope)
class ModelNew(torch.nn.Module):
    def __init__(self, features, slope):
        super().__init__()
        self.slope, self.shift = slope, torch.nn.Parameter(torch.randn(features))
    def forward(self, x):
        return kernel_function(x, self.shift, self.slope)
PY
verify() { timeout 300 "$regatta" verify "$@" --python "$python" --device gpu >verdict.txt 2>progress.log; local status=$?; cat verdict.txt; tail -n 2 progress.log; return "$status"; }
for name in softmax_rows linear_gelu; do
  began=$(date +%s%N)
  verify "$name.py" "$root/examples/$name.py"
  check $? "$name: the right candidate is correct, in $((($(date +%s%N) - began) / 1000000)) ms"
  grep -q 'cuda-sm_' verdict.txt
  check $? "$name: the verdict names a CUDA engine"
done
verify softmax_rows_wrong.py "$root/examples/softmax_rows.py"
[ $? = 4 ]
check $? "a wrong candidate is not"
verify cuda_inline.py "$root/examples/swish_residual.py"
check $? "a CUDA candidate (load_inline) is correct"

echo "== timing: reference and candidate, alone on the GPU"
cat >large_swish.py <<'PY'
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)
def get_inputs():
    return [torch.randn(4096, 8192)]
def get_init_inputs():
    return []
PY
cat >large_swish_fused.py <<'PY'
import torch, triton, triton.language as tl
@triton.jit
def swish(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < count)
    tl.store(out_ptr + at, x * tl.sigmoid(x), mask=at < count)
def kernel_function(x):
    out = torch.empty_like(x)
    swish[(triton.cdiv(x.numel(), 4096),)](x, out, x.numel(), BLOCK=4096)
    return out
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return kernel_function(x)
PY
timed() {
  began=$(date +%s%N)
  timeout 300 "$regatta" verify "$@" --timing --json --python "$python" --device gpu >timing.json 2>progress.log
  "$python" - $((($(date +%s%N) - began) / 1000000)) <<'PY'
import json, sys
timing = json.load(open("timing.json"))["timing"]
shown = {key: timing[key] for key in ("status", "speedup", "candidate_ms", "reference_ms", "pairs", "calls", "floor_ms", "flags", "own_ms", "gpu", "kernelbench")}
print(json.dumps(shown), "in", sys.argv[1], "ms")
assert timing["status"] == "timed", timing["reason"]
assert timing["kernelbench"]["candidate_ms"]["num_trials"] >= 10 and timing["bytes_per_s_source"] == "nvml"
assert timing["gpu"]["samples"] > 0 and timing["engine"].startswith("cuda-sm_")
PY
}
timed large_swish_fused.py large_swish.py
check $? "a memory-bound Triton candidate is timed, KernelBench's numbers beside it"
timed softmax_rows.py "$root/examples/softmax_rows.py"
check $? "a small Triton candidate is timed"
timed cuda_inline.py "$root/examples/swish_residual.py"
check $? "a CUDA candidate (load_inline) is timed"
race "$root/examples/softmax_rows.py" --replay "$root/examples/recordings/softmax_rows.jsonl" --max-iters 3 --timing
check $? "a race with --timing is won"
grep -q "^Timing .*times the reference's speed" account.txt
check $? "and its winner timed"

echo "== a lease shows exactly one GPU"
cat >one_gpu.py <<'PY'
import os, torch
assert torch.cuda.device_count() == 1, torch.cuda.device_count()
nodes = sorted(x for x in os.listdir("/dev") if x.startswith("nvidia"))
assert sum(x[6:].isdigit() for x in nodes) == 1, nodes
x = torch.ones(1 << 20, device="cuda")
assert float((x + x).sum()) == float(2 << 20)
print("PASS", nodes, torch.cuda.get_device_name(0))
PY
candidate one_gpu
check $? "one visible GPU of $gpus, usable"

echo "== another GPU cannot be reached"
cat >other_gpu.py <<'PY'
import os, stat, torch
torch.ones(1, device="cuda")
own = [x for x in os.listdir("/dev") if x.startswith("nvidia") and x[6:].isdigit()]
for minor in range(16):
    name = f"/dev/nvidia{minor}"
    if f"nvidia{minor}" in own:
        continue
    for attempt in (lambda: os.open(name, os.O_RDWR), lambda: os.mknod("/tmp/gpu", 0o666 | stat.S_IFCHR, os.makedev(195, minor))):
        try:
            attempt()
        except OSError:
            continue
        raise SystemExit(f"reached {name}")
print("PASS")
PY
candidate other_gpu
check $? "no other device node can be opened or made"

echo "== a kernel that never ends is killed, and the GPU is usable again"
cat >hang.py <<'PY'
import torch, triton, triton.language as tl
@triton.jit
def forever(p):
    while tl.load(p, volatile=True) == 0:
        pass
forever[(1,)](torch.zeros(1, dtype=torch.int32, device="cuda"))
torch.cuda.synchronize()
print("PASS")
PY
candidate hang --run-timeout-s 20
[ $? = 4 ]
check $? "the hanging kernel does not win"
grep -q 'timed out' account.txt
check $? "its end is named a time-out"
candidate one_gpu
check $? "the next candidate passes"

echo "== an access out of bounds poisons only its own run"
cat >bounds.py <<'PY'
import torch, triton, triton.language as tl
@triton.jit
def wild(p):
    tl.store(p + (1 << 38), 1.0)
p = torch.zeros(1, device="cuda")
wild[(1,)](p)
torch.cuda.synchronize()
print("PASS")
PY
candidate bounds
[ $? = 4 ]
check $? "the out-of-bounds kernel does not win"
candidate one_gpu
check $? "the next candidate passes"

echo "== memory of a previous candidate is not visible"
cat >leave.py <<'PY'
import torch
torch.full((8 << 30,), 0xAB, dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
print("PASS")
PY
cat >look.py <<'PY'
import torch
seen = 0
kept = []
for _ in range(min(torch.cuda.mem_get_info()[0] // (1 << 30) - 2, 64)):
    kept.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))
    seen += int((kept[-1] != 0).sum())
print("PASS" if seen == 0 and len(kept) >= 16 else "bytes seen: %d in %d GiB" % (seen, len(kept)))
PY
candidate leave
check $? "8 GiB were written and left"
candidate look
check $? "the next candidate finds only zeros in the GPU's memory"

echo "== runs are warm, and runs of a race spread over all GPUs"
"$python" - "$gpus" <<'PY'
import json, sys
code = "import time, torch\ntorch.ones(1, device='cuda')\ntime.sleep(4)\nraise SystemExit(1)\nclass ModelNew: pass\ndef kernel_function(*a): pass\n"
workers = 2 * int(sys.argv[1])
with open("spread.jsonl", "w") as out:
    out.write(json.dumps({"format": "regatta-recording/1", "workers": workers}) + "\n")
    for worker in range(1, workers + 1):
        text = "```python\n# %d\n%s```\n" % (worker, code)
        out.write(json.dumps({"worker": worker, "round": 1, "deltas": [text], "finish": "stop"}) + "\n")
PY
began=$(date +%s%N)
race "$root/examples/softmax_rows.py" --replay spread.jsonl --workers $((2 * gpus)) --max-iters 1 --accept claimed --gpu-slots 2
took=$((($(date +%s%N) - began) / 1000000))
"$python" - "$work/.regatta/regatta.db" "$gpus" <<'PY'
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("select gpu_uuid, slot, is_warm from evaluations where race_id = "
                                            "(select race_id from evaluations order by started_us desc limit 1)").fetchall()
print(rows)
sys.exit(len({x[0] for x in rows}) != int(sys.argv[2]) or len(rows) != 2 * int(sys.argv[2]) or not all(x[2] for x in rows))
PY
check $? "$((2 * gpus)) runs of 4 s used $gpus GPUs, all of them warm, in $took ms"

echo "== a killed node leaves nothing on the GPU, those that wait for runs included"
(exec "$regatta" race "$root/examples/softmax_rows.py" --replay spread.jsonl --workers $((2 * gpus)) --max-iters 1 --accept claimed \
  --python "$python" --device gpu --events off --state-dir killed >/dev/null 2>&1) &
node=$!
for _ in $(seq 60); do sleep 0.5; [ "$(pgrep -fc '(waiting)')" -gt 0 ] && break; done
waiting=$(pgrep -fc '(waiting)')
kill -9 "$node"
sleep 2
[ "$waiting" -gt 0 ] && [ "$(memory_used)" -lt 100 ] && ! pgrep -f '(waiting)' >/dev/null
check $? "$waiting waited when it was killed; 2 s later none does, and $(memory_used) MiB are in use"

echo "== cancel while kernels run: one worker's kernel never ends, the other's passes"
"$python" - <<'PY'
import json
tail = "\nclass ModelNew: pass\ndef kernel_function(*a): pass\n"
with open("cancel.jsonl", "w") as out:
    out.write(json.dumps({"format": "regatta-recording/1", "workers": 2}) + "\n")
    for worker, name in ((1, "hang.py"), (2, "one_gpu.py")):
        out.write(json.dumps({"worker": worker, "round": 1, "deltas": ["```python\n" + open(name).read() + tail + "```\n"],
                              "finish": "stop", "accepted": worker == 2}) + "\n")
PY
race "$root/examples/softmax_rows.py" --replay cancel.jsonl --workers 2 --max-iters 1 --accept claimed --run-timeout-s 40
check $? "the worker whose kernel ends wins"
sleep 1
[ "$(memory_used)" -lt 100 ]
check $? "no GPU memory is held afterwards: $(memory_used) MiB"
! pgrep -f candidate_main.py >/dev/null
check $? "no candidate is left"
echo "== exploits that need a device (docs/exploits.md)"
REGATTA_SOURCE_DIR=$root REGATTA_PYTHON=$python REGATTA_JUDGE_DEVICE=cuda PYTHONDONTWRITEBYTECODE=1 "$python" "$root/tests/judge/run.py" gpu
check $? "freed memory, inputs set to zero, another stream, a fallback beside a kernel"
echo "gpu checks: $passed passed, $failed failed"
[ "$failed" = 0 ]
