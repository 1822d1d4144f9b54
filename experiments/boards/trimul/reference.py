# SPDX-License-Identifier: Apache-2.0
"""The triangle multiplicative update with outgoing edges, as AlphaFold 3 has it (algorithm 12): pairs (i, j) are updated
from the pairs (i, k) and (j, k) of all k."""
import torch

HIDDEN = 128


def ref_kernel(data):
    x, mask, w = data
    f = torch.nn.functional
    x = f.layer_norm(x, x.shape[-1:], w["norm_weight"], w["norm_bias"])
    left = f.linear(x, w["left"]) * torch.sigmoid(f.linear(x, w["left_gate"])) * mask[..., None]
    right = f.linear(x, w["right"]) * torch.sigmoid(f.linear(x, w["right_gate"])) * mask[..., None]
    gate = torch.sigmoid(f.linear(x, w["out_gate"]))
    pairs = torch.einsum("bikd,bjkd->bijd", left, right)
    pairs = f.layer_norm(pairs, pairs.shape[-1:], w["out_norm_weight"], w["out_norm_bias"])
    return f.linear(pairs * gate, w["out"])


def generate_input(seqlen, bs, dim, seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape, scale=1.0):
        return torch.randn(*shape, generator=generator) * scale

    weights = {name: normal(HIDDEN, dim, scale=dim ** -0.5)
               for name in ("left", "right", "left_gate", "right_gate", "out_gate")}
    weights |= {"norm_weight": normal(dim), "norm_bias": normal(dim), "out_norm_weight": normal(HIDDEN),
                "out_norm_bias": normal(HIDDEN), "out": normal(dim, HIDDEN, scale=HIDDEN ** -0.5)}
    mask = (torch.rand(bs, seqlen, seqlen, generator=generator) < 0.8).float()
    return normal(bs, seqlen, seqlen, dim), mask, weights
