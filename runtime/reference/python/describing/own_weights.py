"""Weights that a file draws just as one of the harness's kinds does: new ones need no process to make its module again."""

import torch

from ..buffers import memory, storage
from ..inner_mutations import tensors_of
from ..modes import Mode
from ..precision import operator_name
from . import own_draws

# What fills a whole tensor -> kind, as problem.json writes it: every element is drawn alone, or is the same number.
FILLS = {
    "uniform_": lambda low=0.0, high=1.0: own_draws.text("uniform", (high - low) / 2, (high + low) / 2),
    "normal_": lambda mean=0.0, deviation=1.0: own_draws.text("normal", deviation, mean),
    "fill_": lambda number: _constant(number),
    "zero_": lambda: _constant(0),
}
MAKES = {
    "rand": lambda size: own_draws.text(*own_draws.SOURCES["rand"]),
    "randn": lambda size: own_draws.text(*own_draws.SOURCES["randn"]),
    "ones": lambda size: _constant(1),
    "zeros": lambda size: _constant(0),
    "full": lambda size, number: _constant(number),
}
SAME_TENSOR = frozenset("detach alias".split())
# What gives a tensor's elements to code that runs no operator.
ESCAPES = frozenset("numpy __array__ tolist __dlpack__".split())
TYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.bool)


def _constant(number):
    if type(number) not in (bool, int, float):
        raise TypeError("a tensor")
    return "constant(%d)" % number if number == int(number) else "constant(%.17g)" % number


class _Watch(Mode):
    """Of memory that one operator filled, and that nothing else has read or written: what it holds, and its kind."""

    def __init__(self):
        super().__init__()
        self.known = {}  # where it is -> (the tensor, which keeps the place its own; a copy; kind)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        name = operator_name(function)
        if name in SAME_TENSOR:
            return result
        for tensor in _tensors((args, list(kwargs.values()), result)):
            self.forget(tensor)
        if name in FILLS:
            self._keep(args[0], FILLS[name], args[1:])
        elif name in MAKES and kwargs.get("out") is None:
            self._keep(result, MAKES[name], args)
        return result

    def forget(self, tensor):
        self.known.pop(storage(tensor), None)

    def _keep(self, tensor, kind, numbers):
        if _has_its_memory_alone(tensor):
            try:
                self.known[storage(tensor)] = (tensor, tensor.detach().clone(), kind(*numbers))
            except (TypeError, ValueError, OverflowError):  # filled with a tensor, or with no finite number
                pass

    def kind_of(self, weight):
        """None where it is not what it was filled with."""
        _, copy, kind = self.known.get(storage(weight), (None, None, None))
        return kind if copy is not None and _has_its_memory_alone(weight) and torch.equal(weight, copy) else None


class _Escapes(torch.overrides.TorchFunctionMode):
    def __init__(self, watch):
        super().__init__()
        self.watch = watch

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") in ESCAPES:
            for tensor in _tensors(args):
                self.watch.forget(tensor)
        return function(*args, **(kwargs or {}))


def _has_its_memory_alone(tensor):
    if tensor.layout is not torch.strided or tensor.dtype not in TYPES or not tensor.is_contiguous():
        return False
    return 0 < tensor.numel() * tensor.element_size() == memory(tensor).nbytes()


def _tensors(value):
    return (tensor for tensor in tensors_of(value) if tensor.layout is torch.strided)


def kinds(task, sizes, seed):
    """name -> kind, as problem.json writes it, of the weights of which each element is drawn alone, or all are filled
    with one number."""
    watch = _Watch()
    with _Escapes(watch), watch:
        instance = task.instance(sizes, seed)
    weights = {name: value for name, value in instance.weights.items() if value.layout is torch.strided}
    places = [storage(value) for value in weights.values()]
    found = {name: watch.kind_of(value) for name, value in weights.items() if places.count(storage(value)) == 1}
    return {name: kind for name, kind in found.items()
            if kind and (kind.startswith("constant") or not _has_a_twin(name, found, weights))}


def _has_a_twin(name, found, weights):
    """Drawn under the same seed again."""
    return any(other != name and kind == found[name] and weights[other].shape == weights[name].shape
               and torch.equal(weights[other], weights[name]) for other, kind in found.items())
