"""The work of a call as formulas over axes: floating operations from a trace, least bytes from shapes."""

from .. import matrices
from . import chains, formulas
from .needs import UNKNOWN


def same_operators(probes):
    names = [step.operator for step in probes[0].steps]
    return all([step.operator for step in probe.steps] == names for probe in probes)


def flops(samples, probes, needs, notes):
    """A formula for the least operations of a call, or None where the operators differ from size to size.

    needs: which part of a result others need. notes: takes what is not counted, in words.
    """
    if not same_operators(probes):
        return None
    steps = [probe.steps for probe in probes]
    terms, uncounted = {}, []
    last = max((position for position, step in enumerate(steps[0]) if step.selects), default=-1)
    chained, orders = _chains(samples, steps, last)
    for position, first in enumerate(steps[0]):
        if not first.factor or position in chained:
            continue
        if position < last:
            found = _needed(samples, _without_accidents([other[position] for other in steps]), needs, position)
            if found is None:
                uncounted.append(first.operator)
            else:
                terms[found[1:]] = terms.get(found[1:], 0) + found[0]
            continue
        costs = [_cost(step) for step in _without_accidents([other[position] for other in steps])]
        factor, divisor, _ = costs[0]
        sizes = _sizes(samples, [sizes for _, _, sizes in costs])
        if sizes is None:
            return None
        key = _product(sizes), divisor
        terms[key] = terms.get(key, 0) + factor
    if uncounted:
        notes.append("flops leave out %s, of which results may need a part alone" % ", ".join(sorted(set(uncounted))))
    return " + ".join([_term(factor, *key) for key, factor in terms.items()] + orders) or "0"


def _needed(samples, steps, needs, position):
    """(factor, product, divisor) of a step of whose result a part may do; None where that is not known."""
    first, rank = steps[0], len(steps[0].outputs[0]) if steps[0].outputs else 0
    if any(tuple(step.sizes[:rank]) != step.outputs[0] for step in steps):
        return None
    shapes = [step.outputs[0] for step in steps]
    triangular = first.triangles not in (None, chains.NO_TRIANGLES)
    counts = UNKNOWN if triangular else needs.counts(position, shapes)
    sizes = _sizes(samples, [step.sizes for step in steps])
    if sizes is None:
        return None
    if counts is not UNKNOWN:
        return first.factor, _product([count or size for count, size in zip(counts, sizes)] + sizes[rank:]), 1
    if not needs.triangle(position, shapes):
        return None
    if not triangular:
        sizes[rank - 1] += " + 1"
        return first.factor, _product(sizes), 2
    # The product of two triangles is one: all of what it costs is needed.
    if first.triangles[0] != frozenset(["lower"]) or first.triangles[1] != first.triangles[0]:
        return None
    factor, divisor, _ = _cost(first)
    return factor, _product(_sizes(samples, [_cost(step)[2] for step in steps])), divisor


def _chains(samples, steps, last):
    """(positions of steps that are parts of products of products, a term for each such product).

    last: the last step that may need a part alone; of what is before it nothing is counted.
    """
    all_trees = [chains.trees(one) for one in steps]
    if any([tree.index for tree in trees] != [tree.index for tree in all_trees[0]] for trees in all_trees):
        return set(), []
    chained, terms = set(), []
    for same in zip(*all_trees):
        chained.update(chains.members(same[0]))
        if min(chains.members(same[0])) > last:
            terms.extend(_cheapest(samples, same, steps))
    return chained, terms


def _cheapest(samples, trees, steps):
    """The term of a product of several factors: the least of its orders; nothing where no formula is known."""
    leaves = [chains.leaves(tree) for tree in trees]
    if not 2 < len(leaves[0]) <= chains.MAX_FACTORS or any(
            one[1] != other[0] for found in leaves for one, other in zip(found, found[1:])):
        return []
    sizes = [[found[0][0]] + [leaf[1] for leaf in found] for found in leaves]
    named = _sizes(samples, sizes)
    batch = _sizes(samples, [[chains.batch(tree)] for tree in trees])
    if named is None or batch is None:
        return []
    free = [source not in steps[0][0].following for _, _, source in leaves[0]]
    texts = {" + ".join("2 * " + _product(batch + list(one)) for one in order) or "0"
             for order, _ in chains.orders(named, free)}
    text = sorted(texts)[0]
    for other in sorted(texts)[1:]:
        text = "min(%s, %s)" % (text, other)
    return [text]


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
