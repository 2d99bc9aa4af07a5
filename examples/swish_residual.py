# SPDX-License-Identifier: Apache-2.0
"""Element-wise: a swish whose slope is fixed and whose threshold is learned, plus half of the input."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features: int, slope: float):
        super().__init__()
        self.slope = slope
        self.shift = nn.Parameter(torch.randn(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = torch.sigmoid(self.slope * (x + self.shift))
        return x * gate + 0.5 * x


batch = 24
features = 150


def get_inputs():
    return [torch.randn(batch, features)]


def get_init_inputs():
    return [features, 1.7]
