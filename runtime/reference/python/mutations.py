"""Deliberate mistakes in a reference: one operator left out, or blind to the end of an input."""

import contextlib
import re

import torch
from torch.overrides import TorchFunctionMode

from .inner_mutations import PREFIX, InnerApply, InnerList, tensors_of as _tensors

# They only look at tensors or arrange them; nothing is computed that could be left out.
ARRANGING = frozenset("""__get__ __set__ __len__ __repr__ __hash__ __bool__ size dim stride numel item tolist
is_floating_point is_contiguous element_size data_ptr contiguous view view_as reshape reshape_as flatten unflatten
squeeze unsqueeze permute transpose t expand expand_as clone detach to type_as float double half bfloat16 int long
cuda cpu device dtype shape new_empty new_zeros new_ones empty zeros ones full arange tensor rand randn randint
zeros_like ones_like empty_like full_like manual_seed is_complex get_default_dtype result_type movedim chunk split
requires_grad_ ndimension nelement type is_cuda as_tensor narrow swapaxes unbind""".split())


# Here NumPy may compute, which no mistake reaches.
LEAVING = frozenset(["numpy", "__array__", "from_numpy"])


class Absent(ValueError):
    """The reference has no operator for a mutation here: what is one operator on a GPU may be several on the CPU."""


def _name(function):
    name = getattr(function, "__name__", "operator")
    return re.sub(r"[^a-z0-9_]", "", name.lower()).strip("_") or "operator"


def _first_result(result):
    return next(iter(_tensors(result if isinstance(result, (list, tuple)) else [result])), None)


class _Calls(TorchFunctionMode):
    """Counts the operators that a reference calls, in order, by names such as `relu_2`."""

    def __init__(self):
        super().__init__()
        self.counts = {}
        self.now = None  # the call that is running
        self.leaves = False

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if isinstance(function, torch._ops.OpOverload):  # what another mode runs inside
            return function(*args, **kwargs)
        name = _name(function)
        self.leaves |= getattr(function, "__name__", "") in LEAVING
        if getattr(function, "__name__", "") in ARRANGING or name in ARRANGING:
            return function(*args, **kwargs)
        self.counts[name] = self.counts.get(name, 0) + 1
        self.now = "%s_%d" % (name, self.counts[name])
        try:
            return self.operator(self.now, function, args, kwargs)
        finally:
            self.now = None

    def operator(self, name, function, args, kwargs):
        raise NotImplementedError


class _List(_Calls):
    def __init__(self):
        super().__init__()
        self.found = []

    def operator(self, name, function, args, kwargs):
        result = function(*args, **kwargs)
        output = _first_result(result)
        sources = list(_tensors(args)) + list(_tensors(kwargs.values()))
        if output is None or not sources or all(_counter(tensor) for tensor in sources):
            return result
        self.found.extend(_described(name, _name(function), sources, result))
        return result


def _counter(tensor):
    """A number that counts, such as the batches that a normalisation has seen."""
    return tensor.dim() == 0 and not tensor.is_floating_point()


def _described(name, operator, sources, result):
    """The mistakes of one call. `spare`: one that is tried where the others show nothing."""
    if isinstance(result, torch.Tensor) and _same_kind(sources, result) is not None:
        yield {"name": "without_" + name, "operator": operator, "what": "leaves out " + operator, "call": name}
    if _cut(sources[0]) is not None:
        yield {"name": "cut_" + name, "operator": operator, "call": name,
               "what": "%s does not read the end of its input" % operator}
    if any(_cut(tensor) is not None for tensor in sources[1:2]):
        yield {"name": "blind_" + name, "operator": operator, "call": name, "spare": True,
               "what": "%s does not read the end of its second tensor" % operator}


class _Apply(_Calls):
    def __init__(self, kind, target):
        super().__init__()
        self.kind, self.target = kind, target
        self.applied = False

    def operator(self, name, function, args, kwargs):
        if name != self.target:
            return function(*args, **kwargs)
        self.applied = True
        if self.kind == "without":
            result = function(*args, **kwargs)
            stand_in = _same_kind(list(_tensors(args)) + list(_tensors(kwargs.values())), result)
            return result if stand_in is None else stand_in.clone()
        place = 1 if self.kind == "blind" else 0
        in_args = len(list(_tensors(args)))
        if place < in_args:
            return function(*_with_cut(args, place), **kwargs)
        return function(*args, **_with_keyword_cut(kwargs, place - in_args))


def _same_kind(sources, result):
    """The argument that could stand for the result: same shape and dtype."""
    for tensor in sources:
        if tensor.shape == result.shape and tensor.dtype == result.dtype:
            return tensor
    return None


def _cut(tensor):
    """The tensor with the end of its last axis replaced by its beginning; None where that is nothing."""
    axis = next((axis for axis in range(tensor.dim() - 1, -1, -1) if tensor.shape[axis] > 1), None)
    if axis is None:
        return None
    changed = tensor.clone()
    changed.select(axis, -1).copy_(tensor.select(axis, 0))
    return changed


def _with_cut(args, place):
    """The arguments with one of their tensors cut, by its place among the tensors."""
    count, changed = -1, []

    def visited(part):
        nonlocal count
        if isinstance(part, torch.Tensor):
            count += 1
            cut = _cut(part) if count == place else None
            return part if cut is None else cut
        return type(part)([visited(inner) for inner in part]) if type(part) in (list, tuple) else part

    for part in args:
        changed.append(visited(part))
    return changed


def _with_keyword_cut(kwargs, place):
    names = list(kwargs)
    return dict(zip(names, _with_cut([kwargs[name] for name in names], place)))


def listed(run):
    """(mutations of what `run` computes: dicts with name, operator, what (in words), call and perhaps spare; whether
    something else than PyTorch may compute there)."""
    mode = _List()
    inner = InnerList(lambda: mode.now, _same_kind, _cut)
    with mode, inner:
        run()
    return mode.found + inner.mutations(), mode.leaves


@contextlib.contextmanager
def applied(name):
    """Makes the mistake `name` while a reference runs. None: no mistake."""
    if name is None:
        yield
        return
    kind, _, target = name.partition("_")
    if target.startswith(PREFIX):
        mode = InnerApply(kind, target[len(PREFIX):], _same_kind, lambda args: _with_cut(args, 0))
    else:
        mode = _Apply(kind, target)
    with mode:
        yield
    if not mode.applied:
        raise Absent("there is no operator for the mutation " + name)
