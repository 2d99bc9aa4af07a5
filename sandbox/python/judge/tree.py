# SPDX-License-Identifier: Apache-2.0
"""Trees of docs/judge.md: Python values to nodes and bytes, and back.

Tensors are read through torch.Tensor's own methods, taken before foreign code is loaded, with subclasses' overrides
switched off: what is sent is what lies in the storage.
"""
__builtins__ = dict(vars(__import__("builtins")))

import collections
import collections.abc
import ctypes
import dataclasses

DEPTH = 32
LEAVES = 4096
NAMES = 1 << 16  # characters of one text; longer ones are cut and so differ from nothing honest
INT_BITS = 8192  # Python refuses to print integers of more than 4,300 digits
PIECE = 1 << 18  # elements, docs/judge.md

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16",
          "float32", "float64", "float8_e4m3fn", "float8_e5m2", "complex64", "complex128")

_fields, _is_dataclass, _mapping = dataclasses.fields, dataclasses.is_dataclass, collections.abc.Mapping
_char, _float_hex = ctypes.c_char, float.hex


class TreeError(Exception):
    """Too deep, too many leaves: not a tree that anybody compares."""


def field_names(value):
    """Of dataclasses and named tuples, else None."""
    if isinstance(value, type):
        return None
    if _is_dataclass(value):
        return [x.name for x in _fields(value)]
    names = getattr(type(value), "_fields", None)
    if isinstance(value, tuple) and isinstance(names, tuple):
        return list(names)
    return None


def parts(value):
    """Kind and children of a container, or (None, None) for a leaf."""
    if isinstance(value, _mapping):
        return "dict", list(value.values())
    names = field_names(value)
    if names is not None:
        return "record", [getattr(value, x) for x in names]
    if isinstance(value, list):
        return "list", list(value)
    if isinstance(value, tuple):
        return "tuple", list(value)
    return None, None


def scalar_node(value):
    if value is None:
        return {"t": "none"}
    if isinstance(value, bool):
        return {"t": "bool", "v": bool(value)}
    if isinstance(value, int):
        if value.bit_length() >= INT_BITS:
            return {"t": "unknown", "v": "large int"}
        return {"t": "int", "v": int.__repr__(value)}
    if isinstance(value, float):
        return {"t": "float", "v": _float_hex(value)}
    if isinstance(value, str):
        return {"t": "str", "v": str.__str__(value)[:NAMES]}
    return {"t": "unknown", "v": type(value).__name__[:NAMES]}


class Encoder:
    """One frame's trees; `tensors` are those whose bytes follow, in order."""

    def __init__(self, tensors_of):
        self.tensors_of = tensors_of
        self.tensors = []
        self.leaves = 0

    def node(self, value, depth=0):
        if depth > DEPTH:
            raise TreeError("more than %d levels deep" % DEPTH)
        kind, children = parts(value)
        if kind is None:
            return self.leaf(value)
        if len(children) > LEAVES:
            raise TreeError("more than %d leaves" % LEAVES)
        node = {"t": kind}
        if kind == "dict":
            node["k"] = [scalar_node(x) for x in value]
        elif kind == "record":
            node["name"] = type(value).__name__[:NAMES]
            node["f"] = field_names(value)
        node["v"] = [self.node(x, depth + 1) for x in children]
        return node

    def leaf(self, value):
        self.leaves += 1
        if self.leaves > LEAVES:
            raise TreeError("more than %d leaves" % LEAVES)
        codec = self.tensors_of
        if codec is None or not codec.is_tensor(value):
            return scalar_node(value)
        raw = codec.plain(value)
        if raw is None:
            return {"t": "unknown", "v": codec.describe(value)}
        self.tensors.append(raw)
        return codec.node(raw)


def leaves_of(value, depth=0):
    """The leaves in the order of their numbers."""
    if depth > DEPTH:
        raise TreeError("more than %d levels deep" % DEPTH)
    _, children = parts(value)
    if children is None:
        return [value]
    return [leaf for child in children for leaf in leaves_of(child, depth + 1)]


def skeleton(value, depth=0):
    """Equal for trees that differ at most in their leaves."""
    if depth > DEPTH:
        raise TreeError("more than %d levels deep" % DEPTH)
    kind, children = parts(value)
    if kind is None:
        return "."
    names = [scalar_node(x) for x in value] if kind == "dict" else field_names(value) if kind == "record" else []
    return [kind, names] + [skeleton(x, depth + 1) for x in children]


def rebuilt(value, leaf, depth=0):
    """The same structure with new containers and `leaf` applied to every leaf."""
    if depth > DEPTH:
        raise TreeError("more than %d levels deep" % DEPTH)
    kind, children = parts(value)
    if kind is None:
        return leaf(value)
    made = [rebuilt(x, leaf, depth + 1) for x in children]
    if kind == "dict":
        return type(value)(zip(list(value), made)) if type(value).__module__ in ("builtins", "collections") and \
            type(value).__name__ in ("dict", "OrderedDict") else dict(zip(list(value), made))
    if kind == "list":
        return made
    if kind == "tuple":
        return tuple(made)
    if isinstance(value, tuple):
        return type(value)._make(made)
    twin = object.__new__(type(value))
    if hasattr(twin, "__dict__"):  # not with slots
        twin.__dict__.update(value.__dict__)
    for name, part in zip(field_names(value), made):
        object.__setattr__(twin, name, part)
    return twin


class Decoder:
    """Nodes to values. `read_into` fills a memoryview with the next bytes of the body."""

    def __init__(self, codec, read_into, record_class=None):
        self.codec = codec
        self.read_into = read_into
        self.record_class = record_class or (lambda name, fields: None)

    def value(self, node):
        kind = node["t"]
        if kind == "tensor":
            return self.codec.read(node, self.read_into)
        if kind == "none":
            return None
        if kind == "int":
            return int(node["v"])
        if kind == "float":
            return float.fromhex(node["v"])
        if kind in ("bool", "str"):
            return node["v"]
        if kind == "unknown":
            raise TreeError("a value of type " + node["v"])
        made = [self.value(x) for x in node["v"]]
        if kind == "dict":
            return dict(zip([self.value(x) for x in node["k"]], made))
        if kind == "record":
            return self.record(node["name"], node["f"], made)
        return tuple(made) if kind == "tuple" else made

    def record(self, name, fields, values):
        """The other side's own class of that name, if it has one, else something with these fields."""
        known = self.record_class(name, fields)
        if known is not None:
            return known(**dict(zip(fields, values)))
        return collections.namedtuple(name, fields, rename=True)(*values)


