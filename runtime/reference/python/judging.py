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


def agree_in_infinities(declared, exact):
    """Is each element finite in both, or the same infinity? NaN is no result."""
    if declared is None or not declared.is_floating_point():
        return True
    apart = ~(torch.isfinite(declared) & torch.isfinite(exact))
    return bool((declared[apart].double() == exact[apart].double()).all())


def tolerance(twin, right):
    """What an element of a floating result may be off by: a tensor. right: float64. twin: in the declared dtype."""
    kept = torch.isfinite(right) & torch.isfinite(twin)
    finite_ones = right[kept]
    scale = right.abs() + (finite_ones.square().mean().sqrt() if finite_ones.numel() else 0.0)
    unit = torch.finfo(twin.dtype).eps if twin.is_floating_point() else 1e-7
    errors = ((twin.double() - right).abs() / torch.where(scale > 0, scale, torch.ones_like(scale)))[kept]
    return FACTOR * max(float(errors.max()) if errors.numel() else 0.0, FLOOR_ULPS * unit) * scale


def beyond(wrong, twin, right):
    """Is `wrong` outside the tolerance of this output? All three are tensors or None."""
    if right is None or not right.numel():
        return False
    if wrong is None or wrong.shape != right.shape:
        return True
    if not right.is_floating_point():
        return not same(wrong, twin)
    infinite = torch.isinf(right)
    if bool((wrong.double()[infinite] != right[infinite]).any()):
        return True
    return bool((((wrong.double() - right).abs() > tolerance(twin, right)) & ~infinite).any())


def any_beyond(wrong, run):
    """The same for all outputs of a run: a pair of the declared and the exact results."""
    declared, exact = run
    return any(beyond(*three) for three in zip(wrong, declared, exact))
