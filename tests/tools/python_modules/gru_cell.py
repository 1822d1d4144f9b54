import torch

B, D, H = 4, 8, 6


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(D, H)

    def forward(self, x, hidden):
        return self.cell(x, hidden)


def get_inputs():
    return [torch.randn(B, D), torch.randn(B, H)]


def get_init_inputs():
    return []
