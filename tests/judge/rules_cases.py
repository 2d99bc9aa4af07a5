# SPDX-License-Identifier: Apache-2.0
"""Policy rules: each fires where it should, and honest programs pass all of them."""
import json
import os
import subprocess
import sys
import unittest

import driver

sys.path[:0] = [driver.SIDES, os.path.join(driver.SOURCE, "examples")]
import candidate_files  # noqa: E402
import policy  # noqa: E402

GOOD = """
import os
import sys
import traceback
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl
TOP

@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    y = tl.softmax(tl.load(x_ptr + at, mask=at < n, other=0.0)) @ 1
    tl.store(y_ptr + at, tl.sum(y) + tl.exp(y), mask=at < n)


def launch(x):
    y = torch.empty_like(x)
    kernel[(1,)](x, y, x.numel(), BLOCK=16)
    return y


def kernel_function(x, weight=None):
    BODY
    return launch(x.contiguous())


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, n)
        self.layers = nn.ModuleList([nn.Linear(2, 2)])
        with torch.no_grad():
            self.packed = (self.fc.weight @ self.fc.weight.t()).softmax(-1)
        INIT

    def forward(self, x):
        FORWARD
        return kernel_function(x, self.fc.weight)


def run_tests():
    try:
        from problem import Model, get_inputs
        torch.backends.cuda.matmul.allow_tf32 = False
        want = Model()(*get_inputs()).softmax(-1) @ torch.matmul(1, 2)
        got = launch(want)
        sys.exit(0 if torch.allclose(got, want) else 1)
    except Exception:
        traceback.print_exc()
        open("log", "w").write(str(sys._getframe()))


if __name__ == "__main__":
    run_tests()
"""


def rules(top="", body="pass", init="", forward="pass", stage="kernel", off=()):
    text = GOOD.replace("TOP", top).replace("BODY", body.replace("\n", "\n    ")).replace("INIT",
        init).replace("FORWARD", forward)
    compile(text, "candidate", "exec")
    return [x["rule"] for x in policy.check(text, stage, off)]


FIRES = [
    ("torch_fallback", ["return torch.matmul(x, weight)", "return x @ weight", "x @= weight", "return F.relu(x)",
                        "return x.softmax(-1)",
                        "return torch.nn.functional.linear(x, weight)", "return torch.ops.aten.mm(x, x)",
                        "return torch.linalg.norm(x)",
                        "return getattr(torch, 'matmul')(x, x)", "return x.mm(x).relu_()",
                        "return torch.einsum('ij,jk', x, x)",
                        "return x.unsqueeze(0).bmm(x)", "from torch.nn.functional import gelu\nreturn gelu(x)",
                        "import torch as t\nreturn t.conv2d(x, x)",
                        "import numpy as np\nreturn np.matmul(x, x)", "import operator\nreturn operator.matmul(x, x)"]),
    ("torch_arithmetic", ["x = torch.sum(x)", "x = torch.exp(x)", "x = x.mean(-1)", "x.mul_(2)"]),
    ("module_called", ["return nn.Linear(2, 2)(x)"]),
    ("torch_compile", ["return torch.compile(launch)(x)", "return torch.jit.script(launch)(x)"]),
    ("try_around_kernel", ["try:\n    return launch(x)\nexcept Exception:\n    return x",
                           "try:\n    kernel[(1,)](x, x, 1, BLOCK=16)\nexcept RuntimeError:\n    pass",
                           "import contextlib\nwith contextlib.suppress(Exception):\n    return launch(x)"]),
    ("patched_function", ["torch.allclose = print", "torch.Tensor.__eq__ = print", "setattr(torch, 'equal', print)",
                          "import time\ntime.time = print",
                          "import builtins\nbuiltins.print = len", "sys.modules['torch'] = None",
                          "torch.__dict__['equal'] = print",
                          "from unittest import mock\nmock.patch('torch.equal')", "tl.load = print"]),
    ("library_setting", ["torch.backends.cudnn.allow_tf32 = True", "torch.set_float32_matmul_precision('medium')"]),
    ("environment", ["os.environ['TRITON_INTERPRET'] = '0'", "os.environ.setdefault('A', 'b')"]),
    ("uses_problem", ["from problem import Model\nreturn Model()(x)", "import problem"]),
    ("streams", ["with torch.cuda.stream(torch.cuda.Stream()):\n    pass", "torch.cuda.CUDAGraph()"]),
    ("threads", ["import threading\nthreading.Thread(target=print).start()",
                 "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor()"]),
    ("file_use", ["open('x')", "import pathlib\npathlib.Path('x').read_text()", "torch.load('x')",
                  "import tempfile\ntempfile.mkdtemp()"]),
    ("network_use", ["import socket\nsocket.socket()", "import urllib.request\nurllib.request.urlopen('x')"]),
    ("introspection", ["sys._getframe(1)", "import gc\ngc.get_objects()",
                       "import inspect\ninspect.currentframe().f_back", "sys.settrace(print)"]),
    ("process_control", ["os._exit(0)", "import subprocess\nsubprocess.run(['x'])", "os.system('x')", "sys.exit(0)",
                         "import signal\nsignal.alarm(1)",
                         "import atexit\natexit.register(print)", "exit()"]),
    ("native_access", ["import ctypes\nctypes.CDLL(None)", "import mmap\nmmap.mmap(-1, 1)"]),
    ("dynamic_code", ["exec('x')", "eval('x')", "import importlib\nimportlib.import_module('torch')",
                      "__import__('torch')"]),
]
FINE = ["x = x.contiguous().view(-1).permute(0).reshape(2, -1)", "y = torch.zeros(3, device=x.device, dtype=x.dtype)",
        "if x.shape != weight.shape:\n    raise ValueError('shape')", "n = max(1, sum(x.shape))",
        "assert x.is_cuda or not torch.cuda.is_available()",
        "with torch.cuda.device(x.device):\n    pass", "scale = 1.0 / (x.shape[-1] ** 0.5)", "x = x.to(torch.float32)",
        "props = torch.cuda.get_device_properties(0).multi_processor_count",
        "x = torch.cat([x, x]).t().expand(2, -1).clone()",
        "import math\ny = math.log2(3) * math.exp(1)", "w = [1, 2]\nw.sort()\nw = set(w).add(1)", "i = [1].index(1)",
        "x = torch.Tensor.contiguous(x)",
        "print(torch.finfo(x.dtype).max)", "d = {}\nd['k'] = 1\nx.attribute = 1", "torch.empty(2).copy_(x).fill_(0)",
        "y = F.pad(x, (0, 1))"]


