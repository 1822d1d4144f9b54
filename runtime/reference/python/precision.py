"""In which precision a reference computes: exact (float64) or declared (the file's own dtypes)."""

import contextlib

import torch

from .modes import Mode

# Narrower types are formats in which data is stored: to round to them is part of what is computed.
WORKING = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
HALVES = (torch.float16, torch.bfloat16)


def mapped(value, convert):
    """`value` with every tensor in its lists, tuples and dicts converted."""
    if isinstance(value, torch.Tensor):
        return convert(value)
    if isinstance(value, (list, tuple)):
        parts = [mapped(part, convert) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: mapped(part, convert) for key, part in value.items()}
    return value


def operator_name(function):
    """`aten.gelu.default` as people write it: gelu."""
    name = getattr(function, "__name__", str(function))
    return name.split(".")[0]


def _not_implemented(error):
    text = str(error)
    return "not implemented for" in text or "expected scalar type" in text.lower() or "not supported" in text.lower()


# Calls that this device has no half type for, as `_form` tells them apart. PyTorch takes 4 to 9 ms for each refusal, most of
# them to name the frames of its own stack, and a problem is described by hundreds of runs of the same calls.
_REFUSED = set()


def _form(value):
    """What decides, with the operator, whether PyTorch has a kernel for it: a call of the same form is refused again."""
    if isinstance(value, torch.Tensor):
        return value.dtype, value.device, value.shape, value.stride()
    if isinstance(value, (list, tuple)):
        return tuple(_form(part) for part in value)
    if isinstance(value, dict):
        return tuple((key, _form(part)) for key, part in value.items())
    return repr(value)


def written_back(function, given, used, result):
    """The result of an operator that ran on `used` in place of `given`; what it wrote there is written to these."""
    for argument, one, other in zip(function._schema.arguments, given, used):
        written = argument.alias_info is not None and argument.alias_info.is_write
        if written and one is not other and isinstance(one, torch.Tensor):
            one.copy_(other)
            result = one if result is other else result
    return result


class _Mode(Mode):
    """Runs every operator through `compute`; `notes` collects what deviates, each once."""

    def __init__(self, notes):
        super().__init__()
        self.notes = notes

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)


class ExactMode(_Mode):
    """Every floating tensor is float64, whatever the file casts to; integers stay as they are."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        given = args
        args, kwargs = self._widened(function, args, dict(kwargs or {}))
        try:
            return written_back(function, given, args, function(*args, **kwargs))
        except RuntimeError as error:
            if not _not_implemented(error):
                raise
        self.note("%s runs in float32: PyTorch has no float64 for it" % operator_name(function))
        narrow = mapped(args, self._narrow)
        result = function(*narrow, **mapped(kwargs, self._narrow))
        return mapped(written_back(function, given, narrow, result), self._wide)

    def _widened(self, function, args, kwargs):
        dtype = kwargs.get("dtype")
        if dtype in WORKING and dtype is not torch.float64:
            if operator_name(function) == "_to_copy":
                self.note("casts to %s are left out" % str(dtype).replace("torch.", ""))
            kwargs["dtype"] = torch.float64
        return mapped(args, self._wide), mapped(kwargs, self._wide)

    @staticmethod
    def _wide(tensor):
        return tensor.double() if tensor.dtype in WORKING and tensor.dtype is not torch.float64 else tensor

    @staticmethod
    def _narrow(tensor):
        return tensor.float() if tensor.dtype is torch.float64 else tensor


class DeclaredMode(_Mode):
    """The file's own dtypes. An operator without a half type here runs in float32, its result rounded."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        halves = _dtypes(args, kwargs)
        if not halves:
            return function(*args, **kwargs)
        form = function, _form(args), _form(kwargs)
        if form not in _REFUSED:
            try:
                return function(*args, **kwargs)
            except RuntimeError as error:
                if not _not_implemented(error):
                    raise
            _REFUSED.add(form)
        half = torch.bfloat16 if torch.bfloat16 in halves else torch.float16
        self.note("%s runs in float32 and rounds its result to %s: this device has no %s for it"
                  % (operator_name(function), _short(half), _short(half)))
        single = mapped(args, self._single)
        result = written_back(function, args, single, function(*single, **mapped(kwargs, self._single)))
        return mapped(result, lambda tensor: tensor.to(half) if tensor.dtype is torch.float32 else tensor)

    @staticmethod
    def _single(tensor):
        return tensor.float() if tensor.dtype in HALVES else tensor


def _short(dtype):
    return str(dtype).replace("torch.", "")


def _dtypes(args, kwargs):
    found = set()
    mapped([args, kwargs], lambda tensor: found.add(tensor.dtype) if tensor.dtype in HALVES else None)
    return found


@contextlib.contextmanager
def default_dtype(dtype):
    """Makes tensors that name no dtype this one."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def precision_of(name, notes):
    """The context in which a reference runs: `exact` or `declared`."""
    if name == "exact":
        with default_dtype(torch.float64), ExactMode(notes):
            yield
    elif name == "declared":
        with DeclaredMode(notes):
            yield
    else:
        raise ValueError("precision is exact or declared, not " + name)


def exact_tensor(tensor):
    """A tensor as the exact reference takes it."""
    return ExactMode._wide(tensor)
