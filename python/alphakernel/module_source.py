# SPDX-License-Identifier: Apache-2.0
"""Writes a module that exists (a torch.nn.Module) as Python that makes one like it, and checks that it does."""

from __future__ import annotations

import inspect
from typing import Any, Callable, List, Optional, Sequence

from .errors import UsageError
from .written_source import SourceFile

STATE_FILE = "weights.pt"
_MOST_STATE_BYTES = 64 << 20  # of parameters and buffers that are saved next to the file (chosen)
_ABSENT = object()
_MODEL = '''class Model:
    """{name} as it was given."""

    def __new__(cls):
        module = {made}{to}
        weights = os.path.join(os.path.dirname(__file__), "{file}")
        module.load_state_dict(torch.load(weights, map_location="cpu"))
        return module.train({training})
'''
# A class of this name may call super(Model, self), so the name stays its own.
_NAMED_MODEL = '''_make = Model.__init__


def _as_given(self):
    _make(self, {arguments}
    weights = os.path.join(os.path.dirname(__file__), "{file}")
    self{to}.load_state_dict(torch.load(weights, map_location="cpu"))
    self.train({training})


Model.__init__ = _as_given


def get_init_inputs():
    return []
'''
_RECURRENT = ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional")
# Arguments that say where and how a module is made, which its state_dict and `to` say as well.
_PLACES = ("device", "dtype")


class ModuleSource:
    """module: what is written. init: arguments of its constructor; None: those that its attributes record."""

    def __init__(self, module: Any, init: Optional[Sequence[Any]]) -> None:
        self.module, self.init = module, init
        self.file = SourceFile()

    def text(self, inputs: Sequence[Any]) -> str:
        """Definitions ending in `Model`. Raises UsageError where no module like this one can be made."""
        import torch

        state = self.module.state_dict()
        size = sum(value.numel() * value.element_size() for value in state.values() if torch.is_tensor(value))
        if size > _MOST_STATE_BYTES:
            raise UsageError(f"{type(self.module).__name__}: its weights are {size} bytes, and at most "
                             f"{_MOST_STATE_BYTES} are kept; pass its class, with init=[...]")
        _check_alike(self.module, self._again(self.module, self.init), inputs)
        made = self._expression(self.module, self.init)
        name = type(self.module).__name__
        dtypes = {value.dtype for value in state.values() if torch.is_tensor(value) and value.is_floating_point()}
        to = f".to({dtypes.pop()})" if len(dtypes) == 1 and dtypes != {torch.float32} else ""
        form = _NAMED_MODEL if name == "Model" else _MODEL
        self.file.parts.append(form.format(name=name, made=made, arguments=made[len(name) + 1:], to=to,
                                           file=STATE_FILE, training=self.module.training))
        self.file.imports.append("import os")
        return self.file.text()

    def save(self, path: str) -> None:
        import torch

        torch.save({name: value.detach().cpu() if torch.is_tensor(value) else value
                    for name, value in self.module.state_dict().items()}, path)

    # ---- its constructor's arguments

    def _expression(self, module: Any, init: Optional[Sequence[Any]]) -> str:
        """The call that makes it."""
        kind = type(module)
        name = self.file.add(kind)
        arguments = self._arguments(module, init, lambda name, value: f"{name}={value}" if name else value, self._value)
        return f"{name}({', '.join(arguments)})"

    def _value(self, name: str, value: Any) -> str:
        import torch

        if isinstance(value, torch.nn.Module):
            return self._expression(value, None)
        return self.file.constant(name, value)

    def _again(self, module: Any, init: Optional[Sequence[Any]]) -> Any:
        """A module made here as the file will."""
        import torch

        def value_of(name: str, value: Any) -> Any:
            return self._again(value, None) if isinstance(value, torch.nn.Module) else value

        positional: List[Any] = []
        named = {}
        for name, value in self._arguments(module, init, lambda name, value: (name, value), value_of):
            if name:
                named[name] = value
            else:
                positional.append(value)
        try:
            return type(module)(*positional, **named)
        except Exception as error:  # whatever a user's constructor raises
            raise UsageError(f"{type(module).__name__}: made with the arguments that its attributes show it raises "
                             f"{type(error).__name__}: {error}; pass init=[...], the arguments of its constructor") \
                from None

    @staticmethod
    def _arguments(module: Any, init: Optional[Sequence[Any]], written: Callable[[str, Any], Any],
                   value_of: Callable[[str, Any], Any]) -> List[Any]:
        import torch

        kind, of_torch = type(module).__name__, type(module).__module__.startswith("torch")
        if init is not None:
            return [written("", value_of("init", value)) for value in init]
        if of_torch and isinstance(module, (torch.nn.Sequential, torch.nn.ModuleList)):
            children = [value_of("", child) for child in module.children()]
            if isinstance(module, torch.nn.Sequential):
                return [written("", child) for child in children]
            raise UsageError(f"{kind}: a list of modules computes nothing; pass the module that has it")
        if of_torch and isinstance(module, torch.nn.RNNBase):
            extra = ["nonlinearity"] if hasattr(module, "nonlinearity") else []
            return [written(name, value_of(name, getattr(module, name))) for name in list(_RECURRENT) + extra]
        found = []
        for name, parameter in inspect.signature(type(module).__init__).parameters.items():
            if name == "self" or name in _PLACES or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            value = _recorded(module, name)
            if value is _ABSENT and parameter.default is parameter.empty:
                raise UsageError(f"{kind}: its constructor takes {name}, which it does not keep as an attribute; pass "
                                 "init=[...], the arguments of its constructor")
            if value is not _ABSENT and not (parameter.default is not parameter.empty and value is parameter.default):
                found.append(written(name, value_of(name, value)))
        return found


