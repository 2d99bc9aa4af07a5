# SPDX-License-Identifier: Apache-2.0
"""Runs one candidate for the judge (docs/judge.md, "Candidate side").

    python -I -B candidate_side.py --candidate FILE --stage kernel|compose|extract [--device cpu|cuda]

Knows neither the problem nor what is expected. Whatever the candidate does to this process can only spoil its own
answer: that is bytes, compared elsewhere.
"""
__builtins__ = dict(vars(__import__("builtins")))

import argparse
import inspect
import os
import platform
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import draws  # noqa: E402
import frames  # noqa: E402
import modules  # noqa: E402
from evidence import DRY_LAUNCHES, Launches, TooManyLaunches  # noqa: E402
from loading import Failure, forget_our_folder, imports, load, one_line, own_lines, prepare_numpy, source_of  # noqa: E402
from tensors import Tensors  # noqa: E402
from tree import Decoder, Encoder, TreeError, leaves_of, rebuilt  # noqa: E402

# Stage -> (class, function) that must be defined; messages/ and prompts/*/must_define.txt say the same.
CONTRACTS = {"kernel": ("ModelNew", "kernel_function"), "compose": ("ModelNew", "kernel_function"), "extract": ("Model", "")}
BUILD_ERRORS = ("Error building extension", "Error compiling objects", "Ninja is required")
# A function that takes longer is called in the first question only.
SLOW_CALL_S = 0.25
# What candidates leave is kept, up to this, as a destructor may do anything.
KEPT_BYTES = 64 << 20


