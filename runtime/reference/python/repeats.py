"""Whether two runs of a reference gave the same result."""

import torch

# Sums in another order differ by a few roundings, which a GPU's atomic additions do; random numbers differ by far more.
ROUNDINGS = 64


def choose_repeatable_operators():
    """Of cuDNN's implementations those whose order of additions is fixed: the twin is what an audit takes for an honest
    kernel, which has to give the same bytes twice. (torch.use_deterministic_algorithms imports the whole compiler.)"""
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False


def same_result(first, second):
    """None, or in words how two tensors of one run each differ by more than the order of additions explains."""
    if torch.equal(first.reshape(-1).view(torch.uint8), second.reshape(-1).view(torch.uint8)):
        return None
    if not first.dtype.is_floating_point:
        return "in %d elements" % int((first != second).sum())
    one, other = first.double(), second.double()
    kinds_differ = (one.isnan() != other.isnan()) | (one.isinf() != other.isinf())
    finite = one.isfinite() & other.isfinite()
    if kinds_differ.any():
        return "in what is finite"
    one, other = one[finite], other[finite]
    if one.numel() == 0:
        return None
    difference = (one - other).abs()
    scale = one.abs() + one.square().mean().sqrt()
    allowed = ROUNDINGS * torch.finfo(first.dtype).eps * scale
    if (difference <= allowed).all():
        return None
    return "by up to %.3g" % float(difference.max())
