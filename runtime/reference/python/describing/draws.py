"""Values as the harness's distributions draw them, for asking whether a reference stays finite under them."""

import torch


def drawn(kind, shape, generator):
    """float64 values of one of the kinds below."""
    values = torch.randn(shape, generator=generator, dtype=torch.float64)
    if kind == "outliers":
        hit = torch.rand(shape, generator=generator) < 1 / 16  # small tensors have to meet some
        return torch.where(hit, values * 100, values)
    if kind == "small_integer":
        return torch.randint(-3, 4, shape, generator=generator).double()
    if kind == "uniform":
        return torch.rand(shape, generator=generator, dtype=torch.float64) * 2 - 1
    return values


KINDS = ("normal", "outliers", "small_integer")
