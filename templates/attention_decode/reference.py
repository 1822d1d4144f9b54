import math

import torch


def run(q, k, v, lengths, block_table=None, k_scale=None, v_scale=None, lse=False):
    batch, queries, heads, dim = q.shape
    group = heads // k.shape[2]
    o = torch.zeros(q.shape, dtype=torch.float64, device=q.device)
    logarithms = torch.full(q.shape[:3], -math.inf, dtype=torch.float64, device=q.device)
    for b in range(batch):
        length = int(lengths[b])
        if length == 0:
            continue
        if block_table is None:
            keys, values = k[b, :length].double(), v[b, :length].double()
        else:
            pages = block_table[b, : -(-length // k.shape[1])].long()
            # fp8 is indexed by its bytes: PyTorch has no such operation for it.
            keys, values = (x.view(torch.uint8 if x.element_size() == 1 else x.dtype)[pages].view(x.dtype)
                            .flatten(0, 1)[:length].double() for x in (k, v))
        if k_scale is not None:
            keys, values = keys * k_scale.double()[:, None], values * v_scale.double()[:, None]
        keys, values = (x.repeat_interleave(group, dim=1) for x in (keys, values))
        scores = torch.einsum("ihd,jhd->ihj", q[b].double(), keys) / math.sqrt(dim)
        last = torch.arange(queries, device=q.device) + length - queries  # that each query sees
        hidden = torch.arange(length, device=q.device)[None, :] > last[:, None]
        scores = scores.masked_fill(hidden[:, None, :], -math.inf)
        logarithms[b] = torch.logsumexp(scores, dim=-1)
        # A query that sees no key has a sum of zero, and so a result of zero.
        weights = torch.exp(scores - logarithms[b].clamp(min=-1e300)[..., None])
        o[b] = torch.einsum("ihj,jhd->ihd", weights, values)
    return (o.to(q.dtype), logarithms.float()) if lse else o.to(q.dtype)
