import torch

N, K, M = 8, 16, 12


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(K, M)

    def forward(self, x):
        return torch.nn.functional.gelu(self.layer(x))


def get_inputs():
    return [torch.randn(N, K)]


def get_init_inputs():
    return []
