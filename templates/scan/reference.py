import torch


def run(x, exclusive=False):
    wide = x.double() if x.is_floating_point() else x.long()
    sums = wide.cumsum(1)
    if exclusive:
        sums = torch.cat([torch.zeros_like(wide[:, :1]), sums[:, :-1]], dim=1)
    return sums.to(x.dtype)
