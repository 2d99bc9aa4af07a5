# SPDX-License-Identifier: Apache-2.0
"""Honest candidates of many styles, none of which may be refused. What careless judges refuse, one by one."""
import unittest

import driver

HEAD = """
import collections, dataclasses, math, random
import torch
import torch.nn as nn
import torch.nn.functional as F
"""
END = """
def get_inputs():
    return [%s]

def get_init_inputs():
    return [%s]
"""
# name -> (class Model, inputs, init inputs)
PROBLEMS = {
    "block": ("""
class Model(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.fc = nn.Linear(width, out)
        self.norm = nn.LayerNorm(out)

    def forward(self, x):
        return torch.relu(self.norm(self.fc(x)))
""", "torch.randn(5, 6)", "6, 7"),
    "scale": ("""
class Model(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x * self.factor
""", "torch.randn(4, 6)", "2.5"),
}


def problem(name_or_forward, inputs="torch.randn(4, 6)", init=""):
    if name_or_forward in PROBLEMS:
        text, inputs, init = PROBLEMS[name_or_forward]
        return HEAD + text + END % (inputs, init)
    return HEAD + name_or_forward + END % (inputs, init)


def model(forward, signature="x", before=""):
    """A Model without parameters."""
    return before + "\nclass Model(nn.Module):\n    def forward(self, %s):\n        %s\n" % (signature,
        forward.replace("\n", "\n        "))


def renamed(text):
    """The problem's own class as a candidate."""
    return HEAD + text.replace("class Model(",
                               "class ModelNew(") + "\ndef kernel_function(*args, **kwargs):\n" \
                               "    raise TypeError('not in use')\n"


def block(body, head="", constructor="", forward=""):
    """A candidate for the problem `block`."""
    made = constructor or "self.fc = nn.Linear(width, out)\n        self.norm = nn.LayerNorm(out)"
    return head + HEAD + """
%s

class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        %s

    def forward(self, x):
        %s
""" % (body, made,
       forward or "return kernel_function(x, fc_weight=self.fc.weight, fc_bias=self.fc.bias, "
                  "norm_weight=self.norm.weight, norm_bias=self.norm.bias)")


WHOLE = """
def kernel_function(x, fc_weight, fc_bias, norm_weight, norm_bias):
    y = x @ fc_weight.t() + fc_bias
    y = (y - y.mean(-1, keepdim=True)) / torch.sqrt(y.var(-1, unbiased=False, keepdim=True) + 1e-5)
    return (y * norm_weight + norm_bias).clamp(min=0)
"""


