import torch


def run(x, top_k):
    # -0 is 0; sorting is stable, and takes NaN for the largest.
    order = torch.sort(x.double() + 0.0, dim=1, descending=True, stable=True).indices[:, :top_k]
    return x.gather(1, order), order
