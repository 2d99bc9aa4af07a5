# SPDX-License-Identifier: Apache-2.0
"""Causal self-attention with its projections: each position looks at itself and at what came before."""
import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        size = width // self.heads
        q, k, v = (t.view(batch, length, self.heads, size).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(size)
        hidden = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


batch = 2
length = 21
width = 32
heads = 2


def get_inputs():
    return [torch.randn(batch, length, width)]


def get_init_inputs():
    return [width, heads]
