import torch


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


def run(x, weight, bias, seed, p):
    y = torch.nn.functional.layer_norm(x.double(), x.shape[-1:], weight.double(), bias.double(), 1e-5)
    mask = uniform_numbers(int(seed), x.numel()).reshape(x.shape).to(x.device) >= p.double()
    return torch.where(mask, y / (1 - p.double()), 0.0).to(x.dtype), mask
