"""Which integers of a file are axes of its problem, found by changing each and looking at the shapes."""

import re

from ..problems import TaskError
from . import formulas
from .task_probe import probed

# Sizes to begin with, until the task runs: small, and powers of two, which most divisors accept.
CAPS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
# Larger sizes are not tried only to give an axis room to vary (chosen).
ROOM = 128
# Below this a size is kept as it is at first: kernels, strides and numbers of dimensions.
SMALL = 16
# A probe fills at most so much memory beside what the smallest one filled (the weights of a large module): it is there
# for shapes, which small sizes show as well.
PROBE_BYTES = 1 << 23
PARAMETER_NAME = re.compile(r"kernel|stride|pad|dilat|group|^dims?$|_dim$|axis|reduce|output_pad|min_|max_|_min|_max|ndim")
# How an axis is moved from its base until the task runs there again.
STEPS = (1, -1, 2, -2, 4, 8, 16, 32, 64, 128, 256, 512)
LINE = (1, 2, 3, 4, 5, 7, 11, 16, 29, 61, 117)  # further sizes along an axis: near ones show steps, far ones divisors


class Axes:
    """What was found.

    varying: name -> base size. fixed: name -> size of the file, for sizes that change shapes but do not vary.
    steps: name -> multiple in which an axis may vary. least: name -> smallest size that runs.
    follow: name -> the axis that it has to equal. buffers: inputs that are memory for results.
    notes: in words, what was found and not used.
    """

    def __init__(self):
        self.varying = {}
        self.fixed = {}
        self.steps = {}
        self.least = {}
        self.follow = {}
        self.buffers = []
        self.notes = []
        self.samples = None
        self.probes = []


class Finder:
    def __init__(self, task):
        self.task = task
        self.cache = {}
        self.follow = {}
        self.filled = None  # bytes of the smallest probe
        self.differing = task.entry.differing() & set(task.sizes)
        self.first_error = None

    def at(self, sizes):
        """The probe at sizes (others as in the file), or None where the task does not run."""
        sizes = dict(self.task.sizes, **sizes)
        for name, leader in self.follow.items():
            sizes[name] = sizes[leader]
        key = tuple(sizes.values())
        if key not in self.cache:
            try:
                probe = self.cache[key] = probed(self.task, sizes, PROBE_BYTES + (self.filled or 0))
                self.filled = min(probe.bytes, self.filled or probe.bytes)
            except TaskError as error:
                self.first_error = self.first_error or error
                self.cache[key] = None
        return self.cache[key]


def find(task, fixed=()):
    """The axes of a task. fixed: sizes that are none. Raises TaskError where it runs at no size that was tried."""
    finder, found = Finder(task), Axes()
    kept = {name for name, size in task.sizes.items() if _parameter_like(name, size)} - finder.differing
    frozen = set(fixed) & set(task.sizes)
    for _ in range(len(task.sizes) + 1):
        base = _base(finder, kept | frozen, finder.differing - frozen)
        kinds = {name: _kind(finder, base, name) for name in task.sizes if name not in frozen}
        stuck = {name for name, kind in kinds.items() if kind != "axis"}
        frozen |= stuck
        # A size that does not vary has its value of the file; the others begin again around it.
        if all(base[name] == task.sizes[name] for name in stuck):
            break
    names = [name for name in task.sizes if name not in frozen and name not in finder.follow]
    found.follow = dict(finder.follow)
    found.buffers = task.buffers or []
    base = _smallest(finder, base, names, finder.differing & set(names))
    _vary(finder, found, base, names)
    _fixed(finder, found, base, frozen)
    return found


def _parameter_like(name, size):
    return size < 2 or (size <= 64 and PARAMETER_NAME.search(name) is not None)


def _base(finder, kept, differing):
    """Small sizes at which the task runs, if possible with room for those that differ from case to case to vary."""
    running = None
    for sizes in _bases(finder.task, kept):
        if finder.at(sizes) is None:
            continue
        if all(_step(finder, sizes, name) for name in differing):
            return sizes
        running = running or sizes
        if max(sizes.values()) > max(ROOM, *running.values()):
            break
    if running:
        return running
    raise TaskError("it runs at none of the sizes that were tried; at the smallest ones: %s" % finder.first_error)


def _bases(task, kept):
    """All small; then one or all of them larger, and larger again."""
    free = [name for name in task.sizes if name not in kept]
    for cap in CAPS:
        small = {name: size if name in kept else _capped(size, CAPS[0]) for name, size in task.sizes.items()}
        for raised in [[name] for name in free if cap > CAPS[0]] + [free]:
            yield dict(small, **{name: _capped(task.sizes[name], cap) for name in raised})


