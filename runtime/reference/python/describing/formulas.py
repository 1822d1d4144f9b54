"""Integer formulas over axes from samples: how the size of a tensor follows from the sizes of a file."""

import functools
import math

# Strides above 16 and factors above 8 do not occur in files that people write; wider searches find accidents.
LARGEST_DIVISOR = 16
LARGEST_FACTOR = 8
# What is added to a product: a token of a class before the patches of an image, or two.
ADDED = (0, 1, 2, -1)


class Samples:
    """Values seen at points: a base, lines along one axis each, and points off the lines.

    base: axis -> size. lines: axis -> list of sizes. points: list of (axis -> size).
    """

    def __init__(self, base, lines, points):
        self.base = base
        self.lines = lines
        self.points = points

    def every(self):
        """All points as axis -> size; the base comes first."""
        yield self.base
        for axis, sizes in self.lines.items():
            for size in sizes:
                yield dict(self.base, **{axis: size})
        yield from self.points

    def ends(self):
        """The last point of each line, and the last one off the lines."""
        for axis, sizes in self.lines.items():
            for size in sizes[-1:]:
                yield dict(self.base, **{axis: size})
        yield from self.points[-1:]


def evaluated(formula, sizes):
    """The value of a formula at sizes (axis -> integer)."""
    return eval(compile(formula, "<formula>", "eval"), {"__builtins__": {}}, dict(sizes))


def fitted(samples, values):
    """The simplest formula that gives `values` (in the order of samples.every()) at all samples, or None."""
    values = list(values)
    points = list(samples.every())
    if len(set(values)) == 1:
        return str(values[0])
    lines = _lines(samples, values)
    moving = [axis for axis, line in lines.items() if len({value for _, value in line}) > 1]
    for formula in _candidates(samples, lines, moving, values[0]):
        if all(evaluated(formula, point) == value for point, value in zip(points, values)):
            return formula
    return None


def _lines(samples, values):
    """axis -> list of (size, value) along it, the base included."""
    lines, position = {}, 1
    for axis, sizes in samples.lines.items():
        line = [(samples.base[axis], values[0])]
        for size in sizes:
            line.append((size, values[position]))
            position += 1
        lines[axis] = line
    return lines


def _candidates(samples, lines, moving, at_base):
    if len(moving) == 1:
        yield from _of_one(moving[0], lines[moving[0]])
        yield from _pairs(moving[0])
    elif moving:
        yield from _sums(samples, lines, moving, at_base)
    for added in ADDED if moving else ():
        less = {axis: [(size, value - added) for size, value in lines[axis]] for axis in moving}
        if min(value for line in less.values() for _, value in line) > 0:
            found = _squares(moving[0], less[moving[0]]) if len(moving) == 1 else \
                _products(samples, less, moving, at_base - added)
            yield from (formula + _signed(added) for formula in found)


def _signed(offset):
    """As the end of a sum."""
    return " %s %d" % ("+" if offset > 0 else "-", abs(offset)) if offset else ""


def _squares(axis, line):
    """Of a formula of one axis: the patches of a square image."""
    roots = [(size, math.isqrt(value)) for size, value in line]
    if all(root * root == value for (_, value), (_, root) in zip(line, roots)):
        for formula in list(_of_one(axis, roots))[:1]:
            yield product_text(1, [formula, formula])


def _pairs(axis):
    """Of different things, and of things that may be the same."""
    yield "%s * (%s - 1) // 2" % (axis, axis)
    yield "%s * (%s + 1) // 2" % (axis, axis)


def _of_one(axis, line):
    """Formulas of one axis: p a + q, then (p a + q) // r + s."""
    linear = _linear(axis, line)
    if linear:
        yield linear
    low = min(line)
    for divisor in _divisors(line):
        for factor in range(1, LARGEST_FACTOR + 1):
            if math.gcd(divisor, factor) > 1 and factor > 1:
                continue
            formula = _floored(axis, line, low, factor, divisor)
            if formula:
                yield formula


def _divisors(line):
    """Small ones; the multiple in which the axis varies; and its smallest size, which may be one group of many."""
    sizes = [size for size, _ in line]
    others = {functools.reduce(math.gcd, [size - min(sizes) for size in sizes]), min(sizes)}
    return list(range(2, LARGEST_DIVISOR + 1)) + sorted(size for size in others if size > LARGEST_DIVISOR)


def _linear(axis, line):
    (x0, y0), (x1, y1) = min(line), max(line)
    if x1 == x0 or (y1 - y0) % (x1 - x0):
        return None
    factor = (y1 - y0) // (x1 - x0)
    return linear_text(axis, factor, y0 - factor * x0)


def linear_text(axis, factor, offset):
    return (axis if factor == 1 else "%d * %s" % (factor, axis)) + _signed(offset)


def _floored(axis, line, low, factor, divisor):
    """(factor * axis + offset) // divisor, with the one range of offsets that fits."""
    smallest, largest = None, None
    for size, value in line:
        # value <= (f s + o) / d < value + 1
        least, most = value * divisor - factor * size, (value + 1) * divisor - 1 - factor * size
        smallest = least if smallest is None else max(smallest, least)
        largest = most if largest is None else min(largest, most)
    if smallest > largest:
        return None
    # Of the offsets that fit, the one nearest to 0 reads best.
    offset = 0 if smallest <= 0 <= largest else smallest if smallest > 0 else largest
    inner = linear_text(axis, factor, offset)
    return "%s // %d" % (inner if inner == axis else "(%s)" % inner, divisor)


def _sums(samples, lines, moving, at_base):
    terms, offset = [], at_base
    for axis in moving:
        (x0, y0), (x1, y1) = min(lines[axis]), max(lines[axis])
        if x1 == x0 or (y1 - y0) % (x1 - x0):
            return
        factor = (y1 - y0) // (x1 - x0)
        terms.append(linear_text(axis, factor, 0))
        offset -= factor * samples.base[axis]
    yield " + ".join(terms) + _signed(offset)


def _products(samples, lines, moving, at_base):
    """A factor for each axis: the line along it without what all its values share."""
    choices = []
    for axis in moving:
        shared = math.gcd(*[value for _, value in lines[axis]])
        options = []
        for kept in sorted({d for d in range(1, LARGEST_DIVISOR + 1) if shared % d == 0}, reverse=False):
            line = [(size, value // shared * kept) for size, value in lines[axis]]
            options.extend(formula for formula in list(_of_one(axis, line))[:1])
        choices.append(options)
    for combination in _combinations(choices):
        product = 1
        for formula in combination:
            product *= evaluated(formula, samples.base)
        if product and at_base % product == 0:
            yield product_text(at_base // product, combination)


def _combinations(choices):
    if not choices:
        yield []
        return
    for first in choices[0]:
        for rest in _combinations(choices[1:]):
            yield [first] + rest


def product_text(factor, formulas):
    """factor times the product of formulas, with parentheses where they are needed."""
    parts = [str(factor)] if factor != 1 or not formulas else []
    parts += [formula if formula.isidentifier() or formula.isdigit() else "(%s)" % formula for formula in formulas]
    return " * ".join(parts)
