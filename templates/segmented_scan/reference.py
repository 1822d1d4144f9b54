import torch


def run(x, keys, exclusive=False):
    wide = x.double() if x.is_floating_point() else x.long()
    ends = (torch.nonzero(keys[1:] != keys[:-1]).flatten() + 1).tolist()
    sums = torch.cat([part.cumsum(0) for part in torch.tensor_split(wide, ends)])
    if exclusive:
        begins = torch.zeros_like(keys, dtype=torch.bool)
        begins[[0, *ends]] = True
        sums = torch.cat([torch.zeros_like(wide[:1]), sums[:-1]]).masked_fill(begins, 0)
    return sums.to(x.dtype)
