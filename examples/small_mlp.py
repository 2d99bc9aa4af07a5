# SPDX-License-Identifier: Apache-2.0
"""A small network as found at the end of many models: two hidden layers with different activations, class scores."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_features: int, hidden: list, classes: int):
        super().__init__()
        self.first = nn.Linear(in_features, hidden[0])
        self.second = nn.Linear(hidden[0], hidden[1])
        self.last = nn.Linear(hidden[1], classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.silu(self.first(x))
        h = torch.relu(self.second(h))
        return 4.0 * self.last(h)


batch = 36
in_features = 20
hidden = [44, 30]
classes = 10


def get_inputs():
    return [torch.randn(batch, in_features)]


def get_init_inputs():
    return [in_features, hidden, classes]