class Honest(unittest.TestCase):
    def accepted(self, problem_text, text, **options):
        verdict = driver.judged(problem_text, text, **options)
        self.assertIsNone(verdict.failed)
        self.assertTrue(verdict.is_correct, (verdict.plain, verdict.affine))
        return verdict

    def same(self, model_text, inputs="torch.randn(4, 6)", init="", other=None, **options):
        """The candidate is the model itself, or `other`."""
        return self.accepted(problem(model_text, inputs, init), renamed(other or model_text), **options)

    # Contracts and files

    def test_function_by_contract_is_called_and_agrees(self):
        verdict = self.accepted(problem("block"), block(WHOLE))
        self.assertIn("outputs", verdict.answers[0]["function"])
        self.assertEqual(verdict.marks, [])

    def test_function_that_takes_weights_as_any_keywords(self):
        verdict = self.accepted(problem("block"), block(WHOLE.replace(
            "(x, fc_weight, fc_bias, norm_weight, norm_bias):",
            "(x, **w):\n"
            "    fc_weight, fc_bias, norm_weight, norm_bias = (w[k] for k in ('fc_weight', 'fc_bias', "
            "'norm_weight', 'norm_bias'))")))
        self.assertIn("outputs", verdict.answers[0]["function"])

    def test_function_with_other_names_is_not_called(self):
        verdict = self.accepted(problem("block"), block(WHOLE.replace("fc_weight", "w"), forward=(
            "return kernel_function(x, self.fc.weight, self.fc.bias, self.norm.weight, self.norm.bias)")))
        self.assertIn("`w`", verdict.answers[0]["function"]["refused"])

    def test_hyper_parameters_as_forward_gives_them(self):
        text = HEAD + """
def kernel_function(x, factor=1.0):
    return x * factor

class ModelNew(nn.Module):
    def __init__(self, amount):
        super().__init__()
        self.amount = amount

    def forward(self, x):
        return kernel_function(x, factor=self.amount)
"""
        verdict = self.accepted(problem("scale"), text)
        self.assertIn("outputs", verdict.answers[0]["function"])

    def test_postponed_annotations_and_dataclasses(self):
        self.accepted(problem("block"), block(WHOLE + """
@dataclasses.dataclass
class Tile:
    rows: int = 16
    cols: "int" = dataclasses.field(default_factory=lambda: 16)
TILE = Tile()
""", head="from __future__ import annotations\n"))

    def test_self_test_under_the_main_guard_is_not_run(self):
        self.accepted(problem("block"),
                      block(WHOLE) + "\nif __name__ == '__main__':\n    import problem\n    raise SystemExit(3)\n")

    def test_other_file_names(self):
        for name in ("solution.py", "json.py", "9 lives.py"):
            self.accepted(problem("scale"), renamed(PROBLEMS["scale"][0]), styles=("plain",), name=name)

    def test_modules_named_like_ours(self):
        self.accepted(problem("block"),
                      block(WHOLE, head="try:\n    import tree\n    raise SystemExit('ours')\n"
                            "except ImportError:\n    pass\n"))

    def test_prints_much(self):
        self.accepted(problem("block"),
                      block("import sys, os\nprint('x' * 300000)\nos.write(1, b'y' * 200000)\n" + WHOLE.replace(
            "    y = x @", "    print(x, file=sys.stdout)\n    y = x @")))

    def test_extract_has_model_only(self):
        self.accepted(problem("block"), problem("block"), stage="extract")

    def test_class_without_module(self):
        self.accepted(problem("scale"), HEAD + """
def kernel_function(x, factor):
    return x * factor

class ModelNew:
    def __init__(self, factor):
        self.factor = factor

    def forward(self, x):
        return kernel_function(x, self.factor)
""")

    # Weights

    def test_parameters_in_another_order(self):
        verdict = self.accepted(problem(PROBLEMS["block"][0].replace("self.norm = nn.LayerNorm(out)",
            "self.norm = nn.LayerNorm(out)\n        self.two = nn.Linear(out, 3)").replace(
            "return torch.relu(self.norm(self.fc(x)))", "return self.two(torch.relu(self.norm(self.fc(x))))"),
            "torch.randn(5, 6)", "6, 7"), HEAD + """
def kernel_function(x):
    raise TypeError

class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.last = nn.Linear(out, 3)
        self.fc = nn.Linear(width, out)
        self.norm = nn.LayerNorm(out)

    def forward(self, x):
        return self.last(torch.relu(self.norm(self.fc(x))))
""")
        self.assertIn("weights_transplanted", verdict.marks)

    def test_parameters_of_equal_shape_under_other_names(self):
        """In their order, that is."""
        text = "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n" \
               "        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)\n\n" \
               "    def forward(self, x):\n        return self.a(torch.relu(self.b(x)))\n"
        other = text.replace("self.a, self.b = ", "torch.randn(7)\n        self.p, self.q = ").replace("self.a(",
            "self.p(").replace("self.b(", "self.q(")
        verdict = self.same(text, "torch.randn(2, 3)", other=other)
        self.assertEqual(set(verdict.marks), {"weights_transplanted"})

    def test_affine_parameters_made_by_hand(self):
        verdict = self.accepted(problem("block"), block(WHOLE, constructor=(
            "self.fc = nn.Linear(width, out)\n        self.norm = nn.Module()\n"
            "        self.norm.weight = nn.Parameter(torch.ones(out))\n"
            "        self.norm.bias = nn.Parameter(torch.zeros(out))")))
        self.assertEqual(verdict.marks, ["weights_transplanted"])

    def test_weights_packed_in_the_constructor(self):
        verdict = self.accepted(problem("block"), block(
            "def kernel_function(x, packed, bias, w, b):\n"
            "    return F.relu(F.layer_norm(x @ packed + bias, w.shape, w, b))\n",
            constructor="fc, self.norm = nn.Linear(width, out), nn.LayerNorm(out)\n"
                        "        self.packed = fc.weight.detach().t().contiguous()\n"
                        "        self.bias = fc.bias",
                        forward="return kernel_function(x, self.packed, self.bias, self.norm.weight, self.norm.bias)"))
        self.assertEqual(verdict.marks, [])

    def test_weights_packed_at_the_first_forward(self):
        self.accepted(problem("block"), block(
            "def kernel_function(x, packed, bias, w, b):\n"
            "    return F.relu(F.layer_norm(x @ packed + bias, w.shape, w, b))\n",
            constructor="self.fc, self.norm, self.packed = nn.Linear(width, out), nn.LayerNorm(out), None",
            forward="if self.packed is None:\n            self.packed = self.fc.weight.t().contiguous()\n        "
                    "return kernel_function(x, self.packed, self.fc.bias, self.norm.weight, self.norm.bias)"))

    def test_train_mode_batch_norm(self):
        self.same("""
class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.bn = nn.BatchNorm2d(c)

    def forward(self, x):
        return self.bn(x)
""", "torch.randn(3, 4, 5, 5)", "4")

    def test_lists_as_constructor_arguments(self):
        self.same("""
class Model(nn.Module):
    def __init__(self, sizes, names):
        super().__init__()
        first = sizes.pop(0)
        self.fc = nn.Linear(first, sizes[0])
        self.names = names

    def forward(self, x):
        return {k: self.fc(x) for k in self.names}
""", "torch.randn(5, 6)", "[6, 3], ('a', 'b')")

    def test_dropout_is_judged_in_eval(self):
        text = "class Model(nn.Module):\n    def __init__(self, p):\n        super().__init__()\n" \
               "        self.drop = nn.Dropout(p)\n\n" \
               "    def forward(self, x):\n        return self.drop(x) + 1\n"
        self.same(text, "torch.randn(40)", "0.5")

    # Outputs

    def outputs(self, forward, mine, signature="x", inputs="torch.randn(4, 6)", before="", **options):
        self.same(model(forward, signature, before), inputs, other=model(mine, signature, before), **options)

    def test_views_offsets_and_strides(self):
        self.outputs("return x + 1", "y = torch.empty(6, 9)\ny[1:5, 2:8] = x + 1\nreturn y[1:5, 2:8]")
        self.outputs("return x + 1", "return (x + 1).t().contiguous().t()")

    def test_expanded(self):
        self.outputs("return x[:, :1].repeat(1, 3)", "return x[:, :1].expand(4, 3)")

    def test_channels_last(self):
        self.outputs("return x * 2", "return (x * 2).contiguous(memory_format=torch.channels_last)",
                     inputs="torch.randn(2, 3, 4, 5)")

    def test_negative_and_conjugate_bits(self):
        self.outputs("return -x", "return torch._neg_view(x.clone())")
        self.outputs("return torch.conj_physical(x)", "return x.conj()", inputs="torch.randn(3, dtype=torch.complex64)")
        self.outputs("return -x.imag.clone()", "return x.conj().imag", inputs="torch.randn(3, dtype=torch.complex64)")

    def test_inference_and_grad_tensors(self):
        self.outputs("return x * 2", "with torch.inference_mode():\n    return x * 2")
        self.outputs("return x * 2",
                     "with torch.enable_grad():\n"
                     "    return x * torch.full((1,), 2.0, requires_grad=True, device=x.device)")

    def test_scalars_and_empty(self):
        self.outputs("return x.sum(), x[:0], x.sum() > 0", "return x.flatten().sum(), x.new_empty(0, 6), x.sum().gt(0)")

    def test_narrow_dtypes(self):
        self.outputs("return x.half(), x.bfloat16(), (x * 10).to(torch.int8)",
                     "return x.to(torch.float16), x.to(torch.bfloat16), (x * 10).char()",
                     styles=("plain",))
        self.outputs("return x > 0, (x * 9).long(), x.double()",
                     "return 0 < x, (9 * x).to(torch.int64), x.to(torch.float64)", styles=("plain",))

    def test_lists_for_tuples(self):
        self.outputs("return x, (x, 1)", "return [x, [x, 1]]")

    def test_structures(self):
        before = "P = collections.namedtuple('P', 'a b')\n@dataclasses.dataclass\nclass Out:\n    a: object\n" \
                 "    b: object = None\n"
        self.outputs("return P(x, None), Out(x), {'k': x, 2: [True, 'text', 1.5, None]}",
                     "return P(x.clone(), None), Out(x, None), dict(k=x) | {2: [True, 'text', 1.5, None]}",
                     before=before)

    def test_the_same_tensor_twice(self):
        self.outputs("return x, x, x[0]", "y = x.clone()\nreturn y, y, y[0]")

    def test_plain_storage_under_a_subclass(self):
        self.outputs("return x * 2", "return (x * 2).as_subclass(Tagged)",
                     before="class Tagged(torch.Tensor):\n    pass\n")
        self.outputs("return x * 2", "return nn.Parameter(x * 2)")

    def test_output_buffer_used_again(self):
        self.outputs("return x * 2",
                     "y = BUFFER.setdefault(x.device, torch.empty_like(x))\ntorch.mul(x, 2, out=y)\nreturn y",
                     before="BUFFER = {}\n")

    # Inputs

    def test_python_numbers_as_inputs(self):
        self.outputs("return x * a + n if flag else None", "return n + a * x", "x, a, n, flag",
                     "torch.randn(3), 1.5, 7, True")

    def test_integer_and_bool_inputs_keep_their_range(self):
        self.same("class Model(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
                  "        self.e = nn.Embedding(n, 4)\n\n"
                  "    def forward(self, ids, mask):\n        return self.e(ids) * mask.unsqueeze(-1)\n",
                  "torch.randint(0, 9, (7,)), torch.rand(7) > 0.5", "9",
                  styles=("plain", "zeros", "constant", "scaled+affine"))

    def test_tensors_as_constructor_arguments(self):
        self.same("class Model(nn.Module):\n    def __init__(self, w, also):\n        super().__init__()\n"
                  "        self.register_buffer('w', w)\n        w.add_(1)\n"
                  "        self.also = also['t'][0]\n\n    def forward(self, x):\n"
                  "        return x * self.w + self.also\n", init="torch.arange(6.0), {'t': [torch.ones(1)]}")

    def test_nested_inputs(self):
        self.outputs("return pair[0] + d['k'][0]", "return d['k'][0] + pair[0]", "pair, d",
                     "(torch.randn(3), None), {'k': [torch.randn(3)]}")

    def test_problems_that_work_in_place(self):
        self.outputs("x += 1\nreturn x", "return x.add_(1)")
        self.outputs("x.mul_(y)", "x.copy_(x * y)", "x, y", "torch.randn(3), torch.randn(3)")
        self.outputs("cache.append(x)\nreturn x + len(cache)", "cache.append(x)\nreturn x + 1.0", "x, cache",
                     "torch.randn(3), []")

    def test_shared_and_strided_inputs(self):
        self.outputs("return x.view(-1) + y.sum()", "return x.reshape(-1) + y.sum()", "x, y",
                     "torch.randn(2, 3), torch.randn(1, 3).expand(2, 3)")

    def test_inputs_with_lazy_bits(self):
        self.outputs("return x * 2, y + 1", "return 2 * x, 1 + y", "x, y",
                     "torch.randn(3, dtype=torch.complex64).conj(), torch._neg_view(torch.randn(3))")

    def test_complex_parameters(self):
        self.same("class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                  "        self.w = nn.Parameter(torch.randn(3, dtype=torch.complex64))\n\n"
                  "    def forward(self, x):\n        return x * self.w\n", "torch.randn(3, dtype=torch.complex64)")

    def test_numpy_and_random_in_constructors(self):
        self.same("import numpy\nclass Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                  "        self.a, self.b = float(numpy.random.rand()), random.random()\n\n"
                  "    def forward(self, x):\n        return x * self.a + self.b\n")

    def test_noise_when_it_ends(self):
        verdict = self.accepted(problem("block"),
                                block("import atexit, threading, time, signal\n"
                                      "atexit.register(lambda: time.sleep(60))\n"
                                                        "threading.Thread(target=lambda: time.sleep(60)).start()\n"
                                                        "class Held:\n    def __del__(self):\n"
                                                        "        time.sleep(60)\n" + WHOLE.replace(
                                                            "    y = x @", "    x.held = Held()\n    y = x @")))
        self.assertTrue(verdict.has_left)

    def test_no_torch_at_all(self):
        text = "class %s:\n    def __init__(self, n):\n        self.n = n\n\n    def __call__(self, values):\n" \
               "        values.append(1)\n" \
               "        return {'s': sum(values) * self.n}\n"
        ends = "\ndef get_inputs():\n    return [[1.0, 2.5]]\n\ndef get_init_inputs():\n    return [3]\n"
        verdict = self.accepted(text % "Model" + ends,
                                text % "ModelNew" + "\ndef kernel_function(values, n):\n    values.append(1)\n"
                                "    return {'s': sum(values) * n}\n",
                                is_cold=True)
        self.assertEqual(verdict.hello["torch"], "")
        self.assertEqual(verdict.answers[0]["kernel_evidence"], "not_looked")
