# SPDX-License-Identifier: Apache-2.0
"""Honest candidates, each in a style of its own: how they are written down. What they are: styles_*.py."""
import dataclasses
import textwrap

TORCH = "import collections, dataclasses, math, random\nimport torch\nimport torch.nn as nn\n" \
        "import torch.nn.functional as F\n"
TRITON = "import torch\nimport triton\nimport triton.language as tl\n"


@dataclasses.dataclass
class Style:
    name: str
    family: str  # the kind of operation, or what careless judges refuse it for
    kind: str  # triton, torch, plain
    problem: str
    candidate: str
    stage: str
    terms: dict  # further words of tests/judge/judge_queue.cpp


def block(text, depth):
    return textwrap.indent(textwrap.dedent(text).strip("\n"), "    " * depth)


def model(name, signature, made, forward, arguments=""):
    """A class as problems and candidates have it."""
    return "class %s(torch.nn.Module):\n    def __init__(self%s):\n        super().__init__()\n%s\n\n" \
           "    def forward(self, %s):\n%s\n" % (
        name, ", " + arguments if arguments else "", block(made or "pass", 2), signature, block(forward, 2))


def problem(signature, made, forward, inputs, init="", arguments="", before=""):
    return TORCH + before + "\n" + model("Model", signature, made, forward, arguments) + \
        "\ndef get_inputs():\n    return [%s]\n\ndef get_init_inputs():\n    return [%s]\n" % (inputs, init)


class Table(list):
    """Collects styles; names are unique."""

    def add(self, name, family, kind, problem_text, candidate, stage, **terms):
        assert name not in [x.name for x in self], name
        self.append(Style(name, family, kind, problem_text, candidate, stage, terms))

    def triton(self, name, family, forward, inputs, kernels, call, signature="x", made="", init="", arguments="",
               before="", own=None, **terms):
        """A problem, and a candidate whose forward returns `call`; `made` is in both constructors unless `own`."""
        candidate = TRITON + before + textwrap.dedent(kernels) + "\n" + model(
            "ModelNew", signature, made if own is None else own, call if "return " in call else "return " + call,
            arguments)
        self.add(name, family, "triton", problem(signature, made, forward, inputs, init, arguments, before), candidate,
                 "kernel", **terms)

    def torch(self, name, family, forward, other, inputs="torch.randn(4, 6)", signature="x", made="", init="",
              arguments="", before="",
              own=None, top="", end="", **terms):
        """A problem, and a fused program for it: the same class with another forward (or constructor)."""
        candidate = top + TORCH + before + "\n" + model("Model", signature, made if own is None else own, other,
            arguments) + end
        self.add(name, family, "torch", problem(signature, made, forward, inputs, init, arguments, before), candidate,
                 "extract", **terms)
