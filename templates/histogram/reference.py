import torch


def run(keys, bins):
    keys = keys.long()
    return torch.bincount(keys[(keys >= 0) & (keys < bins)], minlength=bins).int()
