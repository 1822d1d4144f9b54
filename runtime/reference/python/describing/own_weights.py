"""Weights that a file draws just as one of the harness's kinds does: new ones need no process to make its module again."""

import torch

from ..buffers import storage
from ..modes import Mode
from ..precision import operator_name
from .own_draws import text

# What draws all elements of a tensor alone -> (kind, scale, shift): the harness's uniform kind is that of [-1, 1).
FILLS = {"uniform_": lambda low=0.0, high=1.0: ("uniform", (high - low) / 2, (high + low) / 2),
         "normal_": lambda mean=0.0, deviation=1.0: ("normal", deviation, mean)}
SOURCES = {"rand": ("uniform", 0.5, 0.5), "randn": ("normal", 1.0, 0.0)}
HARMLESS = frozenset("detach alias".split())  # they give the same tensor


class _Watch(Mode):
    """known: memory -> (kind, scale, shift) of what was drawn there, where nothing else has read or written it."""

    def __init__(self):
        super().__init__()
        self.known = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = operator_name(function)
        if name in FILLS and _whole(args[0]):
            self.known[storage(args[0])] = FILLS[name](*args[1:3])
        elif name in SOURCES:
            self.known[storage(result)] = SOURCES[name]
        elif name not in HARMLESS:
            for tensor in _tensors((args, list((kwargs or {}).values()), result)):
                self.known.pop(storage(tensor), None)
        return result


def _whole(tensor):
    """Is it all of its memory?"""
    kept = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return tensor.is_contiguous() and tensor.numel() * tensor.element_size() == kept.nbytes()


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)


def kinds(task, sizes, seed):
    """name -> kind, as problem.json writes it, of the weights of which each element is drawn alone or all are equal."""
    watch = _Watch()
    with watch:
        instance = task.instance(sizes, seed)
    places = [storage(value) for value in instance.weights.values()]
    found = {}
    for name, value in instance.weights.items():
        if value.numel() and bool((value == value.flatten()[0]).all()):
            found[name] = "constant(%.9g)" % value.flatten()[0].item()
        elif value.is_floating_point() and _whole(value) and places.count(storage(value)) == 1 \
                and storage(value) in watch.known:
            found[name] = text(*watch.known[storage(value)])
    return found
