import math

import torch


def attend(q, k, v, slopes, sinks, causal, window, softcap):
    """Of heads x queries x D and heads x keys x D, in fp64."""
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    s, t = scores.shape[-2:]
    distance = torch.arange(t - s, t, device=q.device)[:, None] - torch.arange(t, device=q.device)[None, :]
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if slopes is not None:
        scores = scores - slopes.double()[:, None, None] * distance.abs()
    if causal:
        scores = scores.masked_fill(distance < 0, -math.inf)
    if window:
        scores = scores.masked_fill(distance.abs() >= window, -math.inf)
    every = scores
    if sinks is not None:
        column = sinks.double()[:, None, None].expand(*scores.shape[:-1], 1)
        every = torch.cat([scores, column], dim=-1)
    lse = torch.logsumexp(every, dim=-1)
    # A query that sees no key has a sum of zero, and so a result of zero.
    return torch.exp(scores - lse.clamp(min=-1e300).unsqueeze(-1)) @ v, lse


def run(q, k, v, slopes=None, sinks=None, residual=None, q_offsets=None, k_offsets=None, q_scale=None, k_scale=None,
        v_scale=None, causal=False, window=0, softcap=0, layout="heads"):
    if layout == "tokens":
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    q64, k64, v64 = q.double(), k.double(), v.double()
    if q_scale is not None:
        q64, k64, v64 = (x * scale.double()[:, None, None]
                         for x, scale in ((q64, q_scale), (k64, k_scale), (v64, v_scale)))
    k64, v64 = k64.repeat_interleave(group, dim=1), v64.repeat_interleave(group, dim=1)
    if q_offsets is None:
        o, lse = attend(q64, k64, v64, slopes, sinks, causal, window, softcap)
    else:
        o, lse = torch.empty_like(q64), q64.new_empty(q.shape[1], q.shape[0])
        for b in range(len(q_offsets) - 1):
            own, seen = slice(q_offsets[b], q_offsets[b + 1]), slice(k_offsets[b], k_offsets[b + 1])
            heads = [x.transpose(0, 1) for x in (q64[own], k64[seen], v64[seen])]
            result, lse[:, own] = attend(*heads, slopes, sinks, causal, window, softcap)
            o[own] = result.transpose(0, 1)
    if layout == "tokens":
        o = o.transpose(1, 2).contiguous()
    if residual is not None:
        o = o + residual.double()
    return o.to(torch.bfloat16 if q_scale is not None else q.dtype), lse.float()
