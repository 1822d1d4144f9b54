import math

import torch


def run(q, k, v, causal=False):
    group = q.shape[1] // k.shape[1]
    k64 = k.double().repeat_interleave(group, dim=1)
    v64 = v.double().repeat_interleave(group, dim=1)
    scores = q.double() @ k64.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        s, t = scores.shape[-2:]
        hidden = torch.ones(s, t, dtype=torch.bool, device=q.device).triu(t - s + 1)
        scores = scores.masked_fill(hidden, -math.inf)
    lse = torch.logsumexp(scores, dim=-1)
    # A query that sees no key has a sum of zero, and so a result of zero.
    o = torch.exp(scores - lse.clamp(min=-1e300).unsqueeze(-1)) @ v64
    return o.to(q.dtype), lse.float()
