import torch

N, H, W = 2, 9, 8


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x):
        return torch.relu(self.layer(x))


def get_inputs():
    return [torch.randn(N, 3, H, W)]


def get_init_inputs():
    return []