def _capped(size, cap):
    if size <= cap:
        return size
    # 3 * 2^n keeps its 3, so that what divides the size of the file divides the small one where it can.
    odd = size
    while odd % 2 == 0:
        odd //= 2
    return cap if odd > cap or odd not in (3, 5, 7) else odd * (1 << ((cap // odd).bit_length() - 1))


def _kind(finder, base, name):
    """axis: it changes the shape of an input or a weight, and not which there are. Else why it is none."""
    if name in finder.follow:
        return "axis"
    at_base, moved = finder.at(base), None
    for size in _moves(base[name]):
        moved = finder.at(dict(base, **{name: size}))
        if moved is not None:
            break
    if moved is None:
        return "axis" if _follows(finder, base, name) else "stuck"
    if moved.names() != at_base.names():
        return "structural"  # such as a number of layers, also where it is an extent of an input
    if list(moved.inputs.values()) != list(at_base.inputs.values()):
        return "axis" if _step(finder, base, name) or _follows(finder, base, name) else "stuck"
    if moved.structure != at_base.structure or _parameter_like(name, finder.task.sizes[name]):
        return "structural"
    if moved.data_sizes() == at_base.data_sizes():
        return "parameter"
    return "axis" if _step(finder, base, name) or _follows(finder, base, name) else "stuck"


def _moves(size):
    return [size * 2] + [size + step for step in STEPS if size + step >= 1]


def _follows(finder, base, name):
    """Is it to equal another size? Then it follows that one."""
    task = finder.task
    if _parameter_like(name, task.sizes[name]):
        return False
    for other, size in task.sizes.items():
        if other == name or size != task.sizes[name] or other in finder.follow:
            continue
        for moved in _moves(base[other]):
            if finder.at(dict(base, **{name: moved})) is not None:
                continue  # there it needs no other
            probe = finder.at(dict(base, **{name: moved, other: moved}))
            if probe is not None and probe.data_sizes() != finder.at(base).data_sizes():
                finder.follow[name] = other
                return True
    return False


def _smallest(finder, base, names, differing):
    """Shrinks each axis on its own: one that has to be large should not keep the others so, nor stop them."""
    for name in names:
        for cap in CAPS:
            if cap >= base[name]:
                break
            smaller = dict(base, **{name: cap})
            if finder.at(smaller) is not None and all(_step(finder, smaller, other) for other in differing):
                base = smaller
                break
    return base


def _vary(finder, found, base, names):
    lines = {}
    for name in names:
        step = _step(finder, base, name) or 1
        found.steps[name] = step
        found.varying[name] = base[name]
        found.least[name] = _least(finder, base, name, step)
        far = [base[name] * 2] if name in finder.differing else []
        lines[name] = [size for size in sorted({base[name] + step * count for count in LINE}.union(far))
                       if finder.at(dict(base, **{name: size})) is not None]
    points = [point for point in _joint(found, base) if finder.at(point) is not None]
    found.samples = formulas.Samples(dict(base), lines, points)
    found.probes = [finder.at(point) for point in found.samples.every()]


def _step(finder, base, name):
    """The multiple in which an axis may vary: 1 where its next sizes all run."""
    steps = [step for step in (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512) if step <= max(base[name], 8)]
    # What is one group at the smallest sizes shows its multiple at the next.
    starts = [base[name]] + [base[name] * 2] * (name in finder.differing and base[name] > SMALL)
    for step in steps:
        if base[name] % step == 0 and all(
                finder.at(dict(base, **{name: start + step * count})) is not None
                for start in starts for count in (1, 2, 3)):
            return step
    return None


def _least(finder, base, name, step):
    """The smallest size, in steps down from the base, at which the task runs."""
    least = base[name]
    while least - step >= 1 and base[name] - least < 16 * step:
        if finder.at(dict(base, **{name: least - step})) is None:
            break
        least -= step
    return least


def _joint(found, base):
    """Points off the lines: every axis moved, each by another amount."""
    for turn in (1, 2, 3):
        yield {name: size if name not in found.steps else
               size + found.steps[name] * (1 + (position * turn + turn) % 5)
               for position, (name, size) in enumerate(base.items())}


def _fixed(finder, found, base, frozen):
    """Sizes that change shapes without being axes: names for sizes that stay."""
    at_base = finder.at(base)
    for name, size in finder.task.sizes.items():
        if name not in frozen:
            continue
        for moved in (size + 1, size * 2, size - 1):
            probe = finder.at(dict(base, **{name: moved})) if moved >= 1 else None
            if probe is not None:
                if probe.sizes() != at_base.sizes():
                    found.fixed[name] = size
                break
