"""The work of a call as formulas over axes: floating operations from a trace, least bytes from shapes."""

from . import formulas


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
        sizes = _sizes(samples, [other[position] for other in steps])
        if sizes is None:
            return None
        product = _product(sizes)
        terms[product] = terms.get(product, 0) + first.factor
    return " + ".join(formulas.product_text(factor, [part] if part != "1" else []) if part == "1" else
                      ("%d * %s" % (factor, part) if factor != 1 else part)
                      for part, factor in terms.items()) or "0"


def _sizes(samples, steps):
    """Formulas for the sizes whose product a step costs, or None."""
    if len({len(step.sizes) for step in steps}) > 1:
        return None
    found = [formulas.fitted(samples, [step.sizes[i] for step in steps]) for i in range(len(steps[0].sizes))]
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
    """The bytes of all tensors, each touched once: tensors are (name, shape of axis names)."""
    terms = [" * ".join(list(shape) + ["sizeof_" + name]) for name, shape in tensors]
    return " + ".join(terms) or "0"
