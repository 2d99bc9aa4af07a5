# SPDX-License-Identifier: Apache-2.0
"""What both sides draw alike: seeds, styles of inputs, values of affine parameters."""
__builtins__ = dict(vars(__import__("builtins")))

import functools
import random
import sys

from tree import rebuilt

AFFINE = "+affine"
STYLES = ("plain", "zeros", "constant", "scaled")
# Near enough to the defaults that a network stays in its range, far enough to be seen at 1e-4.
SPREAD = 0.5
SEED_MASK = (1 << 63) - 1


def split(style):
    base = style[:-len(AFFINE)] if style.endswith(AFFINE) else style
    if base not in STYLES:
        raise ValueError("no style " + base)
    return base, style != base


def is_second_call(style):
    """Whether the model is called beforehand, on a copy of the same inputs: who is right only once (a sum that nobody
    sets to zero, weights that forward() changes) is wrong, as for KernelBench, whose trials share an instance."""
    return split(style)[0] == "scaled"


def seed_all(torch, seed):
    seed = int(seed) & SEED_MASK
    random.seed(seed)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(seed % (1 << 32))
    if torch is not None:
        torch.manual_seed(seed)


def styled(torch, inputs, style, seed):
    """Inputs in a style. Only floating tensors change: integers and bools keep the range that the problem needs."""
    if torch is None or style == "plain":
        return inputs
    draw = random.Random(int(seed))
    constant = draw.choice((-1, 1)) * draw.uniform(0.25, 2.0)
    # Down only: most domains contain 0 ([0, 1), x >= 0, indices), and beyond its domain a CUDA kernel ends the process.
    scale = 2.0 ** draw.choice((-3, -2, -1))

    def change(leaf):
        if not isinstance(leaf, torch.Tensor) or not (leaf.is_floating_point() or leaf.is_complex()):
            return leaf
        if style == "scaled":
            return leaf * scale
        return torch.full_like(leaf, 0.0 if style == "zeros" else constant)

    with torch.no_grad():
        return rebuilt(inputs, change)


class Affine:
    """Ones and zeros that torch.nn.init writes become values near them while `is_on`: who forgets the affine
    parameters of a normalisation is right on their defaults only. Draws nothing from the global generators."""

    def __init__(self, torch):
        self.torch = torch
        self.is_on, self.seed, self.number = False, 0, 0
        init = torch.nn.init
        init.ones_ = self.wrapped(init.ones_, lambda args, kwargs: 1.0)
        init.zeros_ = self.wrapped(init.zeros_, lambda args, kwargs: 0.0)
        init.constant_ = self.wrapped(
            init.constant_, lambda args, kwargs: kwargs["val"] if "val" in kwargs else args[1])

    def start(self, is_on, seed):
        self.is_on, self.seed, self.number = is_on, int(seed), 0

    def stop(self):
        self.is_on = False

    def wrapped(self, original, value_of):
        @functools.wraps(original)
        def initialise(*args, **kwargs):
            tensor = original(*args, **kwargs)
            if self.is_on and value_of(args, kwargs) in (0, 1):
                self.disturb(tensor)
            return tensor

        return initialise

    def disturb(self, tensor):
        torch = self.torch
        self.number += 1
        if tensor.is_meta or not tensor.is_floating_point():
            return
        generator = torch.Generator(device="cpu")
        generator.manual_seed((self.seed * 1000003 + self.number) & SEED_MASK)
        noise = torch.rand(tuple(tensor.shape), generator=generator, dtype=torch.float32, device="cpu")
        with torch.no_grad():
            tensor.add_(((noise - 0.5) * SPREAD).to(tensor))
