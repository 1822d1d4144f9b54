import torch

FP8 = [getattr(torch, name, None) for name in ("float8_e4m3fn", "float8_e5m2")]  # older versions have neither
WIDE = {kind: torch.bfloat16 for kind in (torch.int8, *FP8)}
STORED = {"float8_e4m3fn": (FP8[0], 448.0), "int8": (torch.int8, 127.0)}


def activated(x, activation):
    if activation == "relu":
        return torch.relu(x)
    if activation == "gelu":
        return torch.nn.functional.gelu(x)
    if activation == "gelu_tanh":
        return torch.nn.functional.gelu(x, approximate="tanh")
    if activation == "silu":
        return torch.nn.functional.silu(x)
    return x


def uniform_numbers(seed, count):
    """Numbers of elements 0, 1, ... by Philox4x32-10: counter {index / 4, 0, 0, 0}, key {seed low, seed high}."""
    low = 0xFFFFFFFF
    index = torch.arange((count + 3) // 4, dtype=torch.int64)
    c = [index & low, index >> 32, torch.zeros_like(index), torch.zeros_like(index)]
    k = [seed & low, seed >> 32 & low]

    def multiplied(x, factor):  # high and low words of 64-bit products, in halves that int64 holds
        bottom, top = x * (factor & 0xFFFF), x * (factor >> 16)
        middle = (bottom >> 16) + top
        return middle >> 16 & low, (middle << 16 | bottom & 0xFFFF) & low

    for _ in range(10):
        high0, low0 = multiplied(c[0], 0xD2511F53)
        high1, low1 = multiplied(c[2], 0xCD9E8D57)
        c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0]
        k = [k[0] + 0x9E3779B9 & low, k[1] + 0xBB67AE85 & low]
    return (torch.stack(c, 1).flatten()[:count] >> 8).double() / 2**24


def run(a, b, bias=None, residual=None, row_scales=None, column_scales=None, alpha=None, beta=None, seed=None, p=None,
        c_scale=None, a_layout="row", b_layout="row", activation="none", precision="ieee", gate="none", store="same"):
    a64 = a.double() if a_layout == "row" else a.double().transpose(-1, -2)
    b64 = b.double() if b_layout == "row" else b.double().transpose(-1, -2)
    c = a64 @ b64
    if a.dtype == torch.int8 and row_scales is None:
        return c.to(torch.int32)
    if row_scales is not None:
        c = c * row_scales.double()[..., :, None] * column_scales.double()[..., None, :]
    if alpha is not None:
        c = alpha.double() * c + beta.double() * residual.double()
    if bias is not None:
        c = c + bias.double()
    c = activated(c, activation)
    if gate != "none":
        c = activated(c[..., 0::2], "silu" if gate == "swiglu" else "gelu") * c[..., 1::2]
    if seed is not None:
        stays = uniform_numbers(int(seed), c.numel()).reshape(c.shape).to(c.device) >= p.double()
        c = torch.where(stays, c / (1 - p.double()), 0.0)
    if residual is not None and alpha is None:
        c = c + residual.double()
    if store == "same":
        return c.to(WIDE.get(a.dtype, a.dtype))
    dtype, largest = STORED[store]
    c = c / c_scale.double()
    if store == "int8":
        return torch.clamp(torch.round(c), -128, largest).to(dtype)
    return torch.clamp(c, -largest, largest).to(dtype)
