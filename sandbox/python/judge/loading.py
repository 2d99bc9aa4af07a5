# SPDX-License-Identifier: Apache-2.0
"""Loads foreign files as modules, and says in few words what went wrong in them."""
__builtins__ = dict(vars(__import__("builtins")))

import importlib.util
import os
import re
import sys
import traceback

FOLDER = os.path.dirname(os.path.abspath(__file__))
FILE_BYTES = 1 << 20  # messages/limits.hpp: candidate_bytes
REASON = 300
DETAIL = 4000
LINES = 24  # of a traceback

OUR_FAULTS = (NameError, AttributeError, KeyError, IndexError, ImportError, AssertionError)
OUR_STATUS = 70  # sysexits.h: EX_SOFTWARE
# By name: in a run's folder the file that is judged lies beside these.
OUR_FILES = frozenset(x + ".py" for x in (
    "calls", "candidate_side", "compile_side", "draws", "evidence", "exact", "frames", "large", "launched", "library_ops", "loading",
    "modules", "policy", "policy_program", "policy_tables", "recipe", "reference_side", "sizes", "tensors", "timed_side", "timing",
    "tree"))

_exit, _print_exception = os._exit, traceback.print_exception
_walk_tb, _frame_summary = traceback.walk_tb, traceback.FrameSummary


class Failure(Exception):
    """What a side answers instead: one of the judgements of docs/judge.md."""

    def __init__(self, judgement, reason, detail=""):
        super().__init__(reason)
        self.judgement, self.reason, self.detail = judgement, printable(reason)[:REASON], detail[:DETAIL]

    def head(self, number=None):
        made = {"op": "failed", "judgement": self.judgement, "reason": self.reason, "detail": self.detail}
        return made if number is None else {"op": "failed", "id": number, **{k: made[k] for k in made if k != "op"}}


def printable(text):
    return "".join([x if x.isprintable() else " " for x in text.replace("\n", " ")])


def source_of(path):
    with open(path, "rb") as file:
        data = file.read(FILE_BYTES + 1)
    if len(data) > FILE_BYTES:
        raise Failure("contract_violation", "the file has more than %d bytes" % FILE_BYTES)
    return data


def imports(source, name):
    """Whether it seems so; a library that takes seconds is only loaded for those who use it."""
    return re.search(rb"^\s*(import|from)\b[^#\n]*\b" + name + rb"\b", source, re.MULTILINE) is not None


def forget_our_folder():
    """A file's own `import tree` means another one than ours, and what lies beside it is not for it."""
    sys.path[:] = [x for x in sys.path if os.path.abspath(x) != FOLDER]
    for name, module in list(sys.modules.items()):
        if name != "__main__" and os.path.dirname(getattr(module, "__file__", None) or "") == FOLDER:
            del sys.modules[name]


def prepare_numpy(source):
    """It loads its generator at the first use, which would be after we seeded it."""
    if imports(source, b"numpy"):
        try:
            import numpy.random  # noqa: F401
        except ImportError:
            pass


def load(path, fallback_name):
    """The file as a module that is known under its name, as dataclasses and pickles need; its main guard stays shut.
    Whatever it raises comes through."""
    name = os.path.splitext(os.path.basename(path))[0]
    if not name.isidentifier() or name in sys.modules or name in sys.builtin_module_names:
        name = fallback_name
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def message_of(error):
    try:
        text = str(error)
    except BaseException:  # its own __str__ may do anything
        text = "(its text cannot be had)"
    return text


def one_line(error):
    """`ValueError: at most 2 dimensions`"""
    while type(error).__name__ == "InterpreterError" and error.__cause__ is not None:  # Triton's, around the real one
        error = error.__cause__
    lines = [x for x in message_of(error).split("\n") if x.strip()]
    if isinstance(error, SyntaxError):
        lines = ["line %s: %s" % (error.lineno, error.msg)]
    return printable(type(error).__name__ + (": " + lines[0].strip() if lines else ""))[:REASON]


def own_lines(error, path):
    """A traceback that shows the file's own lines only: neither ours nor a library's. Causes come first."""
    parts, seen = [], set()
    while error is not None and id(error) not in seen and len(parts) < 4:
        seen.add(id(error))
        parts.append("\n".join(frames_of(error, path) + [last_words(error)]))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\nwhich led to\n".join(reversed(parts))[-DETAIL:]


def is_ours(error):
    """An error of this harness, which is nobody's judgement."""
    files = [frame.f_code.co_filename for frame, _ in _walk_tb(error.__traceback__)]
    return isinstance(error, OUR_FAULTS) and bool(files) and os.path.dirname(files[-1]) == FOLDER and \
        os.path.basename(files[-1]) in OUR_FILES


def give_up(error):
    """Nobody's answer: who reads the channel sees its end."""
    _print_exception(type(error), error, error.__traceback__)
    sys.stderr.flush()
    _exit(OUR_STATUS)


def frames_of(error, path):
    shown = []
    for frame, number in _walk_tb(error.__traceback__):
        if frame.f_code.co_filename == path:
            line = _frame_summary(path, number, "").line or ""
            shown.append("  line %s, in %s: %s" % (number, frame.f_code.co_name, line.strip()[:200]))
    if len(shown) > LINES:
        shown = shown[:LINES // 2] + ["  …"] + shown[-LINES // 2:]
    return shown


def last_words(error):
    if isinstance(error, SyntaxError):
        return one_line(error)
    return ("%s: %s" % (type(error).__name__, message_of(error)))[:DETAIL // 2]
