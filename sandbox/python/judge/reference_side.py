# SPDX-License-Identifier: Apache-2.0
"""Runs a problem file for the judge (docs/judge.md, "Reference side").

    python -I -B reference_side.py --problem FILE [--device cpu|cuda] [--mode as_constructed|eval]
                                   [--limit BYTES] [--allow-tf32]

Lives until its questions end, for any number of candidates of this problem, none of which it ever sees.
"""
__builtins__ = dict(vars(__import__("builtins")))

import argparse
import copy
import hashlib
import os
import platform
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import draws  # noqa: E402
import exact  # noqa: E402
import frames  # noqa: E402
import modules  # noqa: E402
import recipe  # noqa: E402
import sizes  # noqa: E402
from loading import (Failure, forget_our_folder, give_up, imports, is_ours, load, one_line, own_lines,  # noqa: E402
                     prepare_numpy, source_of)
from tensors import Tensors  # noqa: E402
from timed_side import TimedSide  # noqa: E402
from tree import PIECE, Encoder, TreeError, leaves_of, rebuilt, skeleton  # noqa: E402

# Below this nobody asks beforehand: the first call on meta tensors costs 2 s of imports.
CHEAP_BYTES = 16 << 20
NO_MEMORY = ("can't allocate memory", "CUDA out of memory", "not enough memory")


def parsed(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--problem", required=True)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--mode", choices=("as_constructed", "eval"), default="as_constructed")
    parser.add_argument("--limit", type=int, default=1 << 30, help="bytes of inputs, parameters and outputs together")
    parser.add_argument("--large", type=int, default=sizes.LARGE_BYTES,
                        help="bytes beyond which nothing is copied without need")
    parser.add_argument("--allow-tf32", action="store_true")
    return parser.parse_args(argv)


def failure_of(error, path):
    """Everything that goes wrong in a problem is the problem's."""
    if isinstance(error, Failure):
        return error
    if is_ours(error):
        give_up(error)
    if isinstance(error, TreeError):
        return Failure("not_judgeable", str(error))
    if isinstance(error, MemoryError) or any(x in str(error) for x in NO_MEMORY):
        return Failure("too_large", one_line(error))
    return Failure("problem_failed", one_line(error), own_lines(error, path))


