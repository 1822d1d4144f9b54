"""Other values for a weight, to ask whether a result depends on it."""

import torch


def others(value):
    """Tensors of its shape and dtype; those of integers are among its own values, so that indices keep their range."""
    if value.dtype is torch.bool:
        return [~value, torch.zeros_like(value), torch.ones_like(value)]
    if value.is_floating_point():
        return [torch.zeros_like(value), _shifted(value), _turned(value)]
    kept = [_turned(value), torch.zeros_like(value)]
    return kept if value.unique().numel() > 1 else kept + [value + 1]


def _shifted(value):
    """Each element by another amount: a normalisation takes away what is added to all of them."""
    amounts = 0.5 + 0.25 * torch.arange(value.numel(), dtype=torch.float64, device=value.device).mul(3).cos()
    return (value.double() + amounts.reshape(value.shape)).to(value.dtype)


def _turned(value):
    """Its elements, each in another's place."""
    wide = value.double() if value.is_floating_point() else value
    return wide.reshape(-1).roll(1).reshape(value.shape).to(value.dtype)
