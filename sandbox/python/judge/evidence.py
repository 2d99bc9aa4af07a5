# SPDX-License-Identifier: Apache-2.0
"""Counts launches of Triton kernels, and can make them do nothing. Against fallbacks, not against adversaries."""
__builtins__ = dict(vars(__import__("builtins")))

import os

# A program that loops until a kernel's result says stop would loop for ever once launches do nothing.
DRY_LAUNCHES = 64


class TooManyLaunches(BaseException):
    """Not an Exception, so that a candidate's own handler does not take it for a failure of its kernel."""


class Launches:
    def __init__(self):
        self.count, self.storages = 0, set()
        self.is_dry, self.left = False, 0

    def start(self, is_dry=False, left=0):
        self.count, self.storages = 0, set()
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
            self.storages.add(value.untyped_storage().data_ptr())

    def install(self):
        """After triton's import, before the candidate's. Triton's launch hooks are neither called by its interpreter
        nor do they tell arguments, so the places that launch are wrapped."""
        if os.environ.get("TRITON_INTERPRET") == "1":
            import triton.runtime.interpreter
            self.wrap_interpreter(triton.runtime.interpreter.GridExecutor)
        else:
            import triton.runtime.jit
            self.wrap_compiled(triton.runtime.jit.JITFunction)

    def wrap_interpreter(self, executor):
        original = executor.__call__

        def launch(grid_executor, *args, **kwargs):
            if not self.seen(args, kwargs):
                return original(grid_executor, *args, **kwargs)
            return None

        executor.__call__ = launch

    def wrap_compiled(self, function):
        original = function.run

        def run(kernel, *args, grid, warmup, **kwargs):
            is_nothing = not warmup and self.seen(args, kwargs)
            return original(kernel, *args, grid=grid, warmup=warmup or is_nothing, **kwargs)

        function.run = run
