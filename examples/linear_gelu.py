# SPDX-License-Identifier: Apache-2.0
"""Matrix product with an epilogue: linear layer, GELU (tanh form), scale. No size is a power of two."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int, scale: float):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scale * F.gelu(self.linear(x), approximate="tanh")


batch = 40
in_features = 72
out_features = 50


def get_inputs():
    return [torch.randn(batch, in_features)]


def get_init_inputs():
    return [in_features, out_features, 3.0]
