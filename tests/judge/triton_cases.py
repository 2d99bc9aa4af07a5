# SPDX-License-Identifier: Apache-2.0
"""Triton candidates under the interpreter: accepted, and evidence of their kernels."""
import unittest

import driver
from honest_cases import HEAD, problem

SCALE = """
import torch
import triton
import triton.language as tl

@triton.jit
def scale_kernel(x_ptr, y_ptr, factor, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < count, other=0.0)
    tl.store(y_ptr + at, x * factor, mask=at < count)
"""
MODEL = """
class ModelNew(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return kernel_function(x, self.factor)
"""
PLAIN = """
def kernel_function(x, factor):
    x = x.contiguous()
    y = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 16),)](x, y, factor, x.numel(), BLOCK=16)
    return y
"""


def scaled(function, more=""):
    return SCALE + more + function + MODEL


class Triton(unittest.TestCase):
    def judged(self, text, evidence="seen", problem_text=None, **options):
        verdict = driver.judged(problem_text or problem("scale"), text, **options)
        self.assertIsNone(verdict.failed)
        self.assertTrue(verdict.is_correct, (verdict.plain, verdict.affine))
        self.assertEqual({x["kernel_evidence"] for x in verdict.answers}, {evidence})
        return verdict

    def test_plain_kernel(self):
        verdict = self.judged(scaled(PLAIN))
        self.assertEqual([x["launches"] for x in verdict.answers], [1, 1, 1])
        self.assertEqual([x["output_launched"] for x in verdict.answers], [True, True, True])
        self.assertIn("outputs", verdict.answers[0]["function"])
        self.assertIn(verdict.hello["engine"], ("triton-interpreter", "cuda-sm_90"))

    def test_cold_process(self):
        self.judged(scaled(PLAIN), is_cold=True)

    def test_torch_fallback_has_no_launch(self):
        verdict = self.judged(scaled("def kernel_function(x, factor):\n    return x * factor\n"), "absent")
        self.assertEqual(verdict.answers[0]["launches"], 0)

    def test_launch_for_show(self):
        self.judged(scaled(PLAIN.replace("return y", "return x * factor")), "inconsistent")

    def test_launch_for_show_before_a_copy_into_its_output(self):
        self.judged(scaled(PLAIN.replace("return y", "y.copy_(x * factor)\n    return y")), "inconsistent")

    def test_result_kept_between_calls(self):
        self.judged(scaled(PLAIN.replace("    x = x",
                                         "    key = float(x.sum())\n    if key in KEPT:\n"
                                         "        return KEPT[key]\n    x = x").replace(
            "    return y", "    KEPT[key] = y.clone()\n    return y"), "KEPT = {}\n"), "inconsistent")

    def test_output_buffer_used_again_is_no_fraud(self):
        self.judged(scaled(PLAIN.replace("y = torch.empty_like(x)",
                                         "y = BUFFER.setdefault(x.shape, torch.empty_like(x))"), "BUFFER = {}\n"))

    def test_scratch_buffer_used_again_and_copied_is_no_fraud(self):
        for copied in ("y.clone()", "y.double().to(x.dtype)", "torch.cat([y[:2], y[2:]])"):
            self.judged(scaled(PLAIN.replace("y = torch.empty_like(x)", "y = BUFFER.setdefault(x.shape, torch.empty_like(x))").replace(
                "return y", "return " + copied), "BUFFER = {}\n"))

    def test_kernel_in_place(self):
        text = "class Model(torch.nn.Module):\n    def __init__(self, f):\n        super().__init__()\n" \
               "        self.f = f\n\n" \
               "    def forward(self, x):\n        x *= self.f\n        return x\n"
        self.judged(scaled(PLAIN.replace("y = torch.empty_like(x)", "y = x")), problem_text=problem(text, init="2.5"))

    def test_kernel_that_returns_nothing(self):
        text = "class Model(torch.nn.Module):\n    def __init__(self, f):\n        super().__init__()\n" \
               "        self.f = f\n\n" \
               "    def forward(self, x):\n        x *= self.f\n"
        self.judged(scaled(PLAIN.replace("y = torch.empty_like(x)", "y = x").replace("return y", "return None")),
                    problem_text=problem(text, init="2.5"))

    def test_conversion_after_the_launch(self):
        verdict = self.judged(scaled(PLAIN.replace("torch.empty_like(x)",
            "torch.empty(x.shape, dtype=torch.float64, device=x.device)").replace(
            "return y", "return y.to(x.dtype).view(x.shape)")))
        self.assertFalse(verdict.answers[0]["output_launched"])

    def test_loop_until_the_kernel_says_stop(self):
        self.judged(scaled("""
@triton.jit
def count_kernel(n_ptr):
    tl.store(n_ptr, tl.load(n_ptr) + 1)

def kernel_function(x, factor):
    x, y, n = x.contiguous(), torch.empty_like(x), torch.zeros(1, dtype=torch.int32, device=x.device)
    while int(n) < 3:
        count_kernel[(1,)](n)
    scale_kernel[(triton.cdiv(x.numel(), 16),)](x, y, factor, x.numel(), BLOCK=16)
    return y
"""))

    def test_garbage_that_breaks_what_follows(self):
        self.judged(scaled("""
@triton.jit
def index_kernel(n_ptr):
    tl.store(n_ptr, 1)

def kernel_function(x, factor):
    x, y, n = x.contiguous(), torch.empty_like(x), torch.full((1,), 1 << 40, device=x.device)
    index_kernel[(1,)](n)
    factor = [0.0, factor][int(n)]
    scale_kernel[(triton.cdiv(x.numel(), 16),)](x, y, factor, x.numel(), BLOCK=16)
    return y
"""))

    def test_autotune_heuristics_and_keywords(self):
        tuned = SCALE.replace("@triton.jit\n", "@triton.heuristics({'BLOCK': lambda args: 16})\n@triton.jit\n")
        self.judged(tuned + PLAIN.replace(", BLOCK=16", "").replace("(x, y, factor, x.numel())",
            "(x_ptr=x, y_ptr=y, factor=factor, count=x.numel())") + MODEL)
        self.judged(SCALE.replace("@triton.jit\n",
                                  "@triton.autotune([triton.Config({'BLOCK': 16})], key=['count'])\n@triton.jit\n") +
                    PLAIN.replace(", BLOCK=16", "") + MODEL)

    def test_matrix_product_with_parameters(self):
        text = """
class Model(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.fc = nn.Linear(n, m)

    def forward(self, x):
        return self.fc(x)
"""
        self.judged("""
import torch
import triton
import triton.language as tl

@triton.jit
def linear_kernel(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        k = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row[:, None] * K + k[None, :], mask=(row[:, None] < M) & (k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + col[None, :] * K + k[:, None], mask=(col[None, :] < N) & (k[:, None] < K), other=0.0)
        acc += tl.dot(x, w, input_precision="ieee")
    acc += tl.load(b_ptr + col, mask=col < N, other=0.0)[None, :]
    tl.store(y_ptr + row[:, None] * N + col[None, :], acc, mask=(row[:, None] < M) & (col[None, :] < N))

def kernel_function(x, fc_weight, fc_bias):
    y = torch.empty((x.shape[0], fc_weight.shape[0]), device=x.device, dtype=x.dtype)
    linear_kernel[(triton.cdiv(y.shape[0], 16), triton.cdiv(y.shape[1], 16))](x, fc_weight, fc_bias, y, *y.shape,
            x.shape[1], BLOCK=16)
    return y

class ModelNew(torch.nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.fc = torch.nn.Linear(n, m)

    def forward(self, x):
        return kernel_function(x, fc_weight=self.fc.weight, fc_bias=self.fc.bias)
""", problem_text=problem(text, "torch.randn(20, 18)", "18, 17"))

    def test_weights_packed_by_a_kernel_at_the_first_forward(self):
        self.judged(SCALE + PLAIN + """
class ModelNew(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor, self.packed = torch.full((1,), factor), None

    def forward(self, x):
        if self.packed is None:
            self.packed = kernel_function(self.factor, 1.0)
        return kernel_function(x, float(self.packed))
""")

    def test_an_error_in_a_kernel_shows_the_candidates_line_only(self):
        verdict = driver.judged(problem("scale"), scaled(PLAIN).replace("x * factor, mask", "x * factr, mask"))
        failed = verdict.failed
        self.assertEqual(failed["judgement"], "raised")
        self.assertIn("factr", failed["detail"])
        self.assertIn("scale_kernel[", failed["detail"])
        self.assertNotIn("candidate_side", failed["detail"])
        self.assertNotIn("site-packages", failed["detail"])

    def test_extract_is_not_looked_at(self):
        verdict = driver.judged(problem("scale"), problem("scale"), stage="extract")
        self.assertEqual({x["kernel_evidence"] for x in verdict.answers}, {"not_looked"})
