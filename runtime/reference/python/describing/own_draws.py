"""Inputs that a file draws just as one of the harness's kinds does: new ones need no process to draw them."""

import torch

# How torch draws -> (kind, scale, shift): the harness's uniform kind is that of [-1, 1).
SOURCES = {"rand": ("uniform", 0.5, 0.5), "rand_like": ("uniform", 0.5, 0.5),
           "randn": ("normal", 1.0, 0.0), "randn_like": ("normal", 1.0, 0.0)}
# What leaves every element as it was drawn.
SAME = frozenset("to half float double bfloat16 cuda cpu contiguous clone detach reshape view unsqueeze squeeze".split())
# A number b -> the new (scale, shift). Both kinds are symmetric about their shift, so that a sign does not matter.
AFFINE = {
    "mul": lambda scale, shift, b: (scale * b, shift * b),
    "rmul": lambda scale, shift, b: (scale * b, shift * b),
    "add": lambda scale, shift, b: (scale, shift + b),
    "radd": lambda scale, shift, b: (scale, shift + b),
    "sub": lambda scale, shift, b: (scale, shift - b),
    "rsub": lambda scale, shift, b: (-scale, b - shift),
    "div": lambda scale, shift, b: (scale / b, shift / b),
    "truediv": lambda scale, shift, b: (scale / b, shift / b),
}


class _Draw:
    """One call of a source; spoiled where something else was computed from it."""

    def __init__(self):
        self.spoiled = False


class _Watch(torch.overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.known = {}  # id -> (tensor, its version, the draw, kind, scale, shift); holding it keeps the id its own

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        name = getattr(function, "__name__", "")
        if name.startswith("__"):
            name = name.strip("_")
        if name == "get" and not isinstance(result, torch.Tensor):  # an attribute, such as the shape
            return result
        values = self._values(name, args, kwargs)
        if values is not None and _as_precise(args, result):
            self.known[id(result)] = (result, result._version) + values
        else:
            self._spoil(args, kwargs)
        return result

    def _values(self, name, args, kwargs):
        if name in SOURCES and kwargs.get("out") is None:
            if name.endswith("_like"):
                self._spoil((), kwargs)
            return (_Draw(),) + SOURCES[name]
        before = self.of(args[0]) if args else None
        if before is None or kwargs.get("out") is not None:
            return None
        draw, kind, scale, shift = before
        if name in SAME:
            return before
        if name in AFFINE and len(args) == 2 and not kwargs and type(args[1]) in (int, float) and args[1] != 0:
            return (draw, kind) + AFFINE[name](scale, shift, args[1])
        return None

    def of(self, tensor):
        """(draw, kind, scale, shift) of a tensor that still holds what was drawn, or None."""
        entry = self.known.get(id(tensor))
        if entry is None or entry[0] is not tensor:
            return None
        if tensor._version != entry[1]:
            entry[2].spoiled = True
            return None
        return entry[2:]

    def _spoil(self, args, kwargs):
        for value in _leaves((args, list(kwargs.values()))):
            entry = self.known.get(id(value))
            if entry is not None and entry[0] is value:
                entry[2].spoiled = True


def _as_precise(args, result):
    """A floating tensor, every element of which is one of the first argument's, or was drawn now."""
    if not isinstance(result, torch.Tensor) or not result.is_floating_point():
        return False
    first = args[0] if args and isinstance(args[0], torch.Tensor) else result
    return (first.is_floating_point() and first.numel() == result.numel()
            and torch.finfo(result.dtype).eps >= torch.finfo(first.dtype).eps)


def _leaves(value):
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


def kinds(instance, seed=1):
    """name -> kind, as problem.json writes it, of the inputs of which each element is drawn alone, by one call whose
    results nothing else depends on."""
    watch = _Watch()
    with watch:
        named = instance.inputs(seed)
    found, draws = {}, []
    for name, value in named.items():
        entry = watch.of(value) if isinstance(value, torch.Tensor) and value.is_floating_point() else None
        if entry is not None and not entry[0].spoiled:
            found[name] = entry
            draws.append(entry[0])
    return {name: text(*entry[1:]) for name, entry in found.items() if draws.count(entry[0]) == 1}


def text(kind, scale, shift):
    return "%s(scale=%.9g%s)" % (kind, abs(scale), ", shift=%.9g" % shift if shift else "")
