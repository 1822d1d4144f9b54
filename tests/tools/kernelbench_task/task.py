import torch


class Model(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.layer = torch.nn.Linear(inputs, outputs)

    def forward(self, x):
        return torch.relu(self.layer(x))


def get_inputs():
    return [torch.rand(8, 16)]


def get_init_inputs():
    return [16, 4]
