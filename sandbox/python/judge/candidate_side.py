# SPDX-License-Identifier: Apache-2.0
"""Runs one candidate for the judge (docs/judge.md, "Candidate side").

    python -I -B candidate_side.py --candidate FILE --stage kernel|compose|extract [--device cpu|cuda]

Knows neither the problem nor what is expected. Whatever the candidate does to this process can only spoil its own
answer: that is bytes, compared elsewhere.
"""
__builtins__ = dict(vars(__import__("builtins")))

import argparse
import os
import platform
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import calls  # noqa: E402
import draws  # noqa: E402
import frames  # noqa: E402
import library_ops  # noqa: E402
import modules  # noqa: E402
import policy  # noqa: E402
import sizes  # noqa: E402
from evidence import Evidence, Launches  # noqa: E402
from large import Large  # noqa: E402
from loading import (Failure, forget_our_folder, give_up, imports, is_ours, load, one_line, own_lines,  # noqa: E402
                     prepare_numpy, source_of)
from tensors import Tensors  # noqa: E402
from timed_side import TimedSide  # noqa: E402
from tree import Decoder, Encoder, TreeError, leaves_of, rebuilt  # noqa: E402

# Stage -> (class, function) that must be defined; messages/ and prompts/*/must_define.txt say the same.
CONTRACTS = {"kernel": ("ModelNew", "kernel_function"), "compose": ("ModelNew", "kernel_function"),
             "extract": ("Model", "")}
BUILD_ERRORS = ("Error building extension", "Error compiling objects", "Ninja is required")
# A function that takes longer is called in the first question only.
SLOW_CALL_S = 0.25
# What candidates leave is kept, up to this, as a destructor may do anything.
KEPT_BYTES = 64 << 20


