# SPDX-License-Identifier: Apache-2.0
"""How a candidate's pieces are called and filled, as its stage's contract says."""
__builtins__ = dict(vars(__import__("builtins")))

import inspect

from loading import Failure
from tree import leaves_of

_signature = inspect.signature


def must_bind(function, args, what):
    """A signature that cannot take the problem's arguments is told so, in place of Python's TypeError."""
    try:
        signature = _signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args)
    except TypeError as error:
        raise Failure("contract_violation", "%s cannot be called with the problem's %d arguments: %s" % (
            what, len(args), error))


def transplant(torch, model, own, given):
    """The problem's parameters and buffers into the candidate's: by name where names and shapes agree, the rest in
    order of shape."""
    trained = {x for x, _ in model.named_parameters()} if own else set()
    pairs = {x: given[x] for x in own if x in given and tuple(given[x].shape) == tuple(own[x].shape)}
    rest = [(name, x) for name, x in given.items() if name not in pairs]
    for name in [x for x in own if x not in pairs]:
        at = next((i for i, (_, x) in enumerate(rest) if tuple(x.shape) == tuple(own[name].shape)), None)
        if at is not None:
            pairs[name] = rest[at][1]
            rest = rest[at + 1:]
        elif name in trained:
            raise Failure("contract_violation", "the problem's parameters have no place for %s of shape %s" % (
                name, list(own[name].shape)))
    if given and not pairs:
        raise Failure("contract_violation", "the model owns no parameters, the problem's owns %d" % len(given))
    with torch.no_grad():
        for name, value in pairs.items():
            own[name].copy_(value)


class Recorder:
    """Stands for the candidate's kernel_function while forward runs, to see what it is called with."""

    def __init__(self, function, inputs):
        self.function, self.inputs, self.values = function, inputs, None

    def __call__(self, *args, **kwargs):
        if len(args) >= len(self.inputs) and all([x is y for x, y in zip(self.inputs, args)]):
            try:
                self.values = dict(_signature(self.function).bind(*args, **kwargs).arguments)
            except (TypeError, ValueError):
                pass
        return self.function(*args, **kwargs)


def hyper_parameters(model_class, init_args):
    """The constructor's arguments by their names."""
    try:
        return dict(_signature(model_class).bind(*init_args).arguments)
    except (TypeError, ValueError):
        return {}


def keywords(recorder, inputs, weights, must, hyper, is_tensor):
    """What kernel_function(*inputs, **keywords) takes: weights by name, hyper-parameters as forward() passes them or as
    the constructor calls them. Failure where the signature wants something else; many honest ones do, so that says no
    more than that the function was not called by itself. `must`: weights that it cannot do without."""
    if recorder.values is None:
        raise Failure("contract_violation", "forward() does not call it with the inputs")
    try:
        signature = _signature(recorder.function)
        taken = set(signature.bind_partial(*inputs).arguments)
    except (TypeError, ValueError) as error:
        raise Failure("contract_violation", "does not take the inputs: %s" % error)
    made, takes_any = {}, False
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_any = True
        elif name in taken or parameter.kind is parameter.VAR_POSITIONAL:
            continue
        elif name in weights:
            made[name] = weights[name]
        elif name in recorder.values and not any(is_tensor(x) for x in leaves_of(recorder.values[name])):
            made[name] = recorder.values[name]
        elif name in hyper:
            made[name] = hyper[name]
        elif parameter.default is parameter.empty:
            raise Failure("contract_violation", "takes `%s`, which is neither input, weight nor hyper-parameter" % name)
    if takes_any:
        made.update({k: v for k, v in weights.items() if k not in taken})
    missing = sorted(must - set(made))
    if missing:
        raise Failure("contract_violation", "does not take the weight `%s`" % missing[0])
    return made
