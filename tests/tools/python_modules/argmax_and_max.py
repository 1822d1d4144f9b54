import torch

N, M = 8, 24


def run(x):
    return x.max(1).values, torch.argmax(x, 1), (x > 0).any(1)


def get_inputs():
    return [torch.randn(N, M)]
