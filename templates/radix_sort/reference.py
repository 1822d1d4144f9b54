import torch


def run(keys, values=None, descending=False):
    # PyTorch neither sorts nor selects unsigned numbers of 32 bits: their bits are sorted as longer ones.
    wide = keys.long() if keys.dtype == torch.int32 else keys.view(torch.int32).long() & 0xFFFFFFFF
    order = torch.sort(wide, dim=0, stable=True, descending=bool(descending)).indices
    ordered = keys.view(torch.int32)[order].view(keys.dtype)
    return ordered if values is None else (ordered, values[order])
