# SPDX-License-Identifier: Apache-2.0
"""Problems whose oracle is weak: kinds that KernelBench has, in our own words and small. Each is marked, or judged by rules under
which doing nothing does not pass; an honest program is right under the same rules."""
import os
import unittest

from whole import Judge, told

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\nclass Model(nn.Module):\n"
TAIL = "\n\ndef get_inputs():\n    return [%s]\n\n\ndef get_init_inputs():\n    return []\n"


def problem(init, forward, inputs, args="x"):
    text = HEAD
    if init:
        text += "    def __init__(self):\n        super().__init__()\n" + "".join("        %s\n" % x for x in init) + "\n"
    return text + "    def forward(self, %s):\n" % args + "".join("        %s\n" % x for x in forward) + TAIL % inputs


# name: (problem, what passes whatever the rules are)
PROBLEMS = {
    "largest value less its own mean": (
        problem(["self.fc = nn.Linear(12, 16)"], ["y = self.fc(x).max(dim=1, keepdim=True).values", "return F.gelu(y - y.mean(dim=1, keepdim=True))"],
                "torch.randn(8, 12)"), "zeros"),
    "clamped from both sides": (
        problem(["self.conv = nn.Conv1d(3, 8, 3)", "self.norm = nn.GroupNorm(2, 8)"],
                ["y = torch.minimum(self.norm(self.conv(x)), torch.tensor(0.0))", "return torch.clamp(y, min=0.0, max=1.0)"],
                "torch.randn(4, 3, 16)"), "zeros"),
    "mean of what was normalised": (
        problem(["self.conv = nn.Conv1d(3, 8, 3)", "self.norm = nn.GroupNorm(2, 8)"], ["return self.norm(self.conv(x)).mean(dim=(1, 2))"],
                "torch.randn(4, 3, 16)"), ""),
    "softmax over many": (problem([], ["return torch.softmax(x, dim=1)"], "torch.rand(2, 393216)"), ""),
    "norm of the whole": (problem([], ["return x / torch.linalg.norm(x)"], "torch.rand(16, 1 << 15)"), ""),
    "norm of each row": (problem([], ["return x / torch.linalg.norm(x, dim=1, keepdim=True)"], "torch.rand(4, 65536)"), ""),
    "smallest of each": (problem([], ["return x.min(dim=1).values"], "torch.rand(8, 4096, 3)"), ""),
    "dropout before a softmax": (
        problem(["self.fc = nn.Linear(32, 16384)", "self.drop = nn.Dropout(0.2)"], ["return torch.softmax(self.drop(self.fc(x)), dim=1)"],
                "torch.rand(2, 32)"), ""),
    "mean of many cross entropies": (
        problem([], ["return F.cross_entropy(x, y)"], "torch.rand(32768, 16), torch.randint(0, 16, (32768,))", "x, y"), ""),
    "mean of many hinges": (
        problem([], ["return torch.mean(torch.clamp(1 - x * y, min=0))"], "torch.rand(32768), torch.randint(0, 2, (32768,)).float() * 2 - 1", "x, y"), ""),
}
IDLE = {
    "zeros": "torch.zeros_like(y)",
    "ones": "torch.ones_like(y)",
    "about the mean of what is right": "torch.full_like(y, float('%.2g' % float(y.mean())))",
    "what was right before": "SEEN.setdefault(y.shape, y)",
}


def idle(text, result):
    """The honest program with its result thrown away."""
    honest = text[:text.index("\n\ndef get_inputs")]
    return honest.replace("class Model(", "SEEN = {}\n\n\nclass Honest(") + "\n\nclass Model(Honest):\n    def forward(self, *args):\n" \
        "        y = super().forward(*args)\n        return %s\n" % result


class Weak(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.judge = Judge()

    @classmethod
    def tearDownClass(cls):
        cls.judge.close()

    def terms(self, text):
        end = self.judge.probe(text)
        self.assertIn(end["judgement"], ("correct", "weak_oracle"), told(end))
        record = end["record"]
        return end, {"needs_affine": "needs_affine" in record["marks"], "tightened": record["tightened"],
                     "is_weak": end["judgement"] == "weak_oracle"}

    def test_marked_or_told_apart(self):
        for name, (text, weak) in PROBLEMS.items():
            probed, terms = self.terms(text)
            with self.subTest(name):
                self.assertEqual("zeros" in probed["record"]["weak"], weak == "zeros", told(probed))
                self.assertEqual(terms["is_weak"], bool(weak), told(probed))
                honest = self.judge(text[:text.index("\n\ndef get_inputs")], text, "extract", **terms)
                self.assertEqual(honest["judgement"], "weak_oracle" if weak else "correct", told(honest) + str(terms))
                for what, result in IDLE.items():
                    end = self.judge(idle(text, result), text, "extract", **terms)
                    self.assertNotEqual(end["judgement"], "correct", "%s: %s wins: %s" % (name, what, told(end)))

    def test_allowed_it_is_marked(self):
        text, _ = PROBLEMS["clamped from both sides"]
        end = self.judge(idle(text, "torch.zeros_like(y)"), text, "extract", is_weak=True, allow_weak=True)
        self.assertEqual(end["judgement"], "correct", told(end))
        self.assertIn("weak_oracle", end["record"]["marks"])

    def test_near_identities_are_found_by_inputs_of_another_size(self):
        """Inputs of unit variance are nearly what a normalisation gives."""
        text = problem(["self.norm = nn.LayerNorm(256, elementwise_affine=False)"], ["return self.norm(x)"], "torch.randn(4, 256)") + \
            "\n\nREGATTA_TOLERANCES = {'float32': {'atol': 0.5, 'rtol': 0.5, 'norm': 0.3}}\n"
        end = self.judge(idle(text, "args[0]"), text, "extract", needs_affine=True)
        self.assertEqual(end["judgement"], "mismatch", told(end))
        self.assertIn("inputs of any size", end["feedback"])
        self.assertEqual(end["record"]["tolerances"]["float32"]["atol"], 0.5)


if os.environ.get("REGATTA_JUDGE_PROBLEM"):
    PROBLEMS = {k: v for k, v in PROBLEMS.items() if os.environ["REGATTA_JUDGE_PROBLEM"] in k}
