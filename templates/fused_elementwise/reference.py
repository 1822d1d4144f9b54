import math

import torch

STORED = {"float8_e4m3fn": (-448.0, 448.0), "int8": (-128.0, 127.0)}


def activated(x, activation):
    if activation == "relu":
        return torch.relu(x)
    if activation == "gelu":
        return x * 0.5 * torch.erfc(-x / math.sqrt(2))
    if activation == "gelu_tanh":
        return torch.nn.functional.gelu(x, approximate="tanh")
    return torch.nn.functional.silu(x) if activation == "silu" else x


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


def run(x, b=None, r=None, seed=None, p=None, factor=None, low=None, high=None, y_scale=None, activation="silu",
        store="same"):
    y = x.double() if b is None else x.double() + b.double()
    y = activated(y, activation)
    if factor is not None:
        y = y * factor.double()
    if seed is not None:
        stays = uniform_numbers(int(seed), y.numel()).reshape(y.shape).to(y.device) >= p.double()
        y = torch.where(stays, y / (1 - p.double()), 0.0)
    if r is not None:
        y = y + r.double()
    if low is not None:
        y = torch.minimum(torch.maximum(y, low.double()), high.double())
    if store == "same":
        return y.to(x.dtype)
    if store == "float32":
        return y.float()
    y = y / y_scale.double()
    return (torch.round(y) if store == "int8" else y).clamp(*STORED[store]).to(getattr(torch, store))
