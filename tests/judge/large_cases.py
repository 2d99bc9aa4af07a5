# SPDX-License-Identifier: Apache-2.0
"""Problems that are too large to be copied or sent, with what counts as large set to nothing; tolerances and scaled inputs."""
import hashlib
import unittest

import driver

HEAD = "import torch\nimport torch.nn as nn\nimport triton\nimport triton.language as tl\n"
PROBLEM = HEAD + """
ROWS = 5
SCALE = torch.full((7,), 3.0)


class Unused:
    pass


def drawn(columns):
    return torch.rand(ROWS, columns) * SCALE


class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))
        self.bias = nn.Parameter(torch.zeros(size))
        nn.init.zeros_(self.bias)

    def forward(self, x, mask, n):
        y = torch.sigmoid(x) * self.weight * n + self.bias
        return (y, mask)


def get_inputs():
    return [drawn(7), torch.randint(0, 9, (3,)), 2]


def get_init_inputs():
    return [7]
"""
CANDIDATE = HEAD + """

@triton.jit
def kernel(x_ptr, w_ptr, b_ptr, y_ptr, n, count, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < count, other=0.0)
    w = tl.load(w_ptr + at % columns, mask=at < count, other=0.0)
    b = tl.load(b_ptr + at % columns, mask=at < count, other=0.0)
    tl.store(y_ptr + at, w * n / (1 + tl.exp(-x)) + b, mask=at < count)


def kernel_function(x, weight, bias, n):
    y = torch.empty_like(x)
    kernel[(1,)](x, weight, bias, y, n, x.numel(), x.shape[-1], BLOCK=64)
    return y


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))
        self.bias = nn.Parameter(torch.zeros(size))
        nn.init.zeros_(self.bias)

    def forward(self, x, mask, n):
        return kernel_function(x, self.weight, self.bias, n), mask
"""


