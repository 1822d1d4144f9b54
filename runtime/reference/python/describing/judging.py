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
        a, b = a.double(), b.double()  # which types of a byte have few operators for
        if not bool(torch.equal(a.isnan(), b.isnan())):
            return False
        a, b = torch.nan_to_num(a), torch.nan_to_num(b)
    return bool(torch.equal(a, b))


def finite(output):
    return output is None or not output.is_floating_point() or bool(torch.isfinite(output.double()).all())


def not_comparable(exact, declared):
    """Why exact results cannot be compared, in words; None where they can: infinities that both have are fine."""
    for index, (right, twin) in enumerate(zip(exact, declared)):
        if right is None or not right.is_floating_point() or not right.numel():
            continue
        right, twin = right.double(), twin.double()
        if right.isnan().any():
            return "output %d has NaN in %d of %d elements" % (index, int(right.isnan().sum()), right.numel())
        differs = (right.isfinite() != twin.isfinite()) | (right.isinf() & (right != twin))
        if differs.any():
            return ("output %d is infinite or NaN in its own dtype where float64 has a number or another infinity, or "
                    "the other way round, in %d of %d elements" % (index, int(differs.sum()), right.numel()))
        if not right.isfinite().any():
            return "output %d has infinities alone" % index
    return None


def tolerance(twin, right):
    """What an element of a floating result may be off by: a tensor. right: float64, or a byte. twin: in the declared dtype."""
    right = right.double()
    known = right[right.isfinite()]
    if not known.numel():
        return torch.zeros_like(right)
    scale = torch.where(right.isfinite(), right.abs(), torch.zeros_like(right)) + known.square().mean().sqrt()
    unit = torch.finfo(twin.dtype).eps if twin.is_floating_point() else 1e-7
    errors = (twin.double() - right).abs() / torch.where(scale > 0, scale, torch.ones_like(scale))
    errors = errors[errors.isfinite()] if errors.isfinite().any() else torch.zeros(1)
    return FACTOR * max(float(errors.max()), FLOOR_ULPS * unit) * scale


def beyond(wrong, twin, right, times=1):
    """Is `wrong` outside so many times the tolerance of this output? The first three are tensors or None."""
    if right is None or not right.numel():
        return False
    if wrong is None or wrong.shape != right.shape:
        return True
    if not right.is_floating_point():
        return not same(wrong, twin)
    wrong, right = wrong.double(), right.double()
    # Written so that a NaN where none belongs is outside.
    fine = ((wrong - right).abs() <= times * tolerance(twin, right)) | (wrong == right) | (wrong.isnan() & right.isnan())
    return not bool(fine.all())


def any_beyond(wrong, run, times=1):
    """The same for all outputs of a run: a pair of the declared and the exact results."""
    declared, exact = run
    return any(beyond(*three, times) for three in zip(wrong, declared, exact))
