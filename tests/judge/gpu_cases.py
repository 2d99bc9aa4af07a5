# SPDX-License-Identifier: Apache-2.0
"""Exploits that need a device, by their numbers in docs/exploits.md: REGATTA_JUDGE_DEVICE=cuda."""
import unittest

import driver
from honest_cases import problem
from triton_cases import PLAIN, scaled


@unittest.skipIf(driver.DEVICE == "cpu", "SKIPPED: REGATTA_JUDGE_DEVICE is not cuda")
class Gpu(unittest.TestCase):
    def judged(self, function, more=""):
        verdict = driver.judged(problem("scale"), scaled(function, more))
        self.assertIsNone(verdict.failed)
        return verdict

    def wrong(self, function, more=""):
        verdict = self.judged(function, more)
        self.assertGreater(max(verdict.plain), 0.01)

    def test_07_freed_memory_of_the_allocator(self):
        self.wrong("def kernel_function(x, factor):\n    held = [torch.empty_like(x) for _ in range(256)]\n    del held\n"
                   "    return torch.empty_like(x)\n")
        self.wrong("def kernel_function(x, factor):\n    torch.cuda.empty_cache()\n"
                   "    return torch.empty(x.numel() << 16, device=x.device)[-x.numel():].view(x.shape).clone()\n")

    def test_09_inputs_set_to_zero(self):
        self.wrong("def kernel_function(x, factor):\n    x.zero_()\n    return x\n")
        self.wrong(PLAIN.replace("    return y", "    torch.cuda.synchronize()\n    x.zero_()\n    return y").replace(
            "x = x.contiguous()", "pass"))

    def test_14_work_on_another_stream(self):
        """Outputs are read at once: what is not there yet is wrong. What is there, is right."""
        late = PLAIN.replace("    scale_kernel", "    y.zero_()\n    torch.cuda.synchronize()\n    side = torch.cuda.Stream()\n"
                             "    KEPT.append((side, x, y))\n    with torch.cuda.stream(side):\n        torch.cuda._sleep(1 << 30)\n"
                             "        scale_kernel")
        self.wrong(late, "KEPT = []\n")
        in_time = late.replace("    return y", "    side.synchronize()\n    return y").replace("1 << 30", "1 << 20")
        self.assertTrue(self.judged(in_time, "KEPT = []\n").is_correct)

    def test_21_a_fallback_is_seen_beside_compiled_kernels(self):
        verdict = self.judged(PLAIN.replace("return y", "return (torch.eye(y.shape[0], device=y.device) @ y)"))
        self.assertTrue(verdict.is_correct)
        self.assertEqual(verdict.answers[0].get("torch_ops"), "aten::mm")
        self.assertNotIn("torch_ops", self.judged(PLAIN).answers[0])
