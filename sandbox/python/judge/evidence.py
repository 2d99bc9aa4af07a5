# SPDX-License-Identifier: Apache-2.0
"""Evidence that a candidate's own kernels do its work: launches are counted, and a call in which they do nothing must
give something else. Against fallbacks, not against adversaries, who share this process."""
__builtins__ = dict(vars(__import__("builtins")))

import os

import modules
from launched import Launched
from tree import leaves_of

# A program that loops until a kernel's result says stop would loop for ever once launches do nothing.
DRY_LAUNCHES = 64
GARBAGE = 0x7F  # NaN in most floating dtypes, far from zero in the others


class TooManyLaunches(BaseException):
    """Not an Exception, so that a candidate's own handler does not take it for a failure of its kernel."""


class Launches:
    def __init__(self):
        self.count, self.storages, self.held = 0, set(), None
        self.is_dry, self.left = False, 0
        self.is_off, self.places = False, []
        self.launched = Launched()

    def stop_watching(self):
        """For good: looking at a launch takes longer than some kernels do."""
        self.is_off = True
        for owner, name, original in self.places:
            setattr(owner, name, original)

    def start(self, is_dry=False, left=0, holds=False):
        """`holds`: keep the memory of the launches' floating arguments."""
        self.count, self.storages, self.held = 0, set(), {} if holds else None
        self.is_dry, self.left = is_dry, left

    def seen(self, args, kwargs):
        """Notes a launch; True if it must not happen."""
        self.count += 1
        if self.is_dry:
            self.left -= 1
            if self.left < 0:
                raise TooManyLaunches()
            return True
        for value in list(args) + list(kwargs.values()):
            self.note(value)
        return False

    def note(self, value):
        value = getattr(value, "base", value) if type(value).__name__ == "TensorDescriptor" else value
        if hasattr(value, "untyped_storage"):
            storage = value.untyped_storage()
            self.storages.add(storage.data_ptr())
            if self.held is not None and value.is_floating_point():  # garbage for an index would end a CUDA context
                self.held[storage.data_ptr()] = storage

    # The places that launch ------------------------------------------------------------------------------------------

    def watch_triton(self):
        """Triton's launch hooks are neither called by its interpreter nor do they tell arguments, so the places that
        launch are wrapped. After triton's import."""
        if os.environ.get("TRITON_INTERPRET") == "1":
            import triton.runtime.autotuner
            import triton.runtime.interpreter
            self.wrap_interpreter(triton.runtime.interpreter.GridExecutor)
            tune_nothing(triton.runtime.autotuner.Autotuner)
        else:
            import triton.compiler
            import triton.runtime.jit
            self.wrap_jit(triton.runtime.jit.JITFunction)
            self.wrap_compiled(triton.compiler.CompiledKernel)

    def wrap_interpreter(self, executor):
        original = executor.__call__

        def launch(grid_executor, *args, **kwargs):
            if not self.seen(args, kwargs):
                self.launched.note(grid_executor.fn, grid_executor.constexprs, args, kwargs)
                return original(grid_executor, *args, **kwargs)
            return None

        self.places.append((executor, "__call__", original))
        executor.__call__ = launch

    def wrap_jit(self, function):
        original = function.run

        def run(kernel, *args, grid, warmup, **kwargs):
            is_nothing = not warmup and self.seen(args, kwargs)
            return original(kernel, *args, grid=grid, warmup=warmup or is_nothing, **kwargs)

        self.places.append((function, "run", original))
        function.run = run

    def wrap_compiled(self, kernel):
        """Those that were compiled beforehand: `kernel.warmup(…)[grid](…)`."""
        original = kernel.__getitem__

        def at_grid(compiled, grid):
            runner = original(compiled, grid)

            def launch(*args, **kwargs):
                if not self.seen(args, kwargs):
                    return runner(*args, **kwargs)
                return None

            return launch

        self.places.append((kernel, "__getitem__", original))
        kernel.__getitem__ = at_grid

    def watch_extensions(self):
        """C++ and CUDA that the candidate compiles: a call is a launch."""
        import torch.utils.cpp_extension as cpp_extension
        for name in ("load", "load_inline"):
            original = getattr(cpp_extension, name)
            setattr(cpp_extension, name, lambda *args, _original=original, **kwargs: Extension(
                _original(*args, **kwargs), self))


