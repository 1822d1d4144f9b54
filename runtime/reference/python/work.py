"""The work of a call as formulas over axes: floating operations from a trace, least bytes from shapes."""

from . import formulas, matrices


def flops(samples, probes):
    """A formula for the operations of a call, or None where the operators differ from size to size."""
    steps = [probe.steps for probe in probes]
    names = [step.operator for step in steps[0]]
    if any([step.operator for step in other] != names for other in steps):
        return None
    terms = {}
    for position, first in enumerate(steps[0]):
        if not first.factor:
            continue
        costs = [_cost(step) for step in _without_accidents([other[position] for other in steps])]
        factor, divisor, _ = costs[0]
        sizes = _sizes(samples, [sizes for _, _, sizes in costs])
        if sizes is None:
            return None
        key = _product(sizes), divisor
        terms[key] = terms.get(key, 0) + factor
    return " + ".join(_term(factor, *key) for key, factor in terms.items()) or "0"


def _without_accidents(steps):
    """The steps, their factors triangular only where they are so at all sizes."""
    if steps[0].triangles is None:
        return steps
    known = tuple(matrices.TRIANGLES.intersection(*[step.triangles[side] for step in steps]) for side in (0, 1))
    for step in steps:
        step.triangles = known
    return steps


def _cost(step):
    """(factor, divisor, sizes) of a step."""
    reduced = matrices.cost(*step.triangles, step.outputs[0]) if step.triangles else None
    return reduced or (step.factor, 1, step.sizes)


def _term(factor, product, divisor):
    text = str(factor) if product == "1" else product if factor == 1 else "%d * %s" % (factor, product)
    return text if divisor == 1 else "%s // %d" % (text, divisor)


def _sizes(samples, sizes):
    """Formulas for the sizes whose product a step costs, or None. sizes: those at each sample."""
    if len({len(one) for one in sizes}) > 1:
        return None
    found = [formulas.fitted(samples, [one[i] for one in sizes]) for i in range(len(sizes[0]))]
    return None if None in found else found


def _product(sizes):
    constant, parts = 1, []
    for size in sizes:
        if size.isdigit():
            constant *= int(size)
        else:
            parts.append(size if size.isidentifier() else "(%s)" % size)
    parts.sort()
    return " * ".join(([str(constant)] if constant != 1 or not parts else []) + parts)


def bytes_of(tensors):
    """The bytes of all tensors, each touched once: tensors are (name, its elements as factors of a product)."""
    terms = [" * ".join(list(factors) + ["sizeof_" + name]) for name, factors in tensors]
    return " + ".join(terms) or "0"
