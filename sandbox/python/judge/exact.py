# SPDX-License-Identifier: Apache-2.0
"""How near is near enough: the reference's outputs in float64, and what a problem file says of tolerances."""
__builtins__ = dict(vars(__import__("builtins")))

import sys

import modules
from loading import Failure, one_line
from tree import leaves_of, rebuilt, skeleton

TOLERANCES = "REGATTA_TOLERANCES"


def own_tolerances(problem):
    """What the problem file asks for; numbers are looked at where they count."""
    wanted = getattr(problem, TOLERANCES, {})
    good = isinstance(wanted, dict) and all(
        isinstance(name, str) and isinstance(limits, dict) and all(
            isinstance(key, str) and isinstance(x, (int, float)) and not isinstance(x, bool) and abs(x) < 1e9
            for key, x in limits.items()) for name, limits in wanted.items())
    if not good:
        raise Failure("problem_failed", "%s: got %s, allowed: {\"float32\": {\"atol\": 1e-4, \"rtol\": 1e-4, \"norm\": 1e-3}}" % (
            TOLERANCES, repr(wanted)[:100]))
    return {name: dict(limits) for name, limits in wanted.items()}


def bytes_of(torch, values):
    """Of all floating tensors once they are float64 or complex128."""
    return sum([x.numel() * (16 if x.is_complex() else 8) for x in leaves_of(values) if isinstance(x, torch.Tensor) and (
        x.is_floating_point() or x.is_complex())])


def exact_of(torch, model, inputs, outputs, device, call):
    """The outputs in float64, or None; None, too, for tensors that are not floating: an index has no float64."""
    if model is None:
        return None
    narrow = [x for x in leaves_of([inputs, outputs]) if isinstance(x, torch.Tensor) and x.dtype != torch.float64 and
              x.dtype != torch.complex128 and (x.is_floating_point() or x.is_complex())]
    if not narrow:
        return None
    default = torch.get_default_dtype()
    try:
        model = modules.settle(torch, model, device, torch.float64)
        inputs = modules.converted(torch, inputs, device, torch.float64)
        torch.set_default_dtype(torch.float64)
        return matched(torch, call(model, inputs), outputs)
    except Exception as error:
        print("no float64 reference: " + one_line(error), file=sys.stderr)
        return None
    finally:
        torch.set_default_dtype(default)


def matched(torch, made, outputs):
    if skeleton(made) != skeleton(outputs):
        return None
    exact = []
    for x, y in zip(leaves_of(made), leaves_of(outputs)):
        is_real = isinstance(y, torch.Tensor) and (y.is_floating_point() or y.is_complex())
        if is_real and (not isinstance(x, torch.Tensor) or x.shape != y.shape):
            return None
        if is_real:
            x = x.detach().to(torch.complex128 if y.is_complex() else torch.float64)
        is_float = is_real or isinstance(y, float) and isinstance(x, float)
        exact.append(x if is_float else None if isinstance(y, torch.Tensor) else y)
    following = iter(exact)
    return rebuilt(outputs, lambda leaf: next(following))
