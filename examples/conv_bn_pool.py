# SPDX-License-Identifier: Apache-2.0
"""Convolution, batch normalisation with stored statistics, ReLU, pooling; what runs depends on how it was built."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, normalise: bool, use_max: bool):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)
        self.use_max = use_max
        self.bn = None
        if normalise:
            self.bn = nn.BatchNorm2d(out_channels)
            self.bn.running_mean.normal_(0.0, 0.3)
            self.bn.running_var.uniform_(0.5, 1.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        if self.bn is not None:
            # Stored statistics in either mode: inference only.
            y = F.batch_norm(y, self.bn.running_mean, self.bn.running_var, self.bn.weight, self.bn.bias, eps=self.bn.eps)
        y = torch.relu(y)
        if min(y.shape[-2:]) < 2:
            return y
        return F.max_pool2d(y, 2) if self.use_max else F.avg_pool2d(y, 2)


batch = 2
in_channels = 3
out_channels = 6
height = 14
width = 18


def get_inputs():
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, True, True]