class Rules(unittest.TestCase):
    def test_a_good_program_has_no_findings(self):
        self.assertEqual(rules(), [])

    def test_each_rule_fires(self):
        for rule, bodies in FIRES:
            for body in bodies:
                with self.subTest(body):
                    self.assertIn(rule, rules(body=body))

    def test_each_rule_can_be_switched_off(self):
        for rule, bodies in FIRES:
            with self.subTest(rule):
                self.assertNotIn(rule, rules(body=bodies[0], off=[rule]))

    def test_every_rule_is_tested(self):
        self.assertEqual(set(policy.RULES) - {x for x, _ in FIRES}, {"no_kernel", "kernel_unused"})

    def test_what_is_fine(self):
        for body in FINE:
            with self.subTest(body):
                self.assertEqual(rules(body=body), [])

    def test_layers_may_hold_parameters_but_not_be_called(self):
        self.assertEqual(rules(forward="w, b = self.fc.weight, self.fc.bias"), [])
        self.assertIn("module_called", rules(forward="x = self.fc(x)"))
        self.assertIn("module_called", rules(forward="x = self.fc.forward(x)"))

    def test_constructor_and_import_are_freer(self):
        self.assertEqual(rules(init="self.scale = torch.sum(self.fc.weight)", top="SIZE = torch.exp(torch.zeros(1))"),
                         [])
        self.assertIn("patched_function", rules(top="torch.equal = print"))
        self.assertIn("patched_function", rules(init="torch.equal = print"))
        self.assertIn("uses_problem", rules(top="from problem import Model"))
        self.assertIn("threads", rules(top="import threading\nthreading.Thread(target=print).start()"))
        self.assertIn("process_control", rules(top="os._exit(0)"))

    def test_what_is_reached_through_helpers_counts(self):
        self.assertIn("torch_fallback", rules(top="def helper(x):\n    return x @ x\n", body="return helper(x)"))
        self.assertIn("torch_fallback",
                      rules(top="class Block(nn.Module):\n    def forward(self, x):\n        return F.relu(x)\n",
                                              init="self.block = Block()", forward="x = self.block(x)"))
        self.assertIn("torch_fallback",
                      rules(top="class Base(nn.Module):\n    def inner(self, x):\n        return x @ x\n").__class__(
            [x["rule"] for x in policy.check(GOOD.replace("TOP",
            "class Base(nn.Module):\n    def inner(self, x):\n        return x @ x\n").replace(
                "ModelNew(nn.Module)", "ModelNew(Base)").replace("BODY", "pass").replace("INIT", "").replace("FORWARD",
                "self.inner(x)"))]))
        self.assertEqual(rules(top="def unused(x):\n    return x @ x\n"), [])

    def test_extract_may_use_torch(self):
        text = "import torch.nn as nn\nclass Part(nn.Module):\n    def forward(self, x):\n" \
               "        return x.softmax(-1) @ x\n\nclass Model(nn.Module):\n" \
               "    def __init__(self):\n        super().__init__()\n        self.part = Part()\n\n" \
               "    def forward(self, x):\n        return self.part(x)\n"
        self.assertEqual(policy.check(text, "extract"), [])
        self.assertEqual([x["rule"] for x in policy.check(text.replace("x.softmax", "open('x').softmax"), "extract")],
                         ["file_use"])

    def test_no_kernel_and_unused_kernel(self):
        text = "import torch\ndef kernel_function(x):\n    return x + 1\n\nclass ModelNew(torch.nn.Module):\n" \
               "    def forward(self, x):\n        return kernel_function(x)\n"
        self.assertEqual([x["rule"] for x in policy.check(text)], ["no_kernel"])
        self.assertEqual([x["rule"] for x in policy.check("def kernel_function(x):\n    return x\n")], [])
        self.assertEqual(rules(body="return x"), [])
        unused = GOOD.replace("    kernel[(1,)](x, y, x.numel(), BLOCK=16)\n", "").replace("TOP", "").replace("BODY",
            "pass").replace("INIT", "").replace("FORWARD", "pass")
        self.assertEqual([x["rule"] for x in policy.check(unused)], ["kernel_unused"])

    def test_kernels_stand_anywhere(self):
        launch = "\ndef kernel_function(x):\n    kernel[(1,)](x)\n    return x\n"
        kernel = "def kernel(x_ptr):\n    tl.store(x_ptr, 1.0)\n"
        marked = "@triton.jit\n" + kernel
        imports = "import torch, triton\nimport triton.language as tl\n"
        indented = "    " + marked.replace("\n", "\n    ")
        for text in ("def make():\n" + indented + "return kernel\nkernel = make()\n",
                     "class Kernels:\n    @staticmethod\n" + indented + "\nkernel = Kernels.kernel\n",
                     kernel + "kernel = triton.jit(kernel)\n", marked):
            with self.subTest(text):
                self.assertEqual(policy.check(imports + text + launch), [])
        self.assertEqual([x["rule"] for x in policy.check(imports + kernel + launch)], ["no_kernel"])

    def test_gradients_are_free(self):
        """Nobody asks for them."""
        top = "class Scale(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n" \
              "        return %s\n\n" \
              "    @staticmethod\n    def backward(ctx, grad):\n        return torch.matmul(grad, grad)\n"
        self.assertEqual(rules(top=top % "launch(x)", body="return Scale.apply(x)"), [])
        self.assertIn("torch_fallback", rules(top=top % "x.softmax(-1)", body="return Scale.apply(x)"))

    def test_the_harness_is_no_module_of_a_candidate(self):
        for top in ("import __main__\n__main__.Evidence = None", "import __main__ as m\nm.Answer.frame = print",
                    "import sys\nHARNESS = sys.modules['__main__']", "import importlib\nM = importlib.import_module('__main__')",
                    "try:\n    raise ValueError\nexcept ValueError as e:\n    F = e.__traceback__.tb_frame.f_back"):
            with self.subTest(top):
                self.assertIn("introspection", rules(top=top))
        self.assertEqual(rules(top="if __name__ != '__main__':\n    NAME = __name__"), [])

    def test_locks_are_no_threads(self):
        self.assertEqual(rules(top="import threading\nLOCK = threading.Lock()",
                               body="with LOCK:\n    return launch(x)"), [])
        self.assertIn("threads", rules(top="import threading\nLOCK = threading.Lock(); threading.Thread()",
                                       body="pass"))

    def test_findings_say_where(self):
        found = policy.check("import torch\ndef kernel_function(x):\n    return x @ x\n")[-1]
        self.assertEqual((found["rule"], found["severity"], found["line"]), ("torch_fallback", "error", 3))
        self.assertIn("return x @ x", found["text"])

    def test_odd_texts_end_well(self):
        for text in ("", "def :", "x = " + "(" * 3000, "\0", b"\xff", "x = " + "-" * 50000 + "1", "a" + ".b" * 20000,
                     "class A(A): pass\nclass ModelNew(A): pass"):
            self.assertIsInstance(policy.check(text), list)
        many = "import torch\ndef kernel_function(x):\n" + "    x @ x\n" * 500
        self.assertLessEqual(len(policy.check(many)), 64)

    def test_recorded_candidates_pass(self):
        count = 0
        for name in candidate_files.problems():
            for reply in candidate_files.replies(name):
                if reply.expect in candidate_files.RUNS:
                    count += 1
                    with self.subTest(reply.path.name):
                        self.assertEqual(policy.check(reply.code), [])
        self.assertGreater(count, 20)

    def test_as_a_program(self):
        with driver.Folder() as folder:
            path = folder.file("candidate.py", "import torch\ndef kernel_function(x):\n    return x @ x\n")
            for options, wanted in (([], ["no_kernel", "torch_fallback"]), (["--off", "no_kernel"], ["torch_fallback"]),
                                    (["--stage", "extract"], [])):
                done = subprocess.run([sys.executable, "-I", os.path.join(driver.SIDES, "policy.py"), *options, path],
                                      capture_output=True, check=True)
                self.assertEqual([x["rule"] for x in json.loads(done.stdout)], wanted)