def _recorded(module: Any, name: str) -> Any:
    """The argument as an attribute of this name keeps it."""
    import torch

    value = getattr(module, name, _ABSENT)
    if name == "bias" and hasattr(module, "in_proj_bias"):
        value = module.in_proj_bias
    if name == "bias" and (value is None or isinstance(value, torch.Tensor)):
        return value is not None
    if isinstance(value, torch.nn.ModuleList) or callable(value) and not isinstance(value, (torch.nn.Module, type)) \
            and not hasattr(value, "__name__"):
        return _ABSENT
    return _ABSENT if isinstance(value, torch.nn.Parameter) else value


def _check_alike(module: Any, again: Any, inputs: Sequence[Any]) -> None:
    """Raises UsageError where the module made again is another one."""
    import torch

    name = type(module).__name__
    advice = "pass init=[...], the arguments of its constructor, or its class"
    try:
        again.load_state_dict(module.state_dict())
    except (RuntimeError, ValueError) as error:
        raise UsageError(f"{name}: made again it has other weights ({str(error).splitlines()[0]}); {advice}") from None
    state = [value for value in module.state_dict().values() if torch.is_tensor(value)]
    reference = next((value for value in state if value.is_floating_point()), None)
    again = again.to(reference) if reference is not None else again
    again.train(module.training)
    saved = {key: value.clone() for key, value in module.state_dict().items() if torch.is_tensor(value)}
    with torch.no_grad():
        results = []
        for each in (module, again):
            torch.manual_seed(0)
            results.append(each(*inputs))
    module.load_state_dict(saved, strict=False)  # running means changed
    for first, second in zip(_tensors(results[0]), _tensors(results[1])):
        if first.shape != second.shape or not torch.allclose(first.double(), second.double(), 1e-3, 1e-5, True):
            raise UsageError(f"{name}: made again with the arguments that its attributes show, it computes something "
                             f"else; {advice}")


def _tensors(value: Any) -> List[Any]:
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in _tensors(part)]
    if isinstance(value, dict):
        return _tensors(list(value.values()))
    return [value] if hasattr(value, "double") else []
