# SPDX-License-Identifier: Apache-2.0
"""Which mathematics PyTorch itself does while a candidate runs that promised a kernel of its own, whatever name the
code calls it by. Like the rules about code, against fallbacks, not against adversaries."""
__builtins__ = dict(vars(__import__("builtins")))

from policy_tables import HEAVY

# A view there, whatever it is in torch.nn.functional.
MOVES = frozenset(("unfold",))
BEGINNINGS = ("native_layer_norm", "native_batch_norm", "native_group_norm", "cudnn_", "mkldnn_", "miopen_", "mps_", "scaled_dot_product", "fused_", "thnn_", "slow_conv", "conv_",
              "max_pool", "avg_pool", "adaptive_", "fractional_max_pool", "upsample_", "grid_sampler", "im2col", "fft_",
              "linalg_", "nll_loss", "log_sigmoid", "prelu", "cdist", "embedding_bag", "efficient_attention", "flash_attention")


def is_heavy(name):
    """`aten::_softmax`, `aten::relu_` … by their schemas' names."""
    library, _, name = name.partition("::")
    name = name.strip("_")
    return library in ("aten", "mkldnn", "quantized", "torchvision") and name not in MOVES and \
        (name in HEAVY or name.startswith(BEGINNINGS))


def watch_of(torch):
    """A context in which `names` collects what is done with floating numbers. Made before foreign code is loaded."""
    from torch.utils._python_dispatch import TorchDispatchMode
    Tensor = torch.Tensor

    class Watch(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = set()

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            made = function(*args, **(kwargs or {}))
            first = made[0] if isinstance(made, (tuple, list)) and made else made
            name = function._schema.name
            if is_heavy(name) and isinstance(first, Tensor) and (first.is_floating_point() or first.is_complex()):
                self.names.add(name)
            return made

    # Else the first call of it imports torch._dynamo: 1.7 s of CPU and more in every run.
    dispatch = getattr(Watch.__dict__["__torch_dispatch__"], "__wrapped__", None)
    if dispatch is not None:
        setattr(dispatch, "__dynamo_disable", dispatch)
    return Watch
