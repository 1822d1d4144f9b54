import math

import torch


def run(q, k, v, partial_count, full_count, columns, block=128):
    group = q.shape[1] // k.shape[1]
    k64, v64 = (x.double().repeat_interleave(group, dim=1) for x in (k, v))
    s, t = q.shape[2], k.shape[2]
    # Of every block of queries and of keys: whether the list names it, and as a partial one.
    place = torch.arange(columns.shape[2], device=q.device)
    partial, listed = (torch.zeros(columns.shape, dtype=torch.bool, device=q.device).scatter_(
        2, columns.long(), place < count[..., None]) for count in (partial_count, partial_count + full_count))

    def of_elements(blocks):
        return blocks.repeat_interleave(block, dim=1)[:, :s].repeat_interleave(block, dim=2)[:, :, :t]

    before = torch.arange(t, device=q.device)[None, :] <= torch.arange(t - s, t, device=q.device)[:, None]
    seen = of_elements(listed) & (before | ~of_elements(partial))
    scores = q.double() @ k64.transpose(-1, -2) / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~seen, -math.inf)
    lse = torch.logsumexp(scores, dim=-1)
    # A query that sees no key has a sum of zero, and so a result of zero.
    o = torch.exp(scores - lse.clamp(min=-1e300).unsqueeze(-1)) @ v64
    return o.to(q.dtype), lse.float()
