import math

import torch


def run(x, function="silu", layout="halves"):
    x64 = x.double()
    gate, up = x64.chunk(2, -1) if layout == "halves" else (x64[:, 0::2], x64[:, 1::2])
    if function == "gelu":
        gate = gate * 0.5 * torch.erfc(-gate / math.sqrt(2))
    elif function == "gelu_tanh":
        gate = torch.nn.functional.gelu(gate, approximate="tanh")
    else:
        gate = torch.nn.functional.silu(gate)
    return (gate * up).to(x.dtype)
