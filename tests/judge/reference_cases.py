# SPDX-License-Identifier: Apache-2.0
"""The reference side: modes, seeds, styles, sizes, what makes a problem unfit."""
import hashlib
import os
import unittest

import driver
from honest_cases import HEAD, PROBLEMS, problem

HELD = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 3)
        self.bn = nn.BatchNorm1d(3)

    def forward(self, x):
        return self.bn(self.a(x))
"""


class Reference(unittest.TestCase):
    def opened(self, text, *options, **sides):
        folder = driver.Folder()
        self.addCleanup(folder.made.cleanup)
        side = driver.reference(folder.file("problem.py", text), *options, **sides)
        self.addCleanup(side.close)
        return side, side.hear()

    def refused(self, text, judgement, word, *options):
        _, hello = self.opened(text, *options)
        self.assertEqual((hello["op"], hello["judgement"]), ("failed", judgement), hello)
        self.assertIn(word, hello["reason"])
        self.assertNotIn("\n", hello["reason"])

    def test_hello(self):
        text = problem(HELD, "torch.randn(5, 4), 3, [torch.zeros(2, dtype=torch.long)]")
        side, hello = self.opened(text.replace("def forward(self, x)", "def forward(self, x, n, y)"))
        self.assertEqual((hello["side"], hello["mode"], hello["is_random"], hello["device"]),
                         ("reference", "as_constructed", False, driver.DEVICE))
        self.assertEqual(hello["problem_sha256"], hashlib.sha256(text.replace("def forward(self, x)",
            "def forward(self, x, n, y)").encode()).hexdigest())
        self.assertEqual(hello["inputs"]["v"][0], {"t": "tensor", "dtype": "float32", "shape": [5, 4], "bytes": 80})
        self.assertEqual(hello["inputs"]["v"][2]["v"][0]["dtype"], "int64")
        self.assertEqual(hello["init_args"], {"t": "list", "v": []})

    def test_hello_again_for_a_new_comparator(self):
        side, hello = self.opened(problem("class Model(nn.Module):\n    def __init__(self, w):\n"
            "        super().__init__()\n        self.w = w\n\n"
                                          "    def forward(self, x):\n        return x * self.w\n",
                                          init="torch.arange(6.0)"))
        self.assertEqual(driver.numbers(hello["init_args"]["v"][0]), [0, 1, 2, 3, 4, 5])
        self.assertEqual(side.ask({"op": "hello"}), hello)
        self.assertEqual(driver.ask_reference(side)["op"], "answer")

    def test_same_seeds_same_answer(self):
        side, _ = self.opened(problem(HELD, "torch.randn(5, 4)"))
        first, other = driver.ask_reference(side, 1, 5, 6), driver.ask_reference(side, 2, 7, 6)
        again = driver.ask_reference(side, 1, 5, 6)
        self.assertEqual(first, again)
        self.assertEqual(first["inputs"], other["inputs"])
        self.assertNotEqual(first["outputs"], other["outputs"])
        self.assertNotEqual(driver.ask_reference(side, 3, 5, 8)["inputs"], first["inputs"])
        self.assertEqual(driver.ask_reference(side, 4, 2**63 + 5, 2**64 - 1)["op"], "answer")

    def test_parameters_by_name_and_digest(self):
        side, _ = self.opened(problem(HELD, "torch.randn(5, 4)"))
        answer = driver.ask_reference(side, 1, 5, 6, "plain+affine")
        tree = side.ask({"op": "parameters", "id": 2, "init_seed": 5, "style": "plain+affine"})["tree"]
        self.assertEqual([x["v"] for x in tree["k"]], ["a.weight", "a.bias", "bn.weight", "bn.bias", "bn.running_mean",
            "bn.running_var",
                                                      "bn.num_batches_tracked"])
        self.assertEqual([x["name"] for x in answer["parameters"]], [x["v"] for x in tree["k"]])
        self.assertEqual([x["sha256"] for x in answer["parameters"]],
                         [hashlib.sha256(x["data"]).hexdigest() for x in tree["v"]])

    def test_affine_parameters_leave_their_defaults_near(self):
        side, _ = self.opened(problem(HELD, "torch.randn(5, 4)"))
        plain, affine = ({k["v"]: driver.numbers(v) for k, v in zip(t["k"], t["v"])} for t in (
            side.ask({"op": "parameters", "id": 2, "init_seed": 5, "style": x})["tree"] for x in ("plain",
            "plain+affine")))
        self.assertEqual(plain["a.weight"], affine["a.weight"])
        self.assertEqual((plain["bn.weight"], plain["bn.bias"]), ([1, 1, 1], [0, 0, 0]))
        for name, near in (("bn.weight", 1), ("bn.bias", 0)):
            self.assertEqual(len({x for x in affine[name] if x != near and abs(x - near) <= 0.25}), 3)
        self.assertEqual(affine["bn.running_mean"], [0, 0, 0])

    def test_styles(self):
        side, _ = self.opened(problem("class Model(nn.Module):\n    def forward(self, x, i, b, f):\n"
                                      "        return x, i, b, f\n",
                                      "torch.randn(6), torch.arange(4), torch.tensor([True]), 0.5"))
        plain, zeros, constant, scaled = (driver.ask_reference(side, 1, 5, 6, x)["inputs"]["v"] for x in ("plain",
            "zeros", "constant", "scaled"))
        self.assertEqual(driver.numbers(zeros[0]), [0] * 6)
        self.assertEqual(len(set(driver.numbers(constant[0]))), 1)
        self.assertNotEqual(driver.numbers(constant[0])[0], 0)
        ratios = {x / y for x, y in zip(driver.numbers(scaled[0]), driver.numbers(plain[0]))}
        self.assertEqual(len(ratios), 1)
        self.assertIn(ratios.pop(), [2.0**x for x in (-3, -2, -1, 1, 2, 3)])
        for one in (zeros, constant, scaled):
            self.assertEqual(one[1:], plain[1:])

    def test_unknown_style_is_a_failed_answer(self):
        side, _ = self.opened(problem("scale"))
        self.assertEqual(driver.ask_reference(side, 9, 5, 6, "strange")["op"], "failed")
        self.assertEqual(driver.ask_reference(side, 9)["op"], "answer")

    def test_dropout_turns_to_eval(self):
        text = "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n" \
               "        self.d = nn.Dropout(0.5)\n\n" \
               "    def forward(self, x):\n        return self.d(x)\n"
        _, hello = self.opened(problem(text, "torch.randn(50)"))
        self.assertEqual((hello["mode"], hello["is_random"]), ("eval", True))

    def test_random_in_any_mode_is_not_judgeable(self):
        self.refused(problem("class Model(nn.Module):\n    def forward(self, x):\n"
                             "        return x + torch.randn_like(x)\n"), "not_judgeable", "same inputs")

    def test_draws_that_do_not_matter_are_fine(self):
        _, hello = self.opened(problem("class Model(nn.Module):\n    def forward(self, x):\n"
                                       "        torch.randn(3)\n        return x + 1\n"))
        self.assertEqual((hello["op"], hello["mode"], hello["is_random"]), ("hello", "as_constructed", False))

    def test_eval_by_option(self):
        side, hello = self.opened(problem(HELD, "torch.randn(5, 4)"), "--mode", "eval")
        self.assertEqual((hello["mode"], hello["is_random"]), ("eval", False))

    def test_running_statistics_do_not_wander(self):
        side, _ = self.opened(problem(HELD, "torch.randn(5, 4)"))
        answers = [driver.ask_reference(side, 1, 5, 6) for _ in range(3)]
        self.assertEqual(answers[0], answers[2])

    def test_exact_is_null_where_there_is_no_float64(self):
        side, _ = self.opened(problem("class Model(nn.Module):\n    def forward(self, x):\n"
                                      "        return x.to(torch.float32).view(torch.int32).float()\n"))
        self.assertEqual(driver.ask_reference(side)["op"], "answer")
        side, _ = self.opened(problem("class Model(nn.Module):\n    def forward(self, x):\n"
                                      "        assert x.dtype == torch.float32\n        return x\n"))
        self.assertIsNone(driver.ask_reference(side)["exact"])
        side, _ = self.opened(problem("class Model(nn.Module):\n    def forward(self, x):\n        return x\n",
                                      "torch.arange(3)"))
        self.assertIsNone(driver.ask_reference(side)["exact"])

    def test_hidden_state_outside_buffers_follows_to_float64(self):
        side, _ = self.opened(problem("class Model(nn.Module):\n    def __init__(self):\n"
                                      "        super().__init__()\n        self.h = torch.randn(3, 3)\n"
                                      "        self.l = [torch.randn(3, 3)]\n\n    def forward(self, x):\n"
                                      "        return x @ self.h @ self.l[0]\n", "torch.randn(2, 3)"))
        self.assertIsNotNone(driver.ask_reference(side)["exact"])

    def test_complex_parameters_stay_complex_in_float64(self):
        side, _ = self.opened(problem("class Model(nn.Module):\n    def __init__(self):\n"
                                      "        super().__init__()\n"
                                      "        self.w = nn.Parameter(torch.randn(3, dtype=torch.complex64))\n\n"
                                      "    def forward(self, x):\n        return x * self.w\n",
                                      "torch.randn(3, dtype=torch.complex64)"))
        answer = driver.ask_reference(side)
        self.assertEqual(answer["exact"]["dtype"], "complex128")
        for x, y in zip(driver.numbers(answer["outputs"]), driver.numbers(answer["exact"])):
            self.assertAlmostEqual(x, y, 5)

    def test_large_problems_are_refused_before_they_allocate(self):
        text = problem("class Model(nn.Module):\n    def forward(self, x):\n        return x + 1\n",
                       "torch.rand(1 << 20, 1 << 20)")
        self.refused(text, "too_large", "GiB")
        self.refused(problem("class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                             "        self.fc = nn.Linear(1 << 20, 1 << 20)\n\n"
                             "    def forward(self, x):\n        return self.fc(x)\n", "torch.rand(1, 1 << 20)"),
                             "too_large", "GiB")
        self.refused(problem("class Model(nn.Module):\n    def forward(self, x):\n"
                             "        return x.unsqueeze(0) * x.unsqueeze(1)\n", "torch.randn(6 << 20)"),
                     "too_large", "GiB")

    def test_limit_counts_inputs_parameters_and_outputs(self):
        text = problem("class Model(nn.Module):\n    def forward(self, x):\n        return x + 1\n",
                       "torch.rand(1 << 18)")
        side, _ = self.opened(text, "--limit", str(3 << 20))
        answer = driver.ask_reference(side)
        self.assertEqual((answer["op"], answer["exact"]), ("answer", None))  # float64 would take three times as much
        side, _ = self.opened(text, "--limit", str(6 << 20))
        self.assertIsNotNone(driver.ask_reference(side)["exact"])
        self.refused(text, "too_large", "GiB", "--limit", str(1 << 19))
        self.refused(text, "too_large", "GiB", "--limit", str(3 << 19))

    def test_unfit_problems(self):
        good = problem("scale")
        self.refused(good.replace("class Model(", "class Other("), "problem_failed", "Model")
        self.refused(good.replace("def get_inputs", "def inputs"), "problem_failed", "get_inputs")
        self.refused(good.replace("[torch.randn(4, 6)]", "3"), "problem_failed", "list")
        self.refused(good.replace("[2.5]", "[]"), "problem_failed", "TypeError")
        self.refused(good.replace("x * self.factor", "x @ x"), "problem_failed", "RuntimeError")
        self.refused("import nothing_like_it\n" + good, "problem_failed", "ModuleNotFoundError")

    def test_main_guard_and_annotations(self):
        _, hello = self.opened("from __future__ import annotations\n" + HEAD + "@dataclasses.dataclass\nclass C:\n"
            "    n: int = 3\n" +
                               "\n".join(PROBLEMS["scale"][:1]) + "\ndef get_inputs():\n"
                               "    return [torch.ones(C().n)]\n\ndef get_init_inputs():\n"
                               "    return [2.0]\n\nif __name__ == '__main__':\n    raise SystemExit(3)\n")
        self.assertEqual(hello["op"], "hello")

    def test_precision_is_set_back_before_each_question(self):
        text = problem("class Model(nn.Module):\n    def forward(self, x):\n"
                       "        was = torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision()\n"
                       "        torch.backends.cudnn.allow_tf32 = True\n"
                       "        torch.set_float32_matmul_precision('medium')\n        return was\n")
        side, _ = self.opened(text)
        self.assertEqual([x["v"] for x in driver.ask_reference(side)["outputs"]["v"]], [False, "highest"])
        self.assertEqual([x["v"] for x in driver.ask_reference(side)["outputs"]["v"]], [False, "highest"])
        side, _ = self.opened(text, "--allow-tf32")
        driver.ask_reference(side)
        self.assertEqual([x["v"] for x in driver.ask_reference(side)["outputs"]["v"]], [True, "medium"])

    def test_cold(self):
        side, hello = self.opened(problem("block"), is_cold=True)
        self.assertEqual(driver.ask_reference(side)["op"], "answer")
        self.assertTrue(side.close())

    def test_every_example(self):
        folder = os.path.join(driver.SOURCE, "examples")
        for name in ("swish_residual", "softmax_rows", "linear_gelu", "conv_bn_pool", "causal_attention", "small_mlp",
                     "toy/moving_average"):
            side = driver.reference(os.path.join(folder, name + ".py"))
            with self.subTest(name), side:
                self.assertEqual(side.hear()["op"], "hello")
                answer = driver.ask_reference(side, style="plain+affine")
                self.assertEqual(answer["exact"] is None, name.startswith("toy"))
                if answer["exact"]:
                    eager, exact = driver.numbers(answer["outputs"]), driver.numbers(answer["exact"])
                    self.assertLess(max(abs(x - y) for x, y in zip(eager, exact)), 1e-5)
                    self.assertNotEqual(eager, exact)