class Large(unittest.TestCase):
    def opened(self, text, *options):
        folder = driver.Folder()
        self.addCleanup(folder.made.cleanup)
        side = driver.reference(folder.file("problem.py", text), "--large", "0", *options)
        self.addCleanup(side.close)
        return side, side.hear()

    def candidate(self, text, stage="kernel"):
        folder = driver.Folder()
        self.addCleanup(folder.made.cleanup)
        side = driver.candidate(folder.file("candidate_main.py", text), stage, "--large", "0")
        self.addCleanup(side.close)
        return side, side.hear()

    def reference_answer(self, side, number, style="plain"):
        return side.ask({"op": "ask", "id": number, "init_seed": 11, "input_seed": 22 + number, "style": style, "inputs": "drawn"})

    def asked(self, side, hello, truth, number, style="plain", **more):
        head = {"op": "ask", "id": number, "init_seed": 11, "style": style, "mode": hello["mode"], "init_args": hello["init_args"],
                "inputs": driver.bare(truth["inputs"]), "parameters": None,
                "draw": {"recipe": hello["recipe"], "input_seed": 22 + number}, "function": False, **more}
        return side.ask(head, [hello["init_args"]])

    def test_both_sides_draw_the_same_bytes(self):
        reference, hello = self.opened(PROBLEM)
        self.assertEqual(hello["question_bytes"], 5 * 7 * 4 * 2 + 3 * 8 * 2 + 7 * 4 * 2)
        self.assertNotIn("Model", hello["recipe"])
        self.assertNotIn("Unused", hello["recipe"])
        candidate, said = self.candidate(CANDIDATE)
        self.assertEqual(said["op"], "hello", said)
        for number, style in enumerate(("plain", "plain+affine", "scaled", "zeros", "constant")):
            with self.subTest(style):
                truth = self.reference_answer(reference, number, style)
                got = self.asked(candidate, hello, truth, number, style)
                self.assertEqual(got["op"], "answer", got)
                self.assertEqual(len(truth["input_sha256"]), 2)
                self.assertEqual(got["input_sha256"], truth["input_sha256"])
                self.assertLess(driver.worst(got["outputs"], truth["outputs"]), 1e-5)
                self.assertEqual(got["parameters"], truth["parameters"])
                self.assertEqual((got["kernel_evidence"], got["function"], got["inputs_after"]), ("later", None, []))
                self.assertEqual(candidate.ask({"op": "evidence", "id": 7})["kernel_evidence"], "seen")
        self.assertEqual(candidate.ask({"op": "evidence", "id": 7})["kernel_evidence"], "not_looked")

    def test_sent_after_all_they_are_the_same(self):
        reference, hello = self.opened(PROBLEM)
        drawn, sent = self.reference_answer(reference, 3), driver.ask_reference(reference, 4, 11, 25)
        tensors = driver.tensor_nodes(sent["inputs"])
        self.assertEqual([hashlib.sha256(x["data"]).hexdigest() for x in tensors], drawn["input_sha256"])
        self.assertEqual(sent["outputs"], drawn["outputs"])
        candidate, _ = self.candidate(CANDIDATE)
        got = driver.ask_candidate(candidate, hello, sent["inputs"], 4)
        self.assertLess(driver.worst(got["outputs"], sent["outputs"]), 1e-5)
        self.assertEqual(got["kernel_evidence"], "seen")

    def test_who_cannot_draw_says_so(self):
        reference, hello = self.opened(PROBLEM)
        truth = self.reference_answer(reference, 1)
        candidate, _ = self.candidate("import torch\ntorch.rand = None\n" + CANDIDATE)
        got = self.asked(candidate, hello, truth, 1)
        self.assertIn("TypeError", got["undrawn"])
        sent = driver.ask_reference(reference, 2)
        self.assertEqual(driver.ask_candidate(candidate, hello, sent["inputs"], 2)["op"], "answer")

    def test_idle_kernels_are_found_afterwards(self):
        reference, hello = self.opened(PROBLEM)
        idle = CANDIDATE.replace("    return y\n", "    return torch.sigmoid(x) * weight * n + bias\n")
        for text, wanted in ((idle, "inconsistent"), (idle.replace("    kernel[(1,)]", "    0 and kernel[(1,)]"), "absent")):
            candidate, _ = self.candidate(text)
            got = self.asked(candidate, hello, self.reference_answer(reference, 1), 1)
            seen = got["kernel_evidence"]
            self.assertEqual(candidate.ask({"op": "evidence", "id": 9})["kernel_evidence"] if seen == "later" else seen, wanted)

    def test_a_buffer_that_is_used_again_is_no_fraud(self):
        reference, hello = self.opened(PROBLEM)
        kept = CANDIDATE.replace("    y = torch.empty_like(x)\n", "    y = BUFFER.setdefault(x.shape, torch.empty_like(x))\n").replace(
            "def kernel_function", "BUFFER = {}\n\n\ndef kernel_function")
        candidate, _ = self.candidate(kept)
        for number in (1, 2):
            truth = self.reference_answer(reference, number)
            self.assertLess(driver.worst(self.asked(candidate, hello, truth, number)["outputs"], truth["outputs"]), 1e-5)
        self.assertEqual(candidate.ask({"op": "evidence", "id": 9})["kernel_evidence"], "seen")

    def test_what_is_changed_in_place_is_told(self):
        text = PROBLEM.replace("        y = torch", "        x.mul_(2)\n        y = torch")
        reference, hello = self.opened(text)
        truth = self.reference_answer(reference, 1)
        self.assertEqual([x for x, _ in truth["inputs_after"]], [0])
        model = text[text.index("class Model"):text.index("def get_inputs")]
        candidate, said = self.candidate(HEAD + model, "extract")
        self.assertEqual(said["op"], "hello", said)
        got = self.asked(candidate, hello, truth, 1)
        self.assertEqual(got["inputs_after"], truth["inputs_after"])
        self.assertEqual(got["kernel_evidence"], "not_looked")

    def test_parameters_go_ahead(self):
        reference, hello = self.opened(PROBLEM)
        other = CANDIDATE.replace("torch.randn(size)", "torch.rand(size)")
        candidate, _ = self.candidate(other)
        truth = self.reference_answer(reference, 1)
        self.assertGreater(driver.worst(self.asked(candidate, hello, truth, 1)["outputs"], truth["outputs"]), 1e-3)
        tree = reference.ask({"op": "parameters", "id": 2, "init_seed": 11, "style": "plain"})["tree"]
        self.assertEqual(candidate.ask({"op": "keep", "id": 2, "tree": tree}, [tree])["op"], "kept")
        got = self.asked(candidate, hello, truth, 1, parameters="kept")
        self.assertLess(driver.worst(got["outputs"], truth["outputs"]), 1e-5)

    def test_random_forward_is_found_without_copies(self):
        noise = PROBLEM.replace("return (y, mask)", "return (y + torch.rand_like(y), mask)")
        self.assertEqual(self.opened(noise.replace("ROWS = 5", "ROWS = 1 << 20"))[1]["judgement"], "not_judgeable")
        dropout = PROBLEM.replace("        nn.init", "        self.drop = nn.Dropout(0.5)\n        nn.init").replace(
            "return (y, mask)", "return (self.drop(y), mask)")
        self.assertEqual(self.opened(dropout.replace("ROWS = 5", "ROWS = 1 << 20"))[1]["mode"], "eval")

    def test_a_recipe_needs_no_model(self):
        for old, new in (("return [drawn(7)", "return [drawn(Model(7).weight.numel())"), ("* SCALE", "* float(Model is not None)")):
            self.assertEqual(self.opened(PROBLEM.replace(old, new))[1]["recipe"], "")

    def test_launches_are_told_in_words_for_a_compiler(self):
        reference, hello = self.opened(PROBLEM)
        candidate, _ = self.candidate(CANDIDATE)
        got = self.asked(candidate, hello, self.reference_answer(reference, 1), 1)
        self.assertEqual(got["launched"], [{"kernel": "kernel", "options": {}, "args": {
            "x_ptr": {"type": "*fp32"}, "w_ptr": {"type": "*fp32"}, "b_ptr": {"type": "*fp32"}, "y_ptr": {"type": "*fp32"}, "n": {"type": "i32"},
            "count": {"type": "i32"}, "columns": {"type": "i32"}, "BLOCK": {"value": 64}}}])

    def test_tolerances_of_the_problem(self):
        wanted = {"float32": {"atol": 1e-3, "norm": 0.01}}
        self.assertEqual(self.opened(PROBLEM + "\nREGATTA_TOLERANCES = %r\n" % wanted)[1]["tolerances"], wanted)
        self.assertEqual(self.opened(PROBLEM)[1]["tolerances"], {})
        for bad in ("3", "{'float32': 1e-4}", "{'float32': {'atol': 'x'}}", "{'float32': {'atol': float('nan')}}"):
            _, hello = self.opened(PROBLEM + "\nREGATTA_TOLERANCES = %s\n" % bad)
            self.assertEqual(hello["judgement"], "problem_failed")
            self.assertIn("REGATTA_TOLERANCES: got", hello["reason"])
            self.assertIn("allowed:", hello["reason"])
