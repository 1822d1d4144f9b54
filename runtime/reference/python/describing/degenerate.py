"""Tasks whose results do not depend on their inputs: what shows that, in words.

The file's own weights are kept: other weights may make something of a module that is nothing as it was written.
"""

import torch

from ..problems import TaskError
from . import draws
from .judging import finite, same, tolerance

LARGER = 3.0  # a multiple keeps zeros, order and symmetry of inputs that have a structure (chosen)
KINDS = ("normal", "outliers", "small_integer", "uniform")


def evidence(instance, names, drawn, free):
    """Why the results do not depend on the inputs, or None where one does.

    names: of the outputs. drawn: the file's inputs under several seeds. free: inputs that any values suit.
    """
    cases = list(_different(drawn, free))
    if not _move(cases):
        return None
    runs = [run for run in (_run(instance, inputs) for inputs in cases) if run is not None]
    if len(runs) < 2:
        return None
    found = [_constant(name, [(declared[index], exact[index]) for declared, exact in runs])
             for index, name in enumerate(names) if runs[0][0][index] is not None]
    return "; ".join(found) if found and None not in found else None


def _different(drawn, free):
    """Inputs as different as they may be."""
    yield from drawn
    first, generator = drawn[0], torch.Generator().manual_seed(13)
    for kind in KINDS if free else ():
        yield dict(first, **{name: draws.drawn(kind, first[name].shape, generator).to(first[name].dtype)
                             for name in free})
    yield {name: _wide(value).mul(LARGER).to(value.dtype) if _is_floating(value) else value
           for name, value in first.items()}


def _is_floating(value):
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _wide(output):
    return output.double() if _is_floating(output) else output


def _move(cases):
    """Does some input differ from case to case? Else nothing can be said."""
    return any(isinstance(value, torch.Tensor) and not same(value, case[name])
               for case in cases[1:] for name, value in cases[0].items())


def _run(instance, inputs):
    """Declared and exact results, or None where these inputs do not suit the file."""
    try:
        runs = instance.run(inputs), [_wide(output) for output in instance.run(inputs, precision="exact")]
    except TaskError:
        return None
    return runs if all(finite(output) for run in runs for output in run) else None


def _constant(name, results):
    """What shows that an output is the same for all inputs; None where it is not. results: (declared, exact) each."""
    (twin, right), others = results[0], results[1:]
    if any(exact.shape != right.shape for _, exact in others) or not right.numel():
        return None
    if not right.is_floating_point():
        unchanged = all(torch.equal(exact, right) for _, exact in others)
        return "%s is the same for %d very different inputs" % (name, len(results)) if unchanged else None
    allowed, spread, tolerated = tolerance(twin, right), 0.0, 0.0
    for declared, exact in others:
        bound = allowed + tolerance(declared, exact)
        difference = torch.maximum((exact - right).abs(), (declared.double() - twin.double()).abs())
        if bool((difference > bound).any()):
            return None
        spread, tolerated = max(spread, float(difference.max())), max(tolerated, float(bound.max()))
    return ("%s does not depend on the inputs: over %d very different ones it differs by at most %.3g; %.3g is "
            "within the tolerance" % (name, len(results), spread, tolerated))
