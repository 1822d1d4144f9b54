"""One seed decides what a file draws, whatever the file seeds its generators with itself.

Seeds of the file's own are mixed with ours: the same under one seed, others under another.
"""

import contextlib
import hashlib
import random

import torch

try:
    import numpy
except ImportError:
    numpy = None

_seed_cuda, _seed_random = torch.cuda.manual_seed_all, random.seed
_seed_numpy = numpy.random.seed if numpy else None


class _State:
    """seed: ours while a file draws, else None. noticed: what the file seeds with other numbers."""

    def __init__(self, seed=None, noticed=()):
        self.seed = seed
        self.noticed = noticed


_now = _State()


def derived(purpose, seed):
    """A seed for one purpose: what is drawn for two of them shows no likeness."""
    digest = hashlib.blake2b(repr((purpose, seed)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def _seed_torch(seed):
    """torch.manual_seed for the devices that there are: for each other one it formats a stack, 10 ms in a long one."""
    if torch.cuda.is_initialized() or torch.cuda.is_available():
        _seed_cuda(int(seed))
    return torch.default_generator.manual_seed(int(seed))


def seed_everything(seed):
    """Seeds every generator that a file may draw from."""
    _seed_torch(seed)
    _seed_random(seed)
    if numpy:
        _seed_numpy(seed % 2 ** 32)


def _mixed(own, name=None):
    """What a generator is seeded with where a file says `own`."""
    if _now.seed is None:
        return own
    if name and own != _now.seed:
        _now.noticed.add(name)
    return derived(own, _now.seed)


class _Random(random.Random):
    def seed(self, a=None, version=2):
        super().seed(_mixed(a), version)


def _generator_class():
    """Generators of the class that files find now; one that is never seeded follows our seed, too."""
    found = torch.Generator

    class Generator(found):
        def __new__(cls, device="cpu"):
            made = found.__new__(cls, device=device)
            return made.manual_seed(0)

        def manual_seed(self, seed):
            return super().manual_seed(_mixed(seed) if _now.seed is not None else seed)

        def seed(self):
            self.manual_seed(0)
            return self.initial_seed()

    return Generator


def _seed_of(function, name, limit=None):
    """A function that seeds the generators of a library with a mixed seed."""
    def seed(own=None, *more, **named):
        mixed = _mixed(next(iter(named.values()), own), name)
        return function(mixed % limit if limit and mixed is not None else mixed)
    return seed


def _seed_for(own, limit):
    """What a generator of numpy is made of: another generator stays as it is."""
    if any(hasattr(own, name) for name in ("random", "bit_generator", "random_raw")):
        return own
    mixed = _mixed(own)
    return mixed % limit if limit and isinstance(mixed, int) else mixed


def _maker_of(make):
    return lambda seed=None: make(_seed_for(seed, None))


def _class_of(found, limit=None):
    class Seeded(found):
        def __init__(self, seed=None):
            super().__init__(_seed_for(seed, limit))

    return Seeded


def _replacements():
    """(where, attribute, what stands there while a file draws)."""
    yield torch, "Generator", _generator_class()
    for where in (torch, torch.random):
        yield where, "manual_seed", _seed_of(_seed_torch, "torch.manual_seed")
        yield where, "seed", _seed_of(_seed_torch, "torch.seed")
    for name in ("manual_seed", "manual_seed_all"):
        yield torch.cuda, name, _seed_of(getattr(torch.cuda, name), None)
    yield random, "seed", _seed_of(_seed_random, "random.seed")
    yield random, "Random", _Random
    if numpy:
        yield numpy.random, "seed", _seed_of(_seed_numpy, "numpy.random.seed", 2 ** 32)
        yield numpy.random, "default_rng", _maker_of(numpy.random.default_rng)
        for name in ("PCG64", "MT19937", "Philox", "SFC64"):
            yield numpy.random, name, _class_of(getattr(numpy.random, name))
        yield numpy.random, "RandomState", _class_of(numpy.random.RandomState, 2 ** 32)


@contextlib.contextmanager
def drawing(seed, noticed):
    """Within it `seed` decides what is drawn. noticed: a set that gets the names of what the file seeds itself."""
    global _now
    before, replacements = _now, list(_replacements())
    originals = [(where, name, getattr(where, name)) for where, name, _ in replacements]
    seed_everything(seed)
    _now = _State(seed, noticed)
    try:
        for where, name, replacement in replacements:
            setattr(where, name, replacement)
        yield
    finally:
        for where, name, original in originals:
            setattr(where, name, original)
        _now = before
