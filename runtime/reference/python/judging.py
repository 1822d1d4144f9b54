"""Whether a result is within the tolerance that the twin's errors set (docs/checking.md, When it is right)."""

import torch

FACTOR, FLOOR_ULPS = 4, 2  # as problem.json of a described file says


def same(a, b):
    """Equal in every element, shape and dtype; NaN equals NaN."""
    if a is None or b is None:
        return a is b
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.is_floating_point():
        a, b = torch.nan_to_num(a), torch.nan_to_num(b)
    return bool(torch.equal(a, b))


def finite(output):
    return output is None or not output.is_floating_point() or bool(torch.isfinite(output).all())


def tolerance(twin, right):
    """What an element of a floating result may be off by: a tensor. right: float64. twin: in the declared dtype."""
    scale = right.abs() + right.square().mean().sqrt()
    unit = torch.finfo(twin.dtype).eps if twin.is_floating_point() else 1e-7
    errors = (twin.double() - right).abs() / torch.where(scale > 0, scale, torch.ones_like(scale))
    return FACTOR * max(float(errors.max()), FLOOR_ULPS * unit) * scale


def beyond(wrong, twin, right):
    """Is `wrong` outside the tolerance of this output? All three are tensors or None."""
    if right is None or not right.numel():
        return False
    if wrong is None or wrong.shape != right.shape:
        return True
    if not right.is_floating_point():
        return not same(wrong, twin)
    return bool(((wrong.double() - right).abs() > tolerance(twin, right)).any())


def any_beyond(wrong, run):
    """The same for all outputs of a run: a pair of the declared and the exact results."""
    declared, exact = run
    return any(beyond(*three) for three in zip(wrong, declared, exact))
