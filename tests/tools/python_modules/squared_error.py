import torch

N, M = 8, 24


def run(x, target):
    return ((x - target) ** 2).mean()


def get_inputs():
    return [torch.randn(N, M), torch.randn(N, M)]