def parsed(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--candidate", required=True)
    parser.add_argument("--stage", choices=tuple(CONTRACTS), required=True)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    return parser.parse_args(argv)


def failure_of(error, path):
    if isinstance(error, Failure):
        return error
    if isinstance(error, TreeError):
        return Failure("contract_violation", str(error))
    is_build = isinstance(error, SyntaxError) or any(str(error).startswith(x) for x in BUILD_ERRORS) \
        if isinstance(error, (SyntaxError, RuntimeError)) else False
    return Failure("compile_failed" if is_build else "raised", one_line(error), own_lines(error, path))


class Recorder:
    """Stands for the candidate's kernel_function while forward runs, to see what it is called with."""

    def __init__(self, function, inputs):
        self.function, self.inputs, self.values = function, inputs, None

    def __call__(self, *args, **kwargs):
        if len(args) >= len(self.inputs) and all([x is y for x, y in zip(self.inputs, args)]):
            try:
                self.values = dict(inspect.signature(self.function).bind(*args, **kwargs).arguments)
            except (TypeError, ValueError):
                pass
        return self.function(*args, **kwargs)


class Candidate:
    def __init__(self, options):
        self.options, self.path = options, os.path.abspath(options.candidate)
        self.torch, self.codec, self.affine, self.device = None, None, None, None
        self.launches, self.is_interpreted = None, False
        self.given, self.kept, self.kept_bytes, self.evidence, self.is_slow = [], [], 0, None, False
        source = source_of(self.path)
        prepare_numpy(source)
        if imports(source, b"torch"):
            self.take_torch()
        if imports(source, b"triton"):
            self.watch_triton()
        forget_our_folder()
        self.module = load(self.path, "candidate")
        self.check_contract()

    def take_torch(self):
        if self.torch is not None:
            return
        try:
            import torch
            import torch.nn
        except ImportError:
            return
        self.torch, self.codec, self.affine = torch, Tensors(torch), draws.Affine(torch)
        self.device = torch.device(self.options.device)

    def watch_triton(self):
        try:
            import triton  # noqa: F401
        except ImportError:
            return
        self.launches = Launches()
        self.launches.install()
        self.is_interpreted = os.environ.get("TRITON_INTERPRET") == "1"

    def check_contract(self):
        class_name, function_name = CONTRACTS[self.options.stage]
        self.model_class = getattr(self.module, class_name, None)
        self.function_name = function_name
        if not isinstance(self.model_class, type):
            raise Failure("contract_violation", "the program defines no class " + class_name)
        if function_name and not callable(getattr(self.module, function_name, None)):
            raise Failure("contract_violation", "the program defines no function " + function_name)

    def engine(self):
        if self.options.device == "cuda":
            major, minor = self.torch.cuda.get_device_capability()
            return "cuda-sm_%d%d" % (major, minor)
        return "triton-interpreter" if self.is_interpreted else "cpu"

    def hello(self):
        return {"op": "hello", "side": "candidate", "python": platform.python_version(),
                "torch": str(self.torch.__version__).split("+")[0] if self.torch else "",
                "device": self.options.device, "engine": self.engine(),
                "defines": [x for x in CONTRACTS[self.options.stage] if x]}

    # One question ----------------------------------------------------------------------------------------------------

    def record_class(self, name, fields):
        known = getattr(self.module, name, None)
        return known if isinstance(known, type) and set(fields) <= set(getattr(known, "__annotations__", fields)) else None

    def read(self, question, channel):
        decoder = Decoder(self.codec, channel.fill, self.record_class)
        init_args, inputs = decoder.value(question["init_args"]), decoder.value(question["inputs"])
        parameters = question.get("parameters")
        return init_args, inputs, None if parameters is None else decoder.value(parameters)

    def built(self, question, init_args, parameters):
        _, is_affine = draws.split(question["style"])
        args = modules.fresh(self.torch, init_args)
        self.must_bind(self.model_class, args, self.model_class.__name__ + "()")
        draws.seed_all(self.torch, question["init_seed"])
        if self.affine:
            self.affine.start(is_affine, question["init_seed"])
        try:
            model = self.model_class(*args)
        finally:
            if self.affine:
                self.affine.stop()
        if self.torch is not None and isinstance(model, self.torch.nn.Module):
            model = modules.settle(self.torch, model, self.device)
            if question.get("mode") == "eval":
                model.eval()
        if parameters is not None:
            self.transplant(model, parameters)
        return model

    def must_bind(self, function, args, what):
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return
        try:
            signature.bind(*args)
        except TypeError as error:
            raise Failure("contract_violation", "%s cannot be called with the problem's %d arguments: %s" % (
                what, len(args), error))

    def transplant(self, model, given):
        """By name where names and shapes agree, the rest in order of shape."""
        own = modules.state_of(self.torch, model)
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
        with self.torch.no_grad():
            for name, value in pairs.items():
                own[name].copy_(value)

    def forward(self, model, inputs):
        target = model if callable(model) else getattr(model, "forward", None)
        if target is None:
            raise Failure("contract_violation", "the model cannot be called")
        self.must_bind(getattr(model, "forward", target), inputs, "forward()")
        return self.quietly(target, inputs, {})

    def quietly(self, function, args, kwargs):
        if self.torch is None:
            return function(*args, **kwargs)
        with self.torch.no_grad():
            return function(*args, **kwargs)

    def copied(self, value):
        """What was returned, before a later call writes over it."""
        if self.codec is None:
            return value

        def leaf(x):
            raw = self.codec.plain(x) if self.codec.is_tensor(x) else None
            return x if raw is None else self.codec.copy(raw)

        return rebuilt(value, leaf)

    def ask(self, question, channel):
        if "tensor" in repr(question) and self.codec is None:
            self.take_torch()
        init_args, inputs, parameters = self.read(question, channel)
        inputs = modules.fresh(self.torch, inputs, self.device)
        model = self.built(question, init_args, parameters)
        digests = modules.digests(self.codec, modules.state_of(self.torch, model))
        self.given = [model]
        used = self.hand(inputs)
        recorder = self.recorder(used)
        if self.launches:
            self.launches.start()
        began = time.monotonic()
        outputs = self.forward(model, used)
        took = time.monotonic() - began
        self.forget(recorder)
        count, storages = (self.launches.count, self.launches.storages) if self.launches else (0, set())
        answer = Answer(self.codec, question["id"], self.copied(outputs), modules.changed_leaves(self.codec, inputs, used))
        function = None
        if recorder is not None and not (self.is_slow and took > SLOW_CALL_S):
            function = self.function_outputs(model, inputs, init_args, recorder)
            self.is_slow = took > SLOW_CALL_S
        if self.evidence is None:
            self.evidence = self.looked_at(model, inputs, outputs, answer, count)
        self.given.append(outputs)
        self.keep()
        return answer.frame(digests, function, count, self.evidence, self.is_output_launched(outputs, storages))

    def recorder(self, inputs):
        if not self.function_name:
            return None
        recorder = Recorder(getattr(self.module, self.function_name), inputs)
        setattr(self.module, self.function_name, recorder)
        return recorder

    def forget(self, recorder):
        if recorder is not None:
            setattr(self.module, self.function_name, recorder.function)

    def hand(self, value):
        """A fresh copy for the candidate, held until the answer is out: its destructors may do anything."""
        self.given.append(modules.fresh(self.torch, value))
        return self.given[-1]

    def keep(self):
        """Longer still, if it is small: the next answer should not wait for destructors either."""
        states = [modules.state_of(self.torch, self.given[0])] + self.given[1:]
        raws = [self.codec.plain(x) for x in leaves_of(states) if self.codec and self.codec.is_tensor(x)]
        self.kept_bytes += sum([self.codec.bytes_of(x) for x in raws if x is not None])
        if self.kept_bytes <= KEPT_BYTES:
            self.kept.append(self.given)

    def function_outputs(self, model, inputs, init_args, recorder):
        """kernel_function called as the contract says, where its signature takes that."""
        state = modules.state_of(self.torch, model)
        weights = {name.replace(".", "_"): x for name, x in state.items()}
        must = {name.replace(".", "_") for name, _ in model.named_parameters()} if state else set()
        try:
            kwargs = self.keywords(recorder, inputs, weights, must, self.hyper_parameters(init_args))
            kwargs = {k: v.detach() if k in weights else v for k, v in kwargs.items()}
            made = self.quietly(recorder.function, self.hand(inputs), self.hand(kwargs))
            self.given.append(made)
            return {"outputs": self.copied(made)}
        except Failure as refusal:
            return {"refused": refusal.reason}
        except BaseException as error:
            return {"refused": "raised " + one_line(error)}

    def hyper_parameters(self, init_args):
        try:
            return dict(inspect.signature(self.model_class).bind(*init_args).arguments)
        except (TypeError, ValueError):
            return {}

    def keywords(self, recorder, inputs, weights, must, hyper):
        if recorder.values is None:
            raise Failure("contract_violation", "forward() does not call it with the inputs")
        try:
            signature = inspect.signature(recorder.function)
            taken = set(signature.bind_partial(*inputs).arguments)
        except (TypeError, ValueError) as error:
            raise Failure("contract_violation", "does not take the inputs: %s" % error)
        kwargs, takes_any = {}, False
        for name, parameter in signature.parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                takes_any = True
            elif name in taken or parameter.kind is parameter.VAR_POSITIONAL:
                continue
            elif name in weights:
                kwargs[name] = weights[name]
            elif name in recorder.values and not self.has_tensor(recorder.values[name]):
                kwargs[name] = recorder.values[name]
            elif name in hyper:
                kwargs[name] = hyper[name]
            elif parameter.default is parameter.empty:
                raise Failure("contract_violation", "takes `%s`, which is neither input, weight nor hyper-parameter" % name)
        if takes_any:
            kwargs.update({k: v for k, v in weights.items() if k not in taken})
        missing = sorted(must - set(kwargs))
        if missing:
            raise Failure("contract_violation", "does not take the weight `%s`" % missing[0])
        return kwargs

    def has_tensor(self, value):
        return self.codec is not None and any(self.codec.is_tensor(x) for x in leaves_of(value))

    # Evidence --------------------------------------------------------------------------------------------------------

    def looked_at(self, model, inputs, outputs, answer, count):
        """seen, absent, inconsistent: with launches that do nothing the output must differ."""
        if not self.function_name or not (self.has_tensor(inputs) or self.has_tensor(outputs)):
            return "not_looked"
        if count == 0:
            return "absent"
        saved = self.spoil(outputs, model)
        self.launches.start(is_dry=True, left=count + DRY_LAUNCHES)
        try:
            used = self.hand(inputs)
            self.given.append(self.forward(model, used))
            made = self.copied(self.given[-1])
            is_other = modules.changed_leaves(self.codec, answer.outputs, made) or \
                self.has_moved(answer.changed, modules.changed_leaves(self.codec, inputs, used))
        except BaseException:  # garbage may break what follows
            is_other = True
        finally:
            self.launches.start()
            self.restore(saved)
        return "seen" if is_other else "inconsistent"

    def has_moved(self, changed, made):
        return [x for x, _ in changed] != [x for x, _ in made] or \
            bool(modules.changed_leaves(self.codec, [x for _, x in changed], [x for _, x in made]))

    def spoil(self, outputs, model):
        """A buffer that is used again must not still hold the right answer."""
        weights = {self.storage(x) for x in modules.state_of(self.torch, model).values()}
        saved = []
        for leaf in leaves_of(outputs):
            raw = self.codec.plain(leaf) if self.codec.is_tensor(leaf) else None
            if raw is not None and self.storage(raw) not in weights:
                storage = raw.untyped_storage()
                saved.append((storage, storage.clone()))
                storage.fill_(0x7F)
        return saved

    def restore(self, saved):
        for storage, content in reversed(saved):
            storage.copy_(content)

    def storage(self, tensor):
        raw = self.codec.plain(tensor)
        return None if raw is None else raw.untyped_storage().data_ptr()

    def is_output_launched(self, outputs, storages):
        return bool(storages) and any(self.codec.is_tensor(x) and self.storage(x) in storages for x in leaves_of(outputs))


class Answer:
    def __init__(self, codec, number, outputs, changed):
        self.codec, self.number, self.outputs = codec, number, outputs
        self.changed = [(leaf, self.snapshot(value)) for leaf, value in changed]

    def snapshot(self, value):
        if self.codec is None:
            return value
        return rebuilt(value, lambda x: self.codec.copy(self.codec.plain(x)) if self.codec.is_tensor(x) and
                       self.codec.plain(x) is not None else x)

    def frame(self, digests, function, launches, evidence, is_output_launched):
        encoder = Encoder(self.codec)
        head = {"op": "answer", "id": self.number, "outputs": encoder.node(self.outputs)}
        head["inputs_after"] = [[leaf, encoder.node(value)] for leaf, value in self.changed]
        head["parameters"] = digests
        head["function"] = function
        if function and "outputs" in function:
            head["function"] = {"outputs": encoder.node(function["outputs"])}
        head.update(launches=launches, kernel_evidence=evidence, output_launched=is_output_launched)
        total = sum([self.codec.bytes_of(x) for x in encoder.tensors])
        return head, total, (piece for x in encoder.tensors for piece in self.codec.buffers(x))


def main():
    channel = frames.Channel()
    options = parsed(sys.argv[1:])
    try:
        side = Candidate(options)
        hello = side.hello()
    except BaseException as error:
        channel.send(failure_of(error, os.path.abspath(options.candidate)).head())
        frames.leave()
    channel.send(hello)
    while True:
        question = channel.receive()
        if question is None:
            frames.leave()
        try:
            answer = side.ask(question, channel)
        except BaseException as error:
            answer = (failure_of(error, side.path).head(question.get("id", 0)),)
        channel.skip_body()
        channel.send(*answer)


main()