class Reference:
    def __init__(self, options):
        self.options, self.path = options, options.problem
        self.source = source_of(self.path)
        self.torch, self.codec, self.shape_codec, self.affine, self.device = None, None, None, None, None
        self.timed = TimedSide(self.timed_sets)
        prepare_numpy(self.source)
        if imports(self.source, b"torch"):
            self.take_torch()
        forget_our_folder()
        self.module = load(self.path, "problem")
        if self.torch is None and "torch" in sys.modules:
            self.take_torch()
        for name in ("Model", "get_inputs", "get_init_inputs"):
            if not callable(getattr(self.module, name, None)):
                raise Failure("problem_failed", "the problem defines no " + name)
        self.mode, self.is_random = options.mode, False
        self.init_args = list(self.module.get_init_inputs())
        self.shapes, self.needed = self.measured()
        self.refuse_large(self.needed)
        self.tolerances = exact.own_tolerances(self.module)
        self.look_at_forward()

    def take_torch(self):
        import torch
        import torch.nn
        self.torch, self.codec, self.shape_codec = torch, Tensors(torch), Tensors(torch, True)
        self.affine = draws.Affine(torch)
        if self.options.device == "cuda" and not torch.cuda.is_available():
            raise Failure("problem_failed", "no CUDA device here")
        self.device = torch.device(self.options.device)
        self.timed.prepare(torch, self.codec, self.device)

    def set_precision(self):
        """Before every question, as the problem's code can change it."""
        if self.torch is None or self.options.allow_tf32:
            return
        backends = self.torch.backends
        self.torch.set_float32_matmul_precision("highest")
        backends.cuda.matmul.allow_tf32 = backends.cudnn.allow_tf32 = False
        backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False

    # Sizes -----------------------------------------------------------------------------------------------------------

    def bytes_in(self, *values):
        if self.codec is None:
            return 0
        codec = self.shape_codec
        raws = [codec.plain(x) for value in values for x in leaves_of(value) if codec.is_tensor(x)]
        return sum([codec.bytes_of(x) for x in raws if x is not None])

    def measured(self):
        """(inputs whose tensors need no memory, bytes of inputs, parameters and outputs), as far as both can be had
        without allocating: None and 0 where a problem does what meta tensors cannot."""
        if self.torch is None:
            return None, 0
        if not self.seems_large():
            return None, 0
        inputs, needed = None, 0
        try:
            with self.torch.no_grad(), self.torch.device("meta"):
                inputs = list(self.module.get_inputs())
                needed = self.bytes_in(inputs)
                self.refuse_large(needed)
                model = self.module.Model(*modules.fresh(self.codec, self.init_args))
                needed += self.bytes_in(modules.state_of(self.torch, model))
                self.refuse_large(needed)
                needed += self.bytes_in(model(*inputs))
        except Failure:
            raise
        except Exception:
            pass
        if inputs is not None and not all(x.is_meta for x in leaves_of(inputs) if isinstance(x, self.torch.Tensor)):
            inputs = None
        return inputs, needed

    def seems_large(self):
        try:
            with self.torch.no_grad(), sizes.meter(self.torch, CHEAP_BYTES):
                self.module.get_inputs()
                self.module.Model(*modules.fresh(self.codec, self.init_args))
        except sizes.Large:
            return True
        return False

    def refuse_large(self, needed):
        if needed > self.options.limit:
            raise Failure("too_large", "inputs, parameters and outputs take %.1f GiB, allowed are %.1f GiB" % (
                needed / 2**30, self.options.limit / 2**30))

    @property
    def is_large(self):
        return self.needed > self.options.large

    # One question ----------------------------------------------------------------------------------------------------

    def model_of(self, seed, is_affine):
        draws.seed_all(self.torch, seed)
        if self.affine:
            self.affine.start(is_affine, seed)
        try:
            model = self.module.Model(*modules.fresh(self.codec, self.init_args))
        finally:
            if self.affine:
                self.affine.stop()
        if self.torch is None or not isinstance(model, self.torch.nn.Module):
            return model
        model = modules.settle(self.torch, model, self.device)
        return model.eval() if self.mode == "eval" else model

    def drawn_inputs(self, seed, style):
        draws.seed_all(self.torch, seed)
        inputs = self.module.get_inputs()
        if not isinstance(inputs, (list, tuple)):
            raise Failure("problem_failed", "get_inputs() gives no list")
        inputs = draws.styled(self.torch, list(inputs), style, seed)
        self.refuse_large(self.bytes_in(inputs))
        return inputs

    def inputs_of(self, seed, style):
        inputs = self.drawn_inputs(seed, style)
        if self.is_large:
            return modules.moved(self.codec, inputs, self.device)
        return modules.fresh(self.codec, inputs, self.device)

    def call(self, model, inputs):
        if self.torch is None:
            return model(*inputs)
        self.set_precision()
        with self.torch.no_grad():
            return model(*inputs)

    def look_at_forward(self):
        """What cannot be repeated cannot be compared. A forward that draws nothing from torch's generator is taken as
        repeatable; the probe finds the rest."""
        if self.torch is None:
            return
        model, inputs = self.model_of(1, False), self.inputs_of(1, "plain")
        if self.shapes is None:
            self.shapes = modules.fresh(self.codec, inputs)
        if self.is_large:  # nothing is copied that can be made again
            def hand(made=[inputs]):
                return made.pop() if made else self.inputs_of(1, "plain")

            twin, inputs = None, None
        else:
            def hand():
                return modules.fresh(self.codec, inputs)

            twin = self.twin_of(model, 1, False)
        if self.is_repeatable(model, twin, hand):
            return
        self.is_random = True
        if self.mode == "as_constructed" and isinstance(model, self.torch.nn.Module):
            self.mode, model, twin = "eval", None, None
            if self.is_repeatable(self.model_of(1, False), None, hand):
                return
        raise Failure("not_judgeable", "forward() gives other results on each call with the same inputs")

    def twin_of(self, model, seed, is_affine):
        try:
            return copy.deepcopy(model)
        except Exception:  # tensors that are no leaves, handles
            return self.model_of(seed, is_affine)

    def drawn(self):
        states = [self.torch.get_rng_state()]
        if self.device.type == "cuda":
            states.append(self.torch.cuda.get_rng_state())
        return states

    def is_repeatable(self, model, twin, hand):
        """`twin`: None where another model of the same seed does as well."""
        draws.seed_all(self.torch, 2)
        before = self.drawn()
        inputs = hand()
        first = self.call(model, inputs)
        self.needed = max(self.needed, self.bytes_in(inputs, modules.state_of(self.torch, model), first))
        self.refuse_large(self.needed)
        if all(self.torch.equal(x, y) for x, y in zip(before, self.drawn())):
            return True
        del inputs, model
        draws.seed_all(self.torch, 3)
        second = self.call(self.model_of(1, False) if twin is None else twin, hand())
        return not modules.changed_leaves(self.codec, first, second)

    def exact_of(self, model, inputs, outputs):
        return exact.exact_of(self.torch, model, inputs, outputs, self.device, self.call)

    def has_room(self, *values):
        """For all that there is, and these in float64."""
        return self.torch is not None and self.needed + exact.bytes_of(self.torch, list(values)) <= self.options.limit

    def ask(self, question):
        style, is_affine = draws.split(question["style"])
        seed = question["init_seed"]
        if self.is_large:
            return self.ask_large(question, style, is_affine)
        inputs = self.inputs_of(question["input_seed"], style)
        model = self.model_of(seed, is_affine)
        state = modules.state_of(self.torch, model)
        parameters = modules.digests(self.codec, state)
        twin = self.twin_of(model, seed, is_affine) if self.has_room(inputs, list(state.values())) else None
        used = modules.fresh(self.codec, inputs)
        call = self.call_twice if draws.is_second_call(style) else self.call
        outputs = call(model, used)
        self.refuse_large(self.bytes_in(inputs, outputs))
        changed = modules.changed_leaves(self.codec, inputs, used)
        twin = twin if self.has_room(inputs, outputs, list(state.values())) else None
        del model, state
        truth = exact.exact_of(self.torch, twin, modules.fresh(self.codec, inputs), outputs, self.device, call)
        return self.answer(question, inputs, self.host(outputs), changed, parameters, truth)

    def call_twice(self, model, inputs):
        self.call(model, modules.fresh(self.codec, inputs))
        return self.call(model, inputs)

    def ask_large(self, question, style, is_affine):
        """Inputs and model are made again rather than copied."""
        host = self.drawn_inputs(question["input_seed"], style)
        form, digests = skeleton(host), modules.leaf_digests(self.codec, host)
        tensors = modules.tensor_digests(self.codec, host, digests)
        node = Encoder(self.codec).node(host)
        used = modules.moved(self.codec, host, self.device)
        del host
        model = self.model_of(question["init_seed"], is_affine)
        parameters = modules.digests(self.codec, modules.state_of(self.torch, model))
        outputs = self.call(model, used)
        has_room = self.has_room(used, outputs, list(modules.state_of(self.torch, model).values()))
        self.refuse_large(self.bytes_in(used, outputs))
        changed = [(x, self.host(value)) for x, value in modules.changed_since(self.codec, form, digests, used)]
        del model, used
        twice = None
        if has_room:
            twin = self.model_of(question["init_seed"], is_affine)
            twice = self.exact_of(twin, self.inputs_of(question["input_seed"], style), outputs)
            outputs = self.host(outputs)
        if question.get("inputs") == "drawn":
            return self.answer(question, None, outputs, changed, parameters, twice, (node, tensors))
        return self.answer(question, self.drawn_inputs(question["input_seed"], style), outputs, changed, parameters,
                           twice)

    def host(self, value):
        """Plain and contiguous, so that pieces of eager and exact have equal sizes."""
        if self.codec is None:
            return value

        def leaf(x):
            raw = self.codec.plain(x) if self.codec.is_tensor(x) else None
            return x if raw is None else self.codec.copy(raw)

        return rebuilt(value, leaf)

    def answer(self, question, inputs, outputs, changed, parameters, exact, drawn=None):
        """`drawn`: what is said of inputs that the candidate's side draws itself."""
        first, eager, last = Encoder(self.codec), Encoder(self.codec), Encoder(self.codec)
        head = {"op": "answer", "id": question["id"], "inputs": drawn[0] if drawn else first.node(inputs),
                "outputs": eager.node(outputs)}
        if drawn:
            head["input_sha256"] = drawn[1]
        second = Encoder(self.codec)
        head["exact"] = None if exact is None else second.node(self.host(exact))
        head["inputs_after"] = [[leaf, last.node(value)] for leaf, value in changed]
        head["parameters"] = parameters
        parts = [self.codec.buffers(x) for x in first.tensors]
        twins = iter(second.tensors)
        parts += [self.interleaved(x, next(twins) if exact is not None and self.codec.is_inexact(x) else None)
                  for x in eager.tensors]
        parts += [self.codec.buffers(x) for x in last.tensors]
        total = sum([self.codec.bytes_of(x) for x in first.tensors + eager.tensors + second.tensors + last.tensors])
        return head, total, (piece for part in parts for piece in part)

    def interleaved(self, eager, exact):
        if exact is None:
            yield from self.codec.buffers(eager, PIECE)
            return
        for x, y in zip(self.codec.buffers(eager, PIECE), self.codec.buffers(exact, PIECE)):
            yield x
            yield y

    def parameters(self, question):
        _, is_affine = draws.split(question["style"])
        encoder = Encoder(self.codec)
        tree = encoder.node(dict(modules.state_of(self.torch, self.model_of(question["init_seed"], is_affine))))
        return self.framed({"op": "parameters", "id": question["id"], "tree": tree}, encoder.tensors)

    def timed_sets(self, question, channel):
        style, _ = draws.split(question["style"])
        sets = [self.drawn_inputs(seed, style) for seed in question["input_seeds"]]
        self.set_precision()
        call = None
        if question["model"] != "kept":
            model = self.model_of(question["init_seed"], False)
            call = lambda inputs: model(*inputs)  # noqa: E731
        encoder = Encoder(self.codec)
        said = {"inputs": [encoder.node(x) for x in sets]}
        if "recipe" not in question:
            return sets, call, said, encoder.tensors
        said["input_digests"] = [x for one in sets for x in self.tensor_digests(one)]
        return sets, call, said, []

    def tensor_digests(self, inputs):
        return modules.tensor_digests(self.codec, inputs, modules.leaf_digests(self.codec, inputs))

    def hello(self):
        shapes = self.shapes if self.torch is not None else self.inputs_of(1, "plain")
        arguments = Encoder(self.codec)
        head = {"op": "hello", "side": "reference", "python": platform.python_version(),
                "torch": str(self.torch.__version__).split("+")[0] if self.torch else "", "device": self.options.device,
                "mode": self.mode, "init_args": arguments.node(self.init_args),
                "inputs": Encoder(self.shape_codec).node(shapes), "is_random": self.is_random,
                "question_bytes": self.needed, "recipe": recipe.recipe_of(self.source) if self.is_large else "",
                "tolerances": self.tolerances, "problem_sha256": hashlib.sha256(self.source).hexdigest()}
        return self.framed(head, arguments.tensors)

    def framed(self, head, tensors):
        return head, sum([self.codec.bytes_of(x) for x in tensors]), (
            piece for x in tensors for piece in self.codec.buffers(x))

    def answered(self, question, channel):
        if self.timed.answers(question):
            return self.timed.answer(question, channel)
        if question["op"] == "hello":
            return self.hello()
        if question["op"] == "parameters":
            return self.parameters(question)
        return self.ask(question)


def main():
    channel = frames.Channel()
    options = parsed(sys.argv[1:])
    try:
        side = Reference(options)
        hello = side.hello()
    except BaseException as error:
        channel.send(failure_of(error, options.problem).head())
        frames.leave()
    channel.send(*hello)
    while True:
        question = channel.receive()
        if question is None:
            frames.leave()
        try:
            answer = side.answered(question, channel)
        except BaseException as error:
            answer = (failure_of(error, options.problem).head(question.get("id", 0)),)
        channel.skip_body()
        channel.send(*answer)


main()
