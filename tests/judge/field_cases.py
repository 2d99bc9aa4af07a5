# SPDX-License-Identifier: Apache-2.0
"""Kinds of docs/field-failures.md, section A, that need the whole judge and are in no other file."""
import unittest

import whole
from exploit_cases import ALL_RULES, HONEST, SCALE, candidate
from styles import problem

NOISE = "print('y' * 99, *range(100000))"  # 600 KiB


class Field(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.judge = whole.Judge()
        cls.addClassCleanup(cls.judge.close)

    def judged(self, text, judgement, problem_text=SCALE, **terms):
        end = self.judge(text, problem_text, **terms)
        self.assertEqual(end["judgement"], judgement, whole.told(end))
        return end

    def test_a01_the_word_anywhere_is_no_verdict(self):
        for words in ("NOT PASS", "1 PASS 3 FAIL", "PASS"):
            self.judged(candidate(body="print(%r)\nreturn scaled(x, 0.0)" % words), "mismatch")

    def test_a02_neither_place_nor_size_of_the_output_decides(self):
        for top, body in (("", NOISE + "\nprint('PASS')"), ("print('PASS')", NOISE),
                          (NOISE, "print('ALL_TESTS_PASSED')")):
            self.judged(candidate(top, body + "\nreturn scaled(x, factor)"), "correct")
            self.judged(candidate(top, body + "\nreturn scaled(x, factor * 1.01)"), "mismatch")
        self.judged(candidate(body="print('PASS')\nraise ValueError('after the word')"), "raised")

    def test_a04_what_is_glued_before_the_word_does_not_matter(self):
        for body in ("print('dbg', end='')\nprint('PASS')",
                     "import sys\nsys.stdout.write('dbg')\nsys.stderr.write('Traceback (most recent call last):\\n')"):
            self.judged(candidate(body=body + "\nreturn scaled(x, factor)"), "correct")
            self.judged(candidate(body=body + "\nreturn x"), "mismatch", policy_off=ALL_RULES)

    def test_a10_zeros_do_not_pass_where_values_are_tiny(self):
        for forward, inputs in (("return torch.softmax(x, dim=1)", "torch.rand(4, 40000)"),
                                ("return x / torch.linalg.vector_norm(x)", "torch.rand(200, 500)"),
                                ("return x / x.norm(dim=1, keepdim=True)", "torch.rand(4, 20000)"),
                                ("return x.min(dim=1).values", "torch.rand(6, 4000)"),
                                ("return x * 1e-9", "torch.randn(4, 6)")):
            zeros = candidate(body="return (%s).mul(0.0)" % forward.removeprefix("return ")).replace(
                "x, factor)\n\nclass", "x)\n\nclass")
            zeros = zeros.replace("kernel_function(x, factor)",
                                  "kernel_function(x)").replace("forward(self, x, factor)", "forward(self, x)")
            self.judged(zeros, "mismatch", problem("x", "", forward, inputs), policy_off=ALL_RULES)

    def test_a11_integers_stay_integers_and_a_problem_that_fails_is_to_blame(self):
        loss = problem("x, y", "", "return F.cross_entropy(x, y)", "torch.randn(9, 7), torch.randint(0, 7, (9,))")
        self.judged(loss.split("\ndef get_inputs")[0], "correct", loss, stage="extract")
        fails = problem("x, factor", "", "return F.cross_entropy(x, x[:, 0])", "torch.randn(4, 6), 2.5")
        for text in (HONEST, candidate(body="return torch.zeros_like(x)")):
            self.assertIn("expected", self.judged(text, "problem_failed", fails)["reason"])

    def test_a20_a_test_of_shapes_only_is_not_asked(self):
        for body in ("return torch.empty_like(x)", "return torch.full_like(x, float((x * factor).mean()))",
                     "return (x * factor).flip(0)"):
            self.judged(candidate(body=body), "mismatch", policy_off=ALL_RULES)

    def test_a22_nothing_is_no_candidate(self):
        for text in ("", "\n", "None\n", "null", "'None'", "# ModelNew\n", "ModelNew = None\nkernel_function = None\n"):
            end = self.judged(text, "contract_violation" if text != "null" else "raised")
            self.assertTrue(end["reason"])
