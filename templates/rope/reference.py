import torch


def turned(x, cos_sin, style):
    """Heads of x [tokens, heads, head_dim], turned by each token's row of cosines and sines."""
    cosine, sine = (part[:, None, :] for part in cos_sin.double().chunk(2, -1))
    pairs = cosine.shape[-1]
    x64 = x.double()
    parts, rest = x64[..., : 2 * pairs], x64[..., 2 * pairs :]
    a, b = (parts[..., 0::2], parts[..., 1::2]) if style == "interleaved" else parts.chunk(2, -1)
    a, b = a * cosine - b * sine, b * cosine + a * sine
    both = torch.stack((a, b), -1).flatten(-2) if style == "interleaved" else torch.cat((a, b), -1)
    return torch.cat((both, rest), -1).to(x.dtype)


def run(q, k, cos_sin, positions, style="neox"):
    at = cos_sin[positions.long()]
    return turned(q, at, style), turned(k, at, style)
