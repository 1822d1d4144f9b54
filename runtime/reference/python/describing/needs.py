"""Which part of a tensor some result depends on: what a kernel has to read of an input, or compute of a product.

A part is replaced by other values; where no result changes, nobody needs it. What holds is a set of places along
every axis. It may never be too large, as a floor follows from it: of what is not of this form, nothing is needed.
"""

import itertools
import random

import torch

from ..modes import Mode
from ..problems import TaskError
from . import formulas

ELEMENTS = 8  # single ones that are tried besides corners, of which a triangle or a band misses some (chosen)
CORNERS = 8
PLACES = 6  # along an axis of which all seem to be needed (chosen)
OPERATORS = 200000  # that all trials of a task may run: some seconds (chosen)
BYTES = 1 << 16  # of inputs and weights that a trial takes, as long as an operator on little (chosen)
CASES = 3
UNKNOWN = None
# Where both occur, values may decide which others are read.
DECIDING = frozenset("topk sort argsort argmax argmin max min gt lt ge le eq ne bucketize searchsorted".split())
INDEXING = frozenset("""index index_select gather embedding index_put index_put_ scatter scatter_ masked_select nonzero
take""".split())


class Cases:
    """A task at one size under inputs that ask for as little as they can: drawn, of one index, of one value.

    decides: may values decide which others are read?
    """

    def __init__(self, instance, decides):
        self.instance = instance
        own = self.own = instance.inputs(1)
        self.inputs = []
        cases = [own, _uniform(own, lambda value: not value.is_floating_point(), lambda value: value.min())]
        if decides:
            cases.append(_uniform(own, lambda value: value.is_floating_point(), lambda value: 0.5))
        for inputs in cases:
            run = self._run(inputs, {}, None)
            if run is not None and all(bool((output == output).all()) for output in run):
                self.inputs.append((inputs, run))

    def _run(self, inputs, weights, replaced):
        try:
            if replaced is None:
                outputs = self.instance.run(inputs, weights)
            else:
                with replaced:
                    outputs = self.instance.run(inputs, weights)
        except (TaskError, RuntimeError, IndexError):
            return None
        return [output.clone() for output in outputs if output is not None]

    def of(self, name):
        """The cases for a tensor: an index is read whatever it selects from."""
        index = isinstance(name, str) and name in self.own and not self.own[name].is_floating_point()
        return self.inputs[:1] if index else self.inputs

    def changes(self, case, name, part):
        """Does a result change, or end in an error, when `part` of a tensor has other values?

        name: of an input or a weight, or the number of an operator whose first result it is.
        """
        inputs, before = case
        for kind in range(3):
            again = self._changed_run(inputs, name, part, kind)
            if again is None or any(one.shape != other.shape or not torch.equal(one, other)
                                    for one, other in zip(before, again)):
                return True
        return False

    def _changed_run(self, inputs, name, part, kind):
        if isinstance(name, int):
            return self._run(inputs, {}, _Replaced(name, part, kind))
        if name in self.instance.weights:
            return self._run(inputs, {name: _other(self.instance.weights[name], part, kind)}, None)
        return self._run({**inputs, name: _other(inputs[name], part, kind)}, {}, None)


def _uniform(inputs, chosen, number):
    return {name: torch.full_like(value, number(value)) if isinstance(value, torch.Tensor) and value.numel()
            and chosen(value) else value for name, value in inputs.items()}


def _other(tensor, part, kind):
    """The tensor with other values in `part`: around zero, all large, all small."""
    changed = tensor.clone()
    generator = torch.Generator().manual_seed(17 + kind)
    if tensor.dtype is torch.bool:
        changed[part] = ~changed[part]
        return changed
    if not tensor.is_floating_point():
        changed[part] = (changed[part] + 1, changed[part] - 1, torch.zeros_like(changed[part]))[kind]
        return changed
    drawn = torch.randn(changed[part].shape, generator=generator)
    values = (drawn, 50 + 50 * drawn.abs(), -50 - 50 * drawn.abs())[kind]
    changed[part] = values.to(tensor.dtype)
    return changed


class _Replaced(Mode):
    """Gives a part of the first result of operator number `position` other values."""

    def __init__(self, position, part, kind):
        super().__init__()
        self.position, self.part, self.kind, self.count = position, part, kind, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        self.count += 1
        if self.count - 1 == self.position:
            first = result if isinstance(result, torch.Tensor) else result[0]
            first.copy_(_other(first, self.part, self.kind))
        return result


def places(cases, name, shape, partly):
    """Places along each axis that results depend on, or UNKNOWN where they are no such set.

    partly: for each axis, whether all its places are tried; None: where it is not known.
    """
    found = None
    for case in cases.of(name):
        sets = [_along(cases, case, name, shape, axis, partly and partly[axis]) for axis in range(len(shape))]
        if not _are_needed(cases, case, name, shape, sets):
            return UNKNOWN
        if found is None or _count(sets) < _count(found):
            found = sets
    return found


