"""Products of products: a kernel may multiply in another order, so that the cheapest one counts."""

from .. import matrices

# What keeps the rows of a matrix as they are.
PLAIN = frozenset("view _unsafe_view reshape alias clone contiguous detach expand unsqueeze squeeze".split())
SCALING = frozenset("mul div".split())
MAX_FACTORS = 4  # of which all orders are written down: there are 5 (chosen)


class Product:
    """A step that multiplies; its factors are numbers of leaves, or other products."""

    def __init__(self, index, step):
        self.index = index
        left, right = matrices.PRODUCTS[step.operator]
        self.shapes = step.inputs[left], step.inputs[right]
        self.sources = step.sources[left], step.sources[right]
        self.flips = [False, False]
        self.factors = [None, None]


def trees(steps):
    """Products at the top of others: all with one user, which multiplies again."""
    products = {index: Product(index, step) for index, step in enumerate(steps)
                if step.operator in matrices.PRODUCTS and step.factor and step.triangles in (None, NO_TRIANGLES)}
    inner = set()
    for index, product in products.items():
        used = _used_by(steps, index, products)
        if used is not None:
            user, side, flipped = used
            products[user].factors[side], products[user].flips[side] = product, flipped
            inner.add(index)
    return [product for index, product in products.items()
            if index not in inner and any(factor is not None for factor in product.factors)]


NO_TRIANGLES = (frozenset(), frozenset())


def _used_by(steps, index, products):
    """(product, side, is it transposed) of the only user of a product's result, or None."""
    place, flipped = steps[index].results[0], False
    for position in range(index + 1, len(steps)):
        step = steps[position]
        if place not in step.sources:
            continue
        rest = steps[position + 1:]
        if place in steps[index].returned or any(place in other.sources for other in rest):
            return None
        if position in products:
            sides = [side for side in (0, 1) if products[position].sources[side] == place]
            return (position, sides[0], flipped) if len(sides) == 1 and step.sources.count(place) == 1 else None
        before, after = step.inputs[0], step.outputs[0] if step.outputs else ()
        if len(before) >= 2 and step.operator in ("t", "transpose") \
                and after == before[:-2] + (before[-1], before[-2]):
            flipped = not flipped
        elif not (step.operator in SCALING and len(step.sources) == 1 and before == after) and not (
                step.operator in PLAIN and len(step.sources) == 1 and not flipped and before[-1:] == after[-1:]):
            return None
        place = step.results[0]
    return None


def members(product):
    """The numbers of all steps of a tree."""
    return [product.index] + [index for factor in product.factors if factor for index in members(factor)]


def leaves(product, flipped=False):
    """The factors in their order: (rows, columns, sources) each, rows without those of a batch; and the batch."""
    found = []
    for side in ((1, 0) if flipped else (0, 1)):
        factor = product.factors[side]
        if factor is not None:
            found.extend(leaves(factor, flipped != product.flips[side]))
        else:
            shape = product.shapes[side]
            rows, columns = shape[-2], shape[-1]
            found.append((columns, rows, product.sources[side]) if flipped else (rows, columns, product.sources[side]))
    return found


def batch(product):
    count = 1
    for extent in product.shapes[0][:-2]:
        count *= extent
    return count


def orders(sizes, free):
    """Lists of (rows, inner, columns) of the products of each order. sizes: of n factors in n + 1 numbers or words.

    free: for each factor, whether it is known before the call; a product of two such costs nothing.
    """
    if len(free) == 1:
        return [([], free[0])]
    found = []
    for cut in range(1, len(free)):
        for left, left_free in orders(sizes[:cut + 1], free[:cut]):
            for right, right_free in orders(sizes[cut:], free[cut:]):
                both = left_free and right_free
                found.append((left + right + ([] if both else [(sizes[0], sizes[cut], sizes[-1])]), both))
    return found
