# SPDX-License-Identifier: Apache-2.0
"""Row reduction: softmax with a temperature and a learned offset for each column.

The temperature is low enough that a row's largest probability is far from zero: an output of zeros is no answer.
"""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, columns: int, temperature: float):
        super().__init__()
        self.temperature = temperature
        self.offset = nn.Parameter(0.5 * torch.randn(columns))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax((x + self.offset) / self.temperature, dim=-1)


rows = 48
columns = 37


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return [columns, 0.4]
