# SPDX-License-Identifier: Apache-2.0
"""What a launch that the interpreter saw was called with, in words that a compiler in another process understands."""
__builtins__ = dict(vars(__import__("builtins")))

import inspect

MOST = 16  # different signatures
TEXT = 100
# torch's dtype -> Triton's
TYPES = {"bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
         "uint32": "u32", "uint64": "u64", "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64",
         "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5"}
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")

_signature = inspect.signature


def word_of(value, is_constexpr):
    """{"type": …}, {"value": …} (a constant), or None for what no other process could make again."""
    if value is None or is_constexpr and isinstance(value, (bool, int, float, str)):
        return {"value": value[:TEXT] if isinstance(value, str) else value}
    if is_constexpr:
        name = getattr(value, "name", None)  # tl.float32
        return {"dtype": name} if isinstance(name, str) and type(value).__name__ == "dtype" else None
    if hasattr(value, "data_ptr") and hasattr(value, "dtype"):
        kind = TYPES.get(str(value.dtype).replace("torch.", ""))
        return None if kind is None else {"type": "*" + kind}
    if isinstance(value, bool):
        return {"type": "i1"}
    if isinstance(value, int):
        return {"type": "i32" if -2**31 <= value < 2**31 else "i64" if -2**63 <= value < 2**63 else "u64"}
    return {"type": "fp32"} if isinstance(value, float) else None


class Launched:
    def __init__(self):
        self.all = {}

    def note(self, function, constexprs, args, kwargs):
        """Of one launch. Never fails: what cannot be told is left out."""
        if len(self.all) >= MOST:
            return
        try:
            signature = _signature(function)
            bound = signature.bind(*args, **{k: v for k, v in kwargs.items() if k in signature.parameters})
            bound.apply_defaults()
            words = {name: word_of(x, name in constexprs) for name, x in bound.arguments.items()}
            options = {k: kwargs[k] for k in OPTIONS if isinstance(kwargs.get(k), int) and k not in signature.parameters}
            one = {"kernel": function.__name__, "args": words, "options": options}
            if any(x is None for x in words.values()):
                one = {"kernel": function.__name__, "untold": [k for k, x in words.items() if x is None][0]}
            self.all.setdefault(repr(one), one)
        except Exception:
            return

    def told(self):
        return list(self.all.values())
