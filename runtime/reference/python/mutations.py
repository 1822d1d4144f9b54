"""Deliberate mistakes in a reference: one operator left out, or blind to the end of its input."""

import contextlib
import re

import torch
from torch.overrides import TorchFunctionMode

# They only look at tensors or arrange them; nothing is computed that could be left out.
ARRANGING = frozenset("""__get__ __set__ __len__ __repr__ __hash__ __bool__ size dim stride numel item tolist
is_floating_point is_contiguous element_size data_ptr contiguous view view_as reshape reshape_as flatten unflatten
squeeze unsqueeze permute transpose t expand expand_as clone detach to type_as float double half bfloat16 int long
cuda cpu device dtype shape new_empty new_zeros new_ones empty zeros ones full arange tensor rand randn randint
zeros_like ones_like empty_like full_like manual_seed is_complex get_default_dtype result_type movedim chunk split
requires_grad_ ndimension nelement type is_cuda as_tensor narrow swapaxes unbind""".split())


def _tensors(arguments):
    for part in arguments:
        if isinstance(part, torch.Tensor):
            yield part
        elif isinstance(part, (list, tuple)):
            yield from _tensors(part)


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

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if isinstance(function, torch._ops.OpOverload):  # what another mode runs inside
            return function(*args, **kwargs)
        name = _name(function)
        if getattr(function, "__name__", "") in ARRANGING or name in ARRANGING:
            return function(*args, **kwargs)
        self.counts[name] = self.counts.get(name, 0) + 1
        return self.operator("%s_%d" % (name, self.counts[name]), function, args, kwargs)

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
        if output is None or not sources:
            return result
        operator = _name(function)
        if isinstance(result, torch.Tensor) and _same_kind(sources, result) is not None:
            self.found.append({"name": "without_" + name, "operator": operator, "what": "leaves out " + operator})
        if any(_cut(tensor) is not None for tensor in sources[:1]):
            self.found.append({"name": "cut_" + name, "operator": operator,
                               "what": "%s does not read the end of its input" % operator})
        return result


class _Apply(_Calls):
    def __init__(self, mutation):
        super().__init__()
        self.kind, _, self.target = mutation.partition("_")
        self.applied = False

    def operator(self, name, function, args, kwargs):
        if name != self.target:
            return function(*args, **kwargs)
        self.applied = True
        if self.kind == "without":
            result = function(*args, **kwargs)
            stand_in = _same_kind(list(_tensors(args)) + list(_tensors(kwargs.values())), result)
            return result if stand_in is None else stand_in.clone()
        return function(*_with_first_cut(args), **kwargs) if any(True for _ in _tensors(args)) else \
            function(*args, **_cut_keyword(kwargs))


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


def _with_first_cut(args):
    changed, done = [], False
    for part in args:
        if not done and isinstance(part, torch.Tensor):
            cut = _cut(part)
            changed.append(part if cut is None else cut)
            done = True
        elif not done and isinstance(part, (list, tuple)) and any(True for _ in _tensors(part)):
            changed.append(type(part)(_with_first_cut(part)))
            done = True
        else:
            changed.append(part)
    return changed


def _cut_keyword(kwargs):
    changed = dict(kwargs)
    for key, part in kwargs.items():
        if isinstance(part, torch.Tensor) and _cut(part) is not None:
            changed[key] = _cut(part)
            break
    return changed


def listed(run):
    """The mutations of what `run` computes: dicts with name, operator and what (in words)."""
    mode = _List()
    with mode:
        run()
    return mode.found


@contextlib.contextmanager
def applied(name):
    """Makes the mistake `name` while a reference runs. None: no mistake."""
    if name is None:
        yield
        return
    mode = _Apply(name)
    with mode:
        yield
    if not mode.applied:
        raise ValueError("there is no operator for the mutation " + name)
