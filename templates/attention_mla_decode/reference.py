import math

import torch


def run(q, kv, lengths, block_table=None, scale=1.0):
    batch, queries = q.shape[:2]
    o = torch.zeros((*q.shape[:3], 512), dtype=torch.float64, device=q.device)
    logarithms = torch.full(q.shape[:3], -math.inf, dtype=torch.float64, device=q.device)
    for b in range(batch):
        length = int(lengths[b])
        if length == 0:
            continue
        if block_table is None:
            keys = kv[b, :length].double()
        else:
            pages = block_table[b, : -(-length // kv.shape[1])].long()
            keys = kv[pages].flatten(0, 1)[:length].double()
        scores = torch.einsum("ihd,jd->ihj", q[b].double(), keys) * scale
        last = torch.arange(queries, device=q.device) + length - queries  # that each query sees
        hidden = torch.arange(length, device=q.device)[None, :] > last[:, None]
        scores = scores.masked_fill(hidden[:, None, :], -math.inf)
        logarithms[b] = torch.logsumexp(scores, dim=-1)
        # A query that sees no key has a sum of zero, and so a result of zero.
        weights = torch.exp(scores - logarithms[b].clamp(min=-1e300)[..., None])
        o[b] = torch.einsum("ihj,jd->ihd", weights, keys[:, :512])
    return o.to(q.dtype), logarithms.float()