def _count(sets):
    count = 1
    for one in sets:
        count *= len(one)
    return count


def _along(cases, case, name, shape, axis, every):
    if every is False:
        return list(range(shape[axis]))

    def needed(place):
        return cases.changes(case, name, (slice(None),) * axis + (place,))
    extent = shape[axis]
    tried = sorted({0, 1, 2, extent // 2, extent - 2, extent - 1} & set(range(extent)))
    if not every and len(tried) < extent and all(needed(place) for place in tried):
        return list(range(extent))
    return [place for place in range(extent) if needed(place)]


def _are_needed(cases, case, name, shape, sets):
    """Is each of some single elements of the set needed?"""
    if not _count(sets):
        return True
    chooser = random.Random(3)
    corners = itertools.islice(itertools.product(*[sorted({one[0], one[-1]}) for one in sets]), CORNERS)
    others = (tuple(chooser.choice(one) for one in sets) for _ in range(ELEMENTS))
    return all(cases.changes(case, name, element) for element in itertools.chain(corners, others))


def _is_lower(cases, name, shape):
    rows = shape[-1]
    above = torch.ones(shape).triu(1).bool()
    chooser = random.Random(5)
    places_below = [(rows - 1, 0), (0, 0), (rows - 1, rows - 1)] + [
        sorted((chooser.randrange(rows), chooser.randrange(rows)), reverse=True) for _ in range(ELEMENTS)]
    elements = [tuple(chooser.randrange(extent) for extent in shape[:-2]) + tuple(place) for place in places_below]
    return all(not cases.changes(case, name, above) and all(cases.changes(case, name, one) for one in elements)
               for case in cases.of(name))


class Needs:
    """task: the file. samples: of its sizes; probes: what it does at them."""

    def __init__(self, task, samples, probes):
        self.task, self.samples, self.probes = task, samples, probes
        self.points = list(samples.every())
        self.cases = {}
        # What reads numbers out of its inputs does other things for others.
        reads_numbers = any(step.operator == "_local_scalar_dense" and step.follows for step in probes[0].steps)
        operators = {step.operator for step in probes[0].steps}
        self.decides = not operators.isdisjoint(DECIDING) and not operators.isdisjoint(INDEXING)
        self.budget = 0 if reads_numbers else OPERATORS
        self.trial = len(probes[0].steps) + probes[0].bytes // BYTES

    def _at(self, index):
        if index not in self.cases:
            self.cases[index] = Cases(self.task.instance(dict(self.points[index])), self.decides)
        return self.cases[index]

    def counts(self, name, shapes):
        """A formula for the places along each axis; None for an axis that is needed as a whole; UNKNOWN.

        shapes: of the tensor at all samples.
        """
        if not shapes[0]:
            return []
        if not self._affords(2, sum(min(extent, PLACES) for extent in shapes[0])):
            return UNKNOWN
        ends = [self._sizes(name, shapes, index) for index in (0, len(shapes) - 1)]
        if any(end is UNKNOWN for end in ends):
            return UNKNOWN
        whole = [all(end[axis] == shapes[index][axis] for end, index in zip(ends, (0, -1)))
                 for axis in range(len(shapes[0]))]
        if all(whole):
            return [None] * len(whole)
        partly = [not one for one in whole]
        if not self._affords(1, sum(extent for shape in shapes for extent, part in zip(shape, partly) if part)):
            return UNKNOWN
        seen = [self._sizes(name, shapes, index, partly) for index in range(len(shapes))]
        if any(one is UNKNOWN for one in seen):
            return UNKNOWN
        found = [None if whole[axis] else formulas.fitted(self.samples, [one[axis] for one in seen])
                 for axis in range(len(whole))]
        return UNKNOWN if any(one is None and not all_of for one, all_of in zip(found, whole)) else found

    def triangle(self, name, shapes):
        """Is it the lower triangle of square matrices that is needed, and the rest not?"""
        if any(len(shape) < 2 or shape[-1] != shape[-2] for shape in shapes) or not self._affords(2, ELEMENTS):
            return False
        return all(_is_lower(self._at(index), name, shapes[index]) for index in (0, len(shapes) - 1))

    def _affords(self, sizes, places_tried):
        """Takes trials at so many sizes from the budget."""
        trials = sizes * CASES * (places_tried + ELEMENTS)
        self.budget -= trials * self.trial
        return self.budget >= 0

    def _sizes(self, name, shapes, index, partly=None):
        found = places(self._at(index), name, shapes[index], partly)
        return UNKNOWN if found is UNKNOWN else [len(one) for one in found]
