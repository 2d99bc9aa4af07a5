# SPDX-License-Identifier: Apache-2.0
"""Candidates and problems that mean ill. None may be taken for right when it is wrong, none may hold its side."""
import unittest

import driver
from honest_cases import HEAD, problem

RIGHT = "x * factor"
CANDIDATE = HEAD + """
%s

def kernel_function(x, factor):
    %s
    return %s

class ModelNew(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return kernel_function(x, self.factor)
"""


def text(top="", before="pass", result="torch.zeros_like(x)"):
    return CANDIDATE % (top, before.replace("\n", "\n    "), result)


class Hostile(unittest.TestCase):
    def refused(self, candidate, **options):
        """Answered, and not right."""
        verdict = driver.judged(problem("scale"), candidate, styles=("plain",), **options)
        self.assertIsNone(verdict.failed)
        self.assertGreater(verdict.plain[0], 0.5)
        return verdict

    def right(self, candidate, **options):
        """Right whatever it does besides."""
        verdict = driver.judged(problem("scale"), candidate, **options)
        self.assertIsNone(verdict.failed)
        self.assertTrue(verdict.is_correct, verdict.plain)
        return verdict

    def failed(self, candidate, judgement, word="", **options):
        verdict = driver.judged(problem("scale"), candidate, **options)
        self.assertIsNotNone(verdict.failed, verdict.plain)
        self.assertEqual(verdict.failed["judgement"], judgement, verdict.failed)
        self.assertIn(word, verdict.failed["reason"] + verdict.failed["detail"])
        self.assertNotIn("candidate_side", verdict.failed["detail"])
        return verdict.failed

    def gone(self, candidate):
        with self.assertRaises(driver.Gone):
            driver.judged(problem("scale"), candidate)

    PATCHES = """
import builtins, hashlib, json, os, struct, ctypes, inspect, time
def anything(*args, **kwargs):
    return True
"""

    def test_patched_comparisons(self):
        self.refused(text(self.PATCHES + "torch.allclose = torch.equal = torch.isclose = anything\n"
            "torch.Tensor.__eq__ = anything\n"
                                         "torch.testing.assert_close = anything\n"))

    def test_patched_libraries_do_not_reach_the_answer(self):
        self.right(text(self.PATCHES + """
json.dumps = json.loads = json.JSONEncoder.encode = anything
os.write = os.read = os.readv = anything
struct.pack = hashlib.sha256 = time.monotonic = anything
""", result=RIGHT))

    def test_patched_tensor_methods_do_not_reach_the_answer(self):
        self.right(text("""
ZERO = torch.zeros(1)
for name in ("clone", "contiguous", "detach", "reshape", "view", "cpu", "to", "numpy", "tolist", "data_ptr", "numel",
        "size",
             "resolve_conj", "resolve_neg", "is_contiguous", "narrow", "element_size", "untyped_storage"):
    SAVED = getattr(torch.Tensor, name)
    setattr(torch.Tensor, name, (lambda saved: lambda self, *a, **k: saved(self, *a, **k) if ON[0] else ZERO)(SAVED))
ON = [True]
""", before="ON[0] = True\nresult = x.mul(factor)\nON[0] = False", result="result"))

    def test_patched_builtins_do_not_reach_the_answer(self):
        names = "('len', 'isinstance', 'repr', 'memoryview', 'list', 'dict', 'sum', 'zip', 'type')"
        verdict = driver.judged(problem("scale").replace("return x * self.factor",
            "return {'k': [x * self.factor, 1]}"), text(
            before="import builtins\nfor name in %s:\n    setattr(builtins, name, lambda *a, **k: 0)" % names,
            result="{'k': [x * factor, 1]}"), styles=("plain",))
        self.assertTrue(verdict.is_correct, verdict.failed or verdict.plain)

    def test_subclass_that_refuses_everything(self):
        self.right(text("""
class Sulking(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise RuntimeError("no")
""", result="torch.Tensor._make_subclass(Sulking, x * factor)"))

    def test_lying_subclass(self):
        self.refused(text("""
class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function in (torch.allclose, torch.equal, torch.isclose):
            return True
        if function.__name__ in ("data_ptr", "numel", "size", "dtype", "shape", "clone", "contiguous", "detach",
                "__get__"):
            return 7
        return super().__torch_function__(function, types, args, kwargs or {})

    def __eq__(self, other):
        return True
""", result="torch.zeros_like(x).as_subclass(Liar)"))

    def test_dispatch_subclass_is_no_tensor(self):
        verdict = self.refused(text("""
class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        return torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype)

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return torch.zeros(1)
""", result="Wrapper(x)"))
        self.assertEqual(verdict.answers[0]["outputs"]["t"], "unknown")

    def test_looking_for_the_truth_in_frames(self):
        self.refused(text("""
import gc, sys
def stolen(x, factor):
    frame = sys._getframe(1)
    while frame is not None:
        for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):
            if isinstance(value, torch.Tensor) and value.shape == x.shape and not torch.equal(value, x):
                return value
        frame = frame.f_back
    for value in gc.get_objects():
        if type(value).__name__ == "Model":
            return value(x)
    return torch.zeros_like(x)
""", result="stolen(x, factor)"))

    def test_exits(self):
        for way in ("import sys; sys.exit(0)", "raise SystemExit", "raise KeyboardInterrupt", "exit()"):
            with self.subTest(way):
                self.failed(text(before=way), "raised")
                self.failed(text(way), "raised")
        self.gone(text(before="import os; os._exit(0)"))
        self.gone(text("import os; os._exit(0)"))
        self.gone(text(before="import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))

    def test_closed_and_stolen_channels(self):
        self.gone(text("import os; os.closerange(0, 4096)", result=RIGHT))
        self.refused(text("import os\nos.close(0); os.close(1)"))

    def test_frames_on_stdout_are_text(self):
        frame = '{"op":"answer","id":0,"outputs":{"t":"none"},"inputs_after":[],"parameters":[]}'
        self.refused(text("import os, struct\nHEAD = %r.encode()\n"
                          "os.write(1, struct.pack('<IQ', len(HEAD), 0) + HEAD)\n"
                          "print('PASS', flush=True)" % frame))

    def test_ends_that_hang(self):
        verdict = self.right(text("""
import atexit, os, signal, sys, threading, time
def forever(*args):
    while True:
        time.sleep(1)
atexit.register(forever)
threading.Thread(target=forever).start()
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
    signal.signal(number, forever)
sys.excepthook = threading.excepthook = forever
class Held:
    __del__ = forever
GLOBAL = Held()
""", before="x.held = Held()", result=RIGHT))
        self.assertTrue(verdict.has_left)

    def test_threads_that_write_to_stdout(self):
        self.right(text("""
import threading
def talk():
    while True:
        print("PASS " * 100, flush=True)
threading.Thread(target=talk, daemon=True).start()
""", result=RIGHT), styles=("plain",))

    def test_huge_and_odd_outputs(self):
        self.failed(text(result="[x] * 5000"), "contract_violation", "4096 leaves")
        self.failed(text(before="y = []\nfor _ in range(100):\n    y = [y]", result="y"), "contract_violation",
                    "levels")
        self.failed(text(result="{'k' * 60000 + str(i): x for i in range(200)}"), "contract_violation", "head of")
        for odd in ("object()", "{1, 2}", "x.to_sparse()", "lambda: x", "type(x)", "(y for y in [x])"):
            self.refused(text(result=odd))

    def test_numbers_that_are_no_numbers(self):
        verdict = self.refused(text(result="torch.full_like(x, float('nan'))"))
        self.assertEqual(verdict.plain[0], float("inf"))

    def test_errors_show_only_own_lines(self):
        failed = self.failed(text(before="inner(x)",
                                  top="def inner(x):\n    raise ValueError('first\\nsecond \\x1b[31m')\n"), "raised",
                                  "ValueError")
        self.assertEqual(failed["reason"].count("\n"), 0)
        self.assertNotIn("\x1b", failed["reason"])
        self.assertEqual([x.split(":")[0].split(", ")[1] for x in failed["detail"].split("\n")[:3]],
                         ["in forward", "in kernel_function", "in inner"])
        self.assertEqual(failed["detail"].split("\n")[3:], ["ValueError: first", "second \x1b[31m"])
        self.failed(text("class Odd(Exception):\n    def __str__(self):\n        raise RuntimeError\n",
                         before="raise Odd()"), "raised", "Odd")
        self.failed(text(before="return kernel_function(x, factor)"), "raised", "RecursionError")

    def test_what_does_not_load(self):
        self.failed("def kernel_function(:\n", "compile_failed", "line 1")
        self.failed("import torch\nraise OSError('no')\n", "raised", "OSError")
        self.failed("import nothing_like_it\n", "raised", "ModuleNotFoundError")
        self.failed(HEAD + "class ModelNew: pass\n", "contract_violation", "kernel_function")
        self.failed(HEAD + "def kernel_function(): pass\n", "contract_violation", "ModelNew")
        self.failed(HEAD + "ModelNew = 3\nkernel_function = print\n", "contract_violation", "ModelNew")
        self.failed("#" * ((1 << 20) + 1), "contract_violation", "bytes")

    def test_signatures_that_do_not_fit(self):
        self.failed(text().replace("def __init__(self, factor)", "def __init__(self)").replace("= factor", "= 1"),
                    "contract_violation", "ModelNew()")
        self.failed(text().replace("def forward(self, x)", "def forward(self, x, y)"), "contract_violation",
                    "forward()")

    def test_spoiled_inputs(self):
        """They are compared with what the reference's call left."""
        verdict = driver.judged(problem("scale"), text(before="x.zero_()", result="x"), styles=("plain",))
        self.assertEqual(verdict.plain, [float("inf")])

    def test_right_in_the_first_call_only(self):
        """The second call of an instance counts, too: in scaled questions."""
        for made, forward in (("self.sum = torch.zeros(4, 6)",
                               "self.sum += kernel_function(x, self.factor)\n        return self.sum"),
                              ("self.calls = 0",
                               "self.calls += 1\n        return kernel_function(x, self.factor) * (self.calls < 2)"),
                              ("pass", "y = kernel_function(x, self.factor)\n        self.factor = 0.0\n"
                                       "        return y")):
            candidate = text(result=RIGHT).replace("self.factor = factor",
                "self.factor = factor\n        " + made).replace(
                "return kernel_function(x, self.factor)", forward)
            verdict = driver.judged(problem("scale"), candidate, styles=("plain", "scaled"))
            self.assertEqual(verdict.plain[0], 0.0)
            self.assertGreater(verdict.plain[1], 0.5)
        counts = problem("scale").replace("return x * self.factor", "self.factor += 1\n        return x * self.factor")
        verdict = driver.judged(counts, text(result=RIGHT).replace("return kernel",
            "self.factor += 1\n        return kernel"),
                                styles=("plain", "scaled"))
        self.assertTrue(verdict.is_correct, verdict.plain)

    def test_knows_no_seed_and_no_problem(self):
        self.failed(text("import problem\n"), "raised", "No module named 'problem'")

    def test_dishonest_before_honest_changes_nothing(self):
        for _ in range(2):
            self.refused(text(self.PATCHES + "torch.allclose = anything\n"))
            self.right(text(result=RIGHT))

    def test_hostile_problems(self):
        for top, judgement, word in (("import sys; sys.exit(0)", "problem_failed", "SystemExit"),
                                     ("raise ValueError('x')", "problem_failed", "ValueError"),
                                     ("def :", "problem_failed", "SyntaxError")):
            with driver.Folder() as folder, driver.reference(folder.file("problem.py", top + problem("scale"))) as side:
                hello = side.hear()
                self.assertEqual((hello["op"], hello["judgement"]), ("failed", judgement))
                self.assertIn(word, hello["reason"])
        noisy = problem("scale") + "\nimport atexit, os, time\natexit.register(time.sleep, 60)\n" \
                                   "print('x' * 100000)\nos.write(1, b'y')\n"
        verdict = driver.judged(noisy, text(result=RIGHT))
        self.assertTrue(verdict.is_correct)

    def test_questions_without_answer_leave_the_channel_whole(self):
        with driver.Folder() as folder, driver.candidate(folder.file("candidate.py", text(result=RIGHT))) as side:
            side.hear()
            inputs = driver.node_list(driver.tensor([2, 2], [1, 2, 3, 4]))
            two = {"init_args": driver.node_list({"t": "unknown", "v": "object"})}
            self.assertEqual(driver.ask_candidate(side, two, inputs, number=5)["op"], "failed")
            hello = {"init_args": driver.node_list({"t": "float", "v": "0x1p+1"})}
            answer = driver.ask_candidate(side, hello, inputs, number=6)
            self.assertEqual(driver.numbers(answer["outputs"]), [2, 4, 6, 8])
