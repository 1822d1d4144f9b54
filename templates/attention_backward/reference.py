import math

import torch


def run(q, k, v, o, lse, dout, causal=False):
    group = q.shape[1] // k.shape[1]
    scale = 1 / math.sqrt(q.shape[-1])
    q64, o64, dout64 = q.double(), o.double(), dout.double()
    k64, v64 = (x.double().repeat_interleave(group, dim=1) for x in (k, v))
    p = torch.exp(q64 @ k64.transpose(-1, -2) * scale - lse.double().unsqueeze(-1))
    if causal:
        s, t = p.shape[-2:]
        p = p.tril(t - s)
    ds = p * (dout64 @ v64.transpose(-1, -2) - (dout64 * o64).sum(-1, keepdim=True))

    def of_key_heads(x):  # the heads that share keys, added up
        return x.unflatten(1, (k.shape[1], group)).sum(2)

    dk = of_key_heads(ds.transpose(-1, -2) @ q64) * scale
    dv = of_key_heads(p.transpose(-1, -2) @ dout64)
    return tuple(x.to(q.dtype) for x in (ds @ k64 * scale, dk, dv))