def parsed(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--candidate", required=True)
    parser.add_argument("--stage", choices=tuple(CONTRACTS), required=True)
    parser.add_argument("--large", type=int, default=sizes.LARGE_BYTES,
                        help="bytes of inputs beyond which nothing is copied")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    return parser.parse_args(argv)


def failure_of(error, path):
    if isinstance(error, Failure):
        return error
    if is_ours(error):
        give_up(error)
    if isinstance(error, TreeError):
        return Failure("contract_violation", str(error))
    is_build = isinstance(error, SyntaxError) or any(str(error).startswith(x) for x in BUILD_ERRORS) \
        if isinstance(error, (SyntaxError, RuntimeError)) else False
    return Failure("compile_failed" if is_build else "raised", one_line(error), own_lines(error, path))


class Undrawn(Exception):
    """The inputs cannot be drawn here."""


class Candidate:
    def __init__(self, options):
        self.options, self.path = options, os.path.abspath(options.candidate)
        self.torch, self.codec, self.affine, self.device = None, None, None, None
        self.launches, self.is_triton = Launches(), False
        self.evidence = Evidence(None, self.launches)
        self.given, self.kept, self.kept_bytes, self.is_slow = [], [], 0, False
        self.timed, self.large = TimedSide(self.timed_sets), Large(self)
        source = source_of(self.path)
        # A warm process has it loaded, whatever the candidate does.
        was_loaded = "triton" in sys.modules
        self.prepare(source)
        forget_our_folder()
        self.module = load(self.path, "candidate")
        self.is_interpreted = imports(source, b"triton") or "triton" in sys.modules and not was_loaded
        if "triton" in sys.modules:
            self.watch_triton()
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
        self.evidence.codec, self.evidence.watch = self.codec, library_ops.watch_of(torch)
        self.timed.prepare(torch, self.codec, self.device)

    def prepare(self, source):
        """Takes what the candidate will use, before it can change it."""
        prepare_numpy(source)
        if imports(source, b"torch"):
            self.take_torch()
        if imports(source, b"triton"):
            self.watch_triton()
        if b"cpp_extension" in source and self.torch is not None:
            self.launches.watch_extensions()

    def watch_triton(self):
        if self.is_triton:
            return
        try:
            import triton  # noqa: F401
        except ImportError:
            return
        self.launches.watch_triton()
        self.is_triton = True

    def check_contract(self):
        class_name, function_name = CONTRACTS[self.options.stage]
        self.model_class = getattr(self.module, class_name, None)
        self.function_name = function_name
        if not isinstance(self.model_class, type):
            raise Failure("contract_violation", "the program defines no class " + class_name)
        if function_name and not callable(getattr(self.module, function_name, None)):
            raise Failure("contract_violation", "the program defines no function " + function_name)

    def engine(self):
        if self.options.device == "cuda" and self.torch is not None:
            major, minor = self.torch.cuda.get_device_capability()
            return "cuda-sm_%d%d" % (major, minor)
        return "triton-interpreter" if self.is_interpreted and os.environ.get("TRITON_INTERPRET") == "1" else "cpu"

    def hello(self):
        return {"op": "hello", "side": "candidate", "python": platform.python_version(),
                "torch": str(self.torch.__version__).split("+")[0] if self.torch else "",
                "device": self.options.device, "engine": self.engine(),
                "defines": [x for x in CONTRACTS[self.options.stage] if x]}

    # One question ----------------------------------------------------------------------------------------------------

    def record_class(self, name, fields):
        known = getattr(self.module, name, None)
        is_like_it = isinstance(known, type) and set(fields) <= set(getattr(known, "__annotations__", fields))
        return known if is_like_it else None

    def read(self, question, channel):
        decoder = Decoder(self.codec, channel.fill, self.record_class)
        init_args, inputs = decoder.value(question["init_args"]), decoder.value(question["inputs"])
        parameters = question.get("parameters")
        return init_args, inputs, None if parameters is None else decoder.value(parameters)

    def built(self, question, init_args, parameters):
        self.last_built = None
        _, is_affine = draws.split(question["style"])
        args = modules.fresh(self.codec, init_args)
        calls.must_bind(self.model_class, args, self.model_class.__name__ + "()")
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
            calls.transplant(self.torch, model, modules.state_of(self.torch, model), parameters)
        # For a timing. Of its weights, a model that was given them is the only one.
        self.last_built = ({"style": question["style"], "mode": question.get("mode")}, init_args,
                           None if parameters is None else model)
        return model

    def forward(self, model, inputs):
        target = model if callable(model) else getattr(model, "forward", None)
        if target is None:
            raise Failure("contract_violation", "the model cannot be called")
        calls.must_bind(getattr(model, "forward", target), inputs, "forward()")
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

    def answered(self, question, channel):
        if self.timed.answers(question):
            return self.timed.answer(question, channel)
        if self.large.answers(question):
            return self.large.answer(question, channel, Answer)
        return self.ask(question, channel)

    def ask(self, question, channel):
        if self.codec is None and '"t":"tensor"' in frames.text_of(question):
            self.take_torch()
        init_args, inputs, parameters = self.read(question, channel)
        inputs = modules.fresh(self.codec, inputs, self.device)
        model = self.built(question, init_args, parameters)
        # Once, before its forward can break what this takes of torch.
        state = modules.state_of(self.torch, model)
        trained = {name for name, _ in model.named_parameters()} if state else set()
        digests = modules.digests(self.codec, state)
        self.given = [model, state]
        if draws.is_second_call(question["style"]):
            self.given.append(self.forward(model, self.hand(inputs)))
        used = self.hand(inputs)
        recorder = self.recorder(used)
        wants_function = question.get("function") is not False
        self.launches.start(holds=recorder is not None and self.evidence.known is None)
        began = time.monotonic()
        outputs = self.forward(model, used)
        self.given.append(outputs)
        took = time.monotonic() - began
        self.forget(recorder)
        count, storages = self.launches.count, self.launches.storages
        answer = Answer(self.codec, question["id"], self.copied(outputs),
                        modules.changed_leaves(self.codec, inputs, used))
        answer.digests, answer.launches, answer.launched = digests, count, self.launches.launched.told()
        if recorder is not None:
            self.look_further(answer, model, (state, trained), inputs, outputs, init_args, recorder,
                              took if wants_function else None)
            answer.is_launched = self.evidence.is_launched(outputs, storages)
        self.keep()
        return answer.frame()

    def timed_sets(self, question, channel):
        """From here on nobody counts launches: that takes longer than some kernels."""
        self.launches.stop_watching()
        self.given, self.kept, self.large.given, self.large.last = [], [], None, None
        try:
            sets, said = self.sets_of(question, channel), {}
        except Undrawn:
            return [], None, {"undrawn": True}, []
        if "recipe" in question:
            said["input_digests"] = [x for one in sets for x in modules.tensor_digests(
                self.codec, one, modules.leaf_digests(self.codec, one))]
        if question["model"] == "kept":
            return sets, None, said, []
        asked, init_args, model = self.last_built
        if question["model"] == "fresh":
            model = self.built({**asked, "init_seed": question["init_seed"]}, init_args, None)
        target = model if callable(model) else model.forward
        return sets, lambda inputs: target(*inputs), said, []

    def sets_of(self, question, channel):
        if "recipe" not in question:
            decoder = Decoder(self.codec, channel.fill, self.record_class)
            return [decoder.value(x) for x in question["inputs"]]
        try:
            return [self.large.drawn({"style": question["style"],
                                      "draw": {"recipe": question["recipe"], "input_seed": x}})
                    for x in question["input_seeds"]]
        except BaseException as error:  # the problem's own code
            raise Undrawn() from error

    def look_further(self, answer, model, owned, inputs, outputs, init_args, recorder, took):
        """What is asked of those who promise a kernel. `took`: None where the function is not to be called."""
        if took is not None and not (self.is_slow and took > SLOW_CALL_S):
            answer.function = self.function_outputs(owned, inputs, init_args, recorder)
            self.is_slow = took > SLOW_CALL_S

        def call():
            used = self.hand(inputs)
            self.given.append(self.forward(model, used))
            return used, self.copied(self.given[-1])

        answer.evidence = self.evidence.of(call, inputs, outputs, answer, owned[0].values(), answer.launches)
        answer.torch_ops = sorted(self.evidence.torch_ops)

    def recorder(self, inputs):
        if not self.function_name:
            return None
        recorder = calls.Recorder(getattr(self.module, self.function_name), inputs)
        setattr(self.module, self.function_name, recorder)
        return recorder

    def forget(self, recorder):
        if recorder is not None:
            setattr(self.module, self.function_name, recorder.function)

    def hand(self, value):
        """A fresh copy for the candidate, held until the answer is out: its destructors may do anything."""
        self.given.append(modules.fresh(self.codec, value))
        return self.given[-1]

    def keep(self):
        """Longer still, if it is small: the next answer should not wait for destructors either."""
        raws = [self.codec.plain(x) for x in leaves_of(self.given[1:]) if self.codec and self.codec.is_tensor(x)]
        self.kept_bytes += sum([self.codec.bytes_of(x) for x in raws if x is not None])
        if self.kept_bytes <= KEPT_BYTES:
            self.kept.append(self.given)

    def function_outputs(self, owned, inputs, init_args, recorder):
        """kernel_function called as the contract says, where its signature takes that."""
        weights = {name.replace(".", "_"): x for name, x in owned[0].items()}
        must = {name.replace(".", "_") for name in owned[1]}
        try:
            kwargs = calls.keywords(recorder, inputs, weights, must,
                                    calls.hyper_parameters(self.model_class, init_args),
                                    lambda x: self.codec is not None and self.codec.is_tensor(x))
            kwargs = {k: v.detach() if k in weights else v for k, v in kwargs.items()}
            made = self.quietly(recorder.function, self.hand(inputs), self.hand(kwargs))
            self.given.append(made)
            return {"outputs": self.copied(made)}
        except Failure as refusal:
            return {"refused": refusal.reason}
        except BaseException as error:
            return {"refused": "raised " + one_line(error)}


class Answer:
    def __init__(self, codec, number, outputs, changed):
        self.codec, self.number, self.outputs = codec, number, outputs
        self.changed = [(leaf, self.snapshot(value)) for leaf, value in changed]
        self.digests, self.function, self.launches, self.input_digests = [], None, 0, None
        self.evidence, self.is_launched, self.launched, self.torch_ops = "not_looked", False, [], []

    def snapshot(self, value):
        if self.codec is None:
            return value
        return rebuilt(value, lambda x: self.codec.copy(self.codec.plain(x)) if self.codec.is_tensor(x) and
                       self.codec.plain(x) is not None else x)

    def frame(self):
        encoder = Encoder(self.codec)
        head = {"op": "answer", "id": self.number, "outputs": encoder.node(self.outputs)}
        head["inputs_after"] = [[leaf, encoder.node(value)] for leaf, value in self.changed]
        head["parameters"], head["function"] = self.digests, self.function
        if self.function and "outputs" in self.function:
            head["function"] = {"outputs": encoder.node(self.function["outputs"])}
        if self.input_digests is not None:
            head["input_sha256"] = self.input_digests
        if self.torch_ops:
            head["torch_ops"] = ", ".join(self.torch_ops)
        if self.launched:
            head["launched"] = self.launched
        head.update(launches=self.launches, kernel_evidence=self.evidence, output_launched=self.is_launched)
        total = sum([self.codec.bytes_of(x) for x in encoder.tensors])
        return head, total, (piece for x in encoder.tensors for piece in self.codec.buffers(x))


def main():
    channel = frames.Channel()
    options = parsed(sys.argv[1:])
    try:
        # Said before anything of the candidate runs: afterwards this process is its own.
        source = source_of(os.path.abspath(options.candidate))
        channel.send({"op": "policy", "findings": policy.check(source, options.stage)})
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
            answer = side.answered(question, channel)
        except BaseException as error:
            answer = (failure_of(error, side.path).head(question.get("id", 0)),)
        channel.skip_body()
        channel.send(*answer)


main()
