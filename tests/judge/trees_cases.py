# SPDX-License-Identifier: Apache-2.0
"""Every kind of value, from a problem over both channels and back."""
import struct
import unittest

import driver

PROBLEM = """
import collections, dataclasses, math
import torch
Pair = collections.namedtuple("Pair", ["first", "second"])

@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    extra: object = None

class Model(torch.nn.Module):
    def forward(self, *inputs):
        return [VALUE]

def get_inputs():
    return [INPUT]

def get_init_inputs():
    return []
"""


def outputs_of(value, given="torch.ones(2)"):
    with driver.Folder() as folder:
        path = folder.file("problem.py", PROBLEM.replace("VALUE", value).replace("INPUT", given))
        with driver.reference(path) as side:
            hello = side.hear()
            if hello["op"] != "hello":
                return hello
            answer = driver.ask_reference(side)
            return answer["outputs"]["v"][0] if answer["op"] == "answer" else answer


class Trees(unittest.TestCase):
    def values(self, value, dtype, shape, wanted):
        node = outputs_of(value)
        self.assertEqual((node["t"], node.get("dtype"), node.get("shape")), ("tensor", dtype, shape), node)
        if wanted is not None:
            self.assertEqual(driver.numbers(node), wanted)

    def test_tensors_of_every_dtype(self):
        for dtype in ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "uint16",
                      "uint32", "uint64"):
            with self.subTest(dtype):
                self.values("torch.tensor([1, 2, 3]).to(torch.%s)" % dtype, dtype, [3], [1, 2, 3])
        self.values("torch.tensor([True, False])", "bool", [2], [True, False])
        self.values("torch.tensor([1 + 2j, 3 - 4j])", "complex64", [2], [1, 2, 3, -4])
        self.values("torch.tensor([1 + 2j], dtype=torch.complex128)", "complex128", [1], [1, 2])
        for dtype, one in (("float8_e4m3fn", 0x38), ("float8_e5m2", 0x3C)):
            self.assertEqual(outputs_of("torch.ones(2).to(torch.%s)" % dtype)["data"], bytes([one, one]))

    def test_layouts_are_sent_row_by_row(self):
        line = "torch.arange(6.0).view(2, 3)"
        self.values(line + ".t()", "float32", [3, 2], [0, 3, 1, 4, 2, 5])
        self.values(line + "[:, 1]", "float32", [2], [1, 4])
        self.values(line + "[1:]", "float32", [1, 3], [3, 4, 5])
        self.values("torch.arange(2.0).view(2, 1).expand(2, 3)", "float32", [2, 3], [0, 0, 0, 1, 1, 1])
        self.values("torch.arange(16.0).view(1, 4, 2, 2).contiguous(memory_format=torch.channels_last)", "float32",
                    [1, 4, 2, 2], [float(x) for x in range(16)])
        self.values("torch.tensor(2.5)", "float32", [], [2.5])
        self.values("torch.empty(0, 3)", "float32", [0, 3], [])
        self.values("torch._neg_view(torch.tensor([1.0, -2.0]))", "float32", [2], [-1, 2])
        self.values("torch.tensor([1 + 2j]).conj()", "complex64", [1], [1, -2])
        self.values("torch.tensor([1 + 2j]).conj().imag", "float32", [1], [-2])
        self.values("torch.nn.Parameter(torch.ones(2))", "float32", [2], [1, 1])

    def test_inference_and_graph_tensors(self):
        self.values("torch.inference_mode()(lambda: torch.ones(2))()", "float32", [2], [1, 1])
        self.values("torch.enable_grad()(lambda: torch.ones(2, requires_grad=True) * 2)()", "float32", [2], [2, 2])

    def test_large_tensors_come_in_pieces(self):
        count = 3 * driver.PIECE + 5
        node = outputs_of("torch.arange(%d, dtype=torch.float32)" % count)
        self.assertEqual(driver.numbers(node), [float(x) for x in range(count)])
        turned = outputs_of("torch.arange(%d, dtype=torch.int32).view(2, -1).t()" % (2 * driver.PIECE))
        half = driver.PIECE
        self.assertEqual(driver.numbers(turned)[:4], [0, half, 1, half + 1])

    def test_plain_values(self):
        for value, wanted in (("None", {"t": "none"}), ("True", {"t": "bool", "v": True}),
                              ("-12", {"t": "int", "v": "-12"}),
                              ("10 ** 30", {"t": "int", "v": "1" + 30 * "0"}),
                              ("1.5", {"t": "float", "v": "0x1.8000000000000p+0"}),
                              ("'aß'", {"t": "str", "v": "aß"}), ("float('nan')", {"t": "float", "v": "nan"}),
                              ("-math.inf", {"t": "float", "v": "-inf"})):
            self.assertEqual(outputs_of(value), wanted)

    def test_containers(self):
        one = {"t": "int", "v": "1"}
        self.assertEqual(outputs_of("(1, [1])"), {"t": "tuple", "v": [one, {"t": "list", "v": [one]}]})
        self.assertEqual(outputs_of("{'b': 1, 3: 1}"), {"t": "dict",
            "k": [{"t": "str", "v": "b"}, {"t": "int", "v": "3"}],
                                                       "v": [one, one]})
        self.assertEqual(outputs_of("collections.OrderedDict(a=1)")["t"], "dict")
        self.assertEqual(outputs_of("Pair(1, 1)"), {"t": "record", "name": "Pair", "f": ["first", "second"],
            "v": [one, one]})
        self.assertEqual(outputs_of("Output(1)"), {"t": "record", "name": "Output", "f": ["logits", "extra"],
                                                  "v": [one, {"t": "none"}]})
        self.assertEqual(outputs_of("torch.Size([1])"), {"t": "tuple", "v": [one]})

    def test_what_is_no_plain_value_is_unknown(self):
        for value in ("{1}", "object()", "1j", "torch.float32", "torch.eye(2).to_sparse()",
                      "torch.ones(2, device='meta')",
                      "torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.quint8)", "b'x'", "10 ** 5000"):
            with self.subTest(value):
                self.assertEqual(outputs_of(value)["t"], "unknown")

    def test_too_deep_and_too_many(self):
        self.assertEqual(outputs_of("(lambda f: f(f, 40))(lambda f, n: [f(f, n - 1)] if n else 1)")["judgement"],
                         "not_judgeable")
        self.assertEqual(outputs_of("list(range(5000))")["judgement"], "not_judgeable")
        self.assertEqual(outputs_of("(lambda x: (x.append(x), x)[1])([])")["judgement"], "not_judgeable")

    def test_inputs_reach_the_candidate_as_they_were(self):
        """A candidate that returns its inputs sends the very same tree."""
        given = "[torch.ones(2, 2).t(), 3, 2.5, None, True, 'x'], (torch.tensor(1),), {'a': torch.zeros(0)}, " \
                "Pair(1, torch.ones(1)), " \
                "Output(torch.ones(1, dtype=torch.bfloat16))"
        text = "class ModelNew:\n    def forward(self, *inputs):\n        return inputs\n" \
               "def kernel_function(*inputs):\n    return inputs\n"
        verdict = driver.judged(PROBLEM.replace("[VALUE]", "inputs").replace("INPUT", given), text,
                                styles=("plain", "scaled", "zeros"))
        self.assertTrue(verdict.is_correct, verdict.failed or verdict.plain)
        self.assertEqual(verdict.answers[0]["outputs"]["v"][3]["name"], "Pair")

    def test_exact_is_float64_in_pieces_beside_eager(self):
        problem = PROBLEM.replace("[VALUE]", "inputs[0] / 3, inputs[0] > 0, 7").replace(
            "INPUT", "torch.rand(%d)" % (driver.PIECE + 3))
        with driver.Folder() as folder, driver.reference(folder.file("problem.py", problem)) as side:
            side.hear()
            answer = driver.ask_reference(side)
        eager, exact = answer["outputs"]["v"], answer["exact"]["v"]
        self.assertEqual((eager[0]["dtype"], exact[0]["dtype"], exact[1], exact[2]["v"]),
                         ("float32", "float64", {"t": "none"}, "7"))
        x = driver.numbers(answer["inputs"]["v"][0])
        self.assertEqual(driver.numbers(exact[0]), [v / 3 for v in x])
        f32 = struct.Struct("<f")
        self.assertEqual(driver.numbers(eager[0])[-1], f32.unpack(f32.pack(x[-1] / 3))[0])
        self.assertEqual(driver.numbers(eager[1])[:3], [v > 0 for v in x[:3]])
