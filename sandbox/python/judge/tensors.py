# SPDX-License-Identifier: Apache-2.0
"""Tensors as bytes: the part of tree.py that needs torch."""
__builtins__ = dict(vars(__import__("builtins")))

import ctypes

from tree import DTYPES, PIECE


class Tensors:
    """torch's own functions, taken when this is made, that is before foreign code is loaded."""

    def __init__(self, torch, sees_meta=False):
        """`sees_meta`: for those who ask for shapes only; elsewhere a tensor without memory is no value."""
        self.sees_meta = sees_meta
        T = torch.Tensor
        self.Tensor = T
        self.no_overrides = torch._C.DisableTorchFunctionSubclass
        self.no_grad = torch.no_grad
        self.no_dispatch = T.__torch_dispatch__
        self.strided, self.cpu = torch.strided, torch.device("cpu")
        self.u8 = torch.uint8
        self.dtypes = {getattr(torch, x): x for x in DTYPES if hasattr(torch, x)}
        self.named = {name: dtype for dtype, name in self.dtypes.items()}
        self.frombuffer, self.empty, self.equal = torch.frombuffer, torch.empty, torch.equal
        for name in ("dtype", "device", "layout", "is_quantized", "is_nested", "is_meta", "requires_grad"):
            setattr(self, "_" + name, getattr(T, name).__get__)
        for name in ("as_subclass", "clone", "contiguous", "copy_", "data_ptr", "detach", "element_size", "is_complex",
                     "is_conj", "is_contiguous", "is_floating_point", "is_neg", "narrow", "numel", "requires_grad_",
                     "reshape", "resolve_conj", "resolve_neg", "select", "size", "to", "untyped_storage", "view"):
            setattr(self, "_" + name, getattr(T, name))

    def is_tensor(self, value):
        return isinstance(value, self.Tensor)

    def is_inexact(self, raw):
        return self._is_floating_point(raw) or self._is_complex(raw)

    def describe(self, value):
        with self.no_overrides():
            kind = type(value).__name__
            try:
                return ("%s %s %s" % (kind, self._layout(value), self._dtype(value)))[:200]
            except Exception:
                return kind[:200]

    def plain(self, value):
        """The tensor as torch.Tensor over the same storage, or None if there is no such thing."""
        with self.no_overrides(), self.no_grad():
            try:
                if type(value).__torch_dispatch__ is not self.no_dispatch:
                    return None
                if self._is_quantized(value) or self._is_nested(value) or self._layout(value) != self.strided:
                    return None
                if self._dtype(value) not in self.dtypes:
                    return None
                raw = self._detach(self._as_subclass(value, self.Tensor))
                if not self._is_meta(raw):
                    self._data_ptr(raw)  # raises where there is no storage
                elif not self.sees_meta:
                    return None
                return raw
            except (RuntimeError, NotImplementedError, AttributeError, TypeError):
                return None

    def node(self, raw):
        return {"t": "tensor", "dtype": self.dtypes[self._dtype(raw)], "shape": [int(x) for x in self._size(raw)],
                "bytes": self.bytes_of(raw)}

    def bytes_of(self, raw):
        return self._numel(raw) * self._element_size(raw)

    def flat(self, block):
        """Contiguous, on the host, one dimension, no lazy bits."""
        block = self._resolve_neg(self._resolve_conj(block))
        if self._device(block) != self.cpu:
            block = self._to(block, self.cpu)
        return self._reshape(self._contiguous(block), (-1,))

    def blocks(self, raw, most=PIECE):
        """Flat pieces in row-major order, at most `most` elements each; exactly so many (but for the last) where the
        tensor is contiguous. Never a whole copy of an expanded or strided tensor."""
        count = self._numel(raw)
        if count == 0:
            return
        if count <= most:
            yield self.flat(raw)
        elif self._is_contiguous(raw):
            line = self._view(raw, (-1,))
            for at in range(0, count, most):
                yield self.flat(self._narrow(line, 0, at, min(most, count - at)))
        else:
            rows = self._size(raw, 0)
            each = count // rows
            if each >= most:
                for row in range(rows):
                    yield from self.blocks(self._select(raw, 0, row), most)
                return
            step = most // each
            for row in range(0, rows, step):
                yield self.flat(self._narrow(raw, 0, row, min(step, rows - row)))

    def buffers(self, raw, most=PIECE):
        """The bytes of `blocks`, without a copy where there need be none."""
        with self.no_overrides(), self.no_grad():
            for block in self.blocks(raw, most):
                yield self.buffer(block)

    def buffer(self, block):
        made = (ctypes.c_char * self.bytes_of(block)).from_address(self._data_ptr(block))
        made.kept = block  # the memory belongs to the tensor
        return memoryview(made).cast("B")

    def read(self, node, read_into):
        dtype, shape = self.named[node["dtype"]], tuple(node["shape"])
        with self.no_overrides(), self.no_grad():
            if node["bytes"] == 0:
                return self.empty(shape, dtype=dtype, device=self.cpu)
            data = bytearray(node["bytes"])
            if not read_into(memoryview(data)):
                raise EOFError("the channel ended within a tensor")
            return self._reshape(self._view(self.frombuffer(data, dtype=self.u8), dtype), shape)

    def copy(self, raw, device=None):
        """An independent copy of a plain tensor, contiguous, on the host unless said otherwise."""
        with self.no_overrides(), self.no_grad():
            made = self._resolve_neg(self._resolve_conj(raw))
            made = self._contiguous(self._to(made, device or self.cpu))
            if self._data_ptr(made) == self._data_ptr(raw):
                made = self._clone(made)
            return made

    def twin(self, value, device=None):
        """An independent tensor of the same layout where that makes sense."""
        with self.no_overrides(), self.no_grad():
            made = self._clone(self._detach(value))
            made = made if device is None else self._to(made, device)
        return self._requires_grad_(made) if self._requires_grad(value) else made

    def moved(self, value, device):
        with self.no_overrides(), self.no_grad():
            made = self._to(self._detach(value), device)
        return self._requires_grad_(made) if self._requires_grad(value) else made

    def is_same(self, one, other):
        """Byte for byte, so that NaN equals itself and -0.0 is not 0.0."""
        with self.no_overrides(), self.no_grad():
            if self._dtype(one) != self._dtype(other) or self._size(one) != self._size(other):
                return False
            one, other = self.dense(one), self.dense(other)
            for x, y in zip(self.blocks(one), self.blocks(other)):
                if not self.equal(self._view(x, self.u8), self._view(y, self.u8)):
                    return False
            return True

    def dense(self, raw):
        return raw if self._is_contiguous(raw) else self._contiguous(raw)
