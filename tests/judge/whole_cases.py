# SPDX-License-Identifier: Apache-2.0
"""Honest candidates of many styles and the whole judge: sandbox, warm interpreters, rules about code, comparator. None
may be refused. Prints what was judged."""
import os
import sys
import unittest

import driver
import styles_torch
import styles_triton
import styles_triton_more
import whole
from styles import Table

sys.path.insert(0, os.path.join(driver.SOURCE, "examples"))
import candidate_files  # noqa: E402

AT_LEAST, TRITON_AT_LEAST = 60, 20


def examples():
    """Every recorded reply that the judge must take."""
    table = Table()
    for name, path in candidate_files.problems().items():
        for reply in candidate_files.replies(name):
            if reply.is_right:
                kind = "triton" if "import triton" in reply.code else "plain"
                table.add("example_%s_%d_%d" % (name, reply.worker, reply.round), "example problem", kind,
                          path.read_text(encoding="utf-8"), reply.code, "kernel")
    return table


class Whole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.judge = whole.Judge()
        cls.addClassCleanup(cls.judge.close)

    def test_every_style_is_accepted(self):
        first = styles_triton.TABLE[0]
        self.judge.warm_up(first.candidate, first.problem)
        table = examples() + styles_triton.TABLE + styles_triton_more.TABLE + styles_torch.TABLE
        accepted = {"triton": 0, "torch": 0, "plain": 0}
        for style in table:
            end = self.judge(style.candidate, style.problem, style.stage, **style.terms)
            print("%-46s %-7s %-52s %s %s" % (style.name, style.kind, style.family, whole.told(end),
                " ".join(whole.marks(end))))
            is_right = end["judgement"] == "correct"
            accepted[style.kind] += is_right
            with self.subTest(style.name):
                self.assertTrue(is_right, whole.told(end) + "\n" + end["feedback"] + end["stderr"][-2000:])
                self.assertEqual(end["is_warm"], style.kind != "plain", end["why_cold"])
                if style.kind == "triton":
                    self.assertEqual((end["record"]["engine"], end["record"]["kernel_evidence"]),
                                     ("triton-interpreter", "seen"))
        print("accepted: %s of %d" % (accepted, len(table)))
        self.assertGreaterEqual(sum(accepted.values()), AT_LEAST)
        self.assertGreaterEqual(accepted["triton"], max(TRITON_AT_LEAST, sum(accepted.values()) // 3))

    def test_every_example_has_a_style(self):
        self.assertEqual({x.name.split("_", 1)[1].rsplit("_", 2)[0] for x in examples()},
                         set(candidate_files.problems()))