def tune_nothing(autotuner):
    """Tuning takes times by a driver, and the interpreter has none: the first configuration is taken."""
    autotuner._bench = lambda tuner, *args, config, **meta: [0.0, 0.0, 0.0]


class Extension:
    """A compiled module whose functions are counted. A dry call has no result that we could make up, so it ends the
    dry run: the result did depend on it."""

    def __init__(self, module, launches):
        self.__dict__.update(_module=module, _launches=launches)

    def __getattr__(self, name):
        value, launches = getattr(self._module, name), self._launches
        if launches.is_off or not callable(value):
            return value

        def call(*args, **kwargs):
            if launches.seen(args, kwargs):
                raise TooManyLaunches()
            return value(*args, **kwargs)

        return call


class Evidence:
    """`seen`, `absent`, `inconsistent`, or `not_looked` where there are no tensors."""

    def __init__(self, codec, launches):
        self.codec, self.launches, self.known = codec, launches, None
        self.watch, self.torch_ops = None, []

    def of(self, call, inputs, outputs, answer, weights, count):
        """`call` hands fresh inputs to the candidate and gives (what it was given, what it returned)."""
        if not self.has_tensor(inputs) and not self.has_tensor(outputs):
            return "not_looked"
        if count == 0:
            return "absent"
        if self.known is None:
            is_other = self.is_other_when_dry(call, inputs, outputs, answer, weights, count)
            self.known = "seen" if is_other else "inconsistent"
        return self.known

    def has_tensor(self, value):
        return self.codec is not None and any(self.codec.is_tensor(x) for x in leaves_of(value))

    def is_other_when_dry(self, call, inputs, outputs, answer, weights, count):
        saved = self.spoil(outputs, weights)
        self.launches.start(is_dry=True, left=count + DRY_LAUNCHES)
        try:
            with self.watch() as seen:
                self.torch_ops = seen.names
                used, made = call()
            changed = modules.changed_leaves(self.codec, inputs, used)
            return bool(modules.changed_leaves(self.codec, answer.outputs, made)) or \
                self.is_unlike(answer.changed, changed)
        except BaseException:  # garbage may break what follows
            return True
        finally:
            self.launches.start()
            for storage, content in reversed(saved):
                storage.copy_(content)

    def is_unlike(self, one, other):
        return [x for x, _ in one] != [x for x, _ in other] or \
            bool(modules.changed_leaves(self.codec, [x for _, x in one], [x for _, x in other]))

    def spoil(self, outputs, weights, keeps=True):
        """Buffers that the candidate uses again, outputs or what it copies them from, must not still hold the right
        answer. `keeps`: to be put back."""
        found = dict(self.launches.held or {})
        for leaf in leaves_of(outputs):
            raw = self.codec.plain(leaf) if self.codec.is_tensor(leaf) else None
            if raw is not None:
                found[self.storage(raw)] = raw.untyped_storage()
        saved = []
        for place in set(found) - {self.storage(x) for x in weights}:
            if keeps:
                saved.append((found[place], found[place].clone()))
            found[place].fill_(GARBAGE)
        return saved

    def storage(self, tensor):
        raw = self.codec.plain(tensor)
        return None if raw is None else raw.untyped_storage().data_ptr()

    def is_launched(self, outputs, storages):
        """Whether a launch had an output's memory among its arguments."""
        return bool(storages) and any(
            self.codec.is_tensor(x) and self.storage(x) in storages for x in leaves_of(outputs))
