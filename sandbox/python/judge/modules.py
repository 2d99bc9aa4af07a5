# SPDX-License-Identifier: Apache-2.0
"""What both sides do with models and values: fresh copies, devices, parameters."""
__builtins__ = dict(vars(__import__("builtins")))

import copy
import hashlib

from tree import Encoder, leaves_of, rebuilt, skeleton

_sha256 = hashlib.sha256


def fresh(codec, value, device=None):
    """New containers, new tensors of the same layout on the device; other leaves are copied if they can be."""

    def leaf(x):
        if codec is not None and codec.is_tensor(x):
            return codec.twin(x, device)
        if x is None or isinstance(x, (bool, int, float, str, bytes)):
            return x
        try:
            return copy.deepcopy(x)
        except Exception:
            return x

    return rebuilt(value, leaf)


def converted(torch, value, device, dtype):
    """Floating tensors in another dtype (complex in its complex one), all on the device."""
    wide = {torch.float64: torch.complex128}.get(dtype)

    def leaf(x):
        if not isinstance(x, torch.Tensor):
            return x
        if dtype is not None and x.is_floating_point():
            return x.detach().to(device=device, dtype=dtype)
        if wide is not None and x.is_complex():
            return x.detach().to(device=device, dtype=wide)
        return x.detach().to(device=device)

    return rebuilt(value, leaf)


def settle(torch, model, device, dtype=None):
    """Moves a model, also the tensors that it keeps outside parameters and buffers (packed weights, hidden states)."""
    if not isinstance(model, torch.nn.Module):
        return model
    with torch.no_grad():
        model = model.to(device)
        if dtype is not None:  # not .to(dtype), which makes complex parameters real
            model._apply(lambda x: converted(torch, x, device, dtype))
        if dtype is None and device.type == "cpu":
            return model
        for module in model.modules():
            for name, value in list(vars(module).items()):
                if not name.startswith("_") and holds_tensor(torch, value):
                    object.__setattr__(module, name, converted(torch, value, device, dtype))
    return model


def holds_tensor(torch, value):
    if isinstance(value, (list, tuple, dict)):
        children = list(value.values()) if isinstance(value, dict) else list(value)
        return any(isinstance(x, torch.Tensor) for x in children[:4096])
    return isinstance(value, torch.Tensor)


def state_of(torch, model):
    """Name -> tensor, parameters and buffers in `state_dict` order."""
    if torch is None or not isinstance(model, torch.nn.Module):
        return {}
    return {name: x for name, x in model.state_dict(keep_vars=True).items() if isinstance(x, torch.Tensor)}


def digests(codec, state):
    made = []
    for name, value in state.items():
        raw = codec.plain(value)
        if raw is None:
            continue
        digest = _sha256()
        for piece in codec.buffers(raw):
            digest.update(piece)
        node = codec.node(raw)
        made.append({"name": name, "dtype": node["dtype"], "shape": node["shape"], "sha256": digest.hexdigest()})
    return made


def leaf_digests(codec, value):
    """[SHA-256 or text] of each leaf: what tells whether it changed where a copy would take too much memory."""
    made = []
    for leaf in leaves_of(value):
        raw = codec.plain(leaf) if codec is not None and codec.is_tensor(leaf) else None
        if raw is None:
            made.append(repr(Encoder(codec).node(leaf)))
            continue
        digest = _sha256()
        for piece in codec.buffers(raw):
            digest.update(piece)
        made.append(digest.hexdigest())
    return made


def tensor_digests(codec, value, digests):
    """Those of `digests` that stand for tensors."""
    return [x for x, leaf in zip(digests, leaves_of(value)) if codec.is_tensor(leaf) and codec.plain(leaf) is not None]


def changed_since(codec, form, digests, after):
    """As changed_leaves, by skeleton and digests from before."""
    if skeleton(after) != form:
        return [(-1, after)]
    return [(i, x) for i, (x, was, now) in enumerate(zip(leaves_of(after), digests, leaf_digests(codec, after))) if was != now]


def moved(codec, value, device):
    """On the device; not copied where it is there already."""
    return rebuilt(value, lambda x: codec.moved(x, device) if codec is not None and codec.is_tensor(x) else x)


def changed_leaves(codec, before, after):
    """[(leaf number, value)] where the values differ; (-1, everything) where the structure does."""
    if skeleton(before) != skeleton(after):
        return [(-1, after)]
    return [(number, y) for number, (x, y) in enumerate(zip(leaves_of(before), leaves_of(after)))
            if not is_same_leaf(codec, x, y)]


def is_same_leaf(codec, one, other):
    if codec is not None and (codec.is_tensor(one) or codec.is_tensor(other)):
        if not (codec.is_tensor(one) and codec.is_tensor(other)):
            return False
        one, other = codec.plain(one), codec.plain(other)
        return one is not None and other is not None and codec.is_same(one, other)
    return Encoder(codec).node(one) == Encoder(codec).node(other)
