#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exact results of the drafted references beside what the words mean in PyTorch, in float64.

    check_with_pytorch.py DUMPS    # folders NAME.dump, each of `alphakernel problem dump --problem NAME --output NAME.dump`
"""
import array
import json
import sys

import torch
import torch.nn.functional as F
import torch.nn.functional as F


def load(folder, tensor):
    numbers = array.array({"float32": "f", "float64": "d", "uint8": "B"}[tensor["dtype"]])
    numbers.frombytes(open(folder + tensor["file"], "rb").read())
    return torch.tensor(list(numbers), dtype=torch.float64).reshape(tensor["shape"])


def ema(x):
    rows = [x[0]]
    for row in x[1:]:
        rows.append(0.9 * rows[-1] + 0.1 * row)
    return torch.stack(rows)


def focal(x, label):
    p = torch.sigmoid(x)
    of_label = p * label + (1 - p) * (1 - label)
    return F.binary_cross_entropy_with_logits(x, label, reduction="none") * (1 - of_label) ** 2


def shift(x, mu):
    return mu * x + (1 - mu) * F.pad(x, (0, 0, 1, -1))


MEANT = {
    "absmax_rows": lambda x: F.normalize(x, p=float("inf"), dim=1, eps=1e-12),
    "cummax_rows": lambda x: torch.cummax(x, 1).values,
    "huber_rows": lambda p, q: F.huber_loss(p, q, reduction="none", delta=1.0).mean(1),
    "pairwise_sqdist": lambda a, b: torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist") ** 2,
    "causal_conv1d": lambda x, weight, bias: F.conv1d(F.pad(x, (3, 0)), weight.unsqueeze(1), bias, groups=x.shape[1]),
    "cosine_rows": lambda a, b: F.cosine_similarity(a, b, dim=1),
    "max_pool2x2": lambda x: F.max_pool2d(x, 2),
    "ema_time": ema,
    "batched_outer": lambda a, b: torch.einsum("bm,bn->bmn", a, b),
    "pixel_shuffle2": lambda x: F.pixel_shuffle(x, 2),
    "focal_loss": focal,
    "film": lambda x, gamma, beta: gamma[..., None] * x + beta[..., None],
    "token_shift": shift,
}
for name, meant in MEANT.items():
    folder = f"{sys.argv[1]}/{name}.dump/"
    worst, data_sets = 0.0, json.load(open(folder + "index.json"))["data_sets"]
    for data_set in data_sets:
        wanted = meant(**{tensor["name"]: load(folder, tensor) for tensor in data_set["inputs"]})
        computed = load(folder, data_set["outputs"][0])
        assert computed.shape == wanted.shape and not computed.isnan().any() and not wanted.isnan().any(), name
        worst = max(worst, ((computed - wanted).abs().max() / (wanted.abs().max() + 1e-300)).item())
    print(f"{name}: {len(data_sets)} data sets, largest difference {worst:.2g}")
