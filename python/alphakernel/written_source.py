# SPDX-License-Identifier: Apache-2.0
"""Writes a function, a class or a module of a running program as a Python file that stands for itself."""

from __future__ import annotations

import ast
import builtins
import inspect
import os
import symtable
import sys
import sysconfig
import textwrap
import types
import typing
from pathlib import Path
from typing import Any, Dict, Iterator, List, Set, Tuple

from .errors import UsageError

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_MOST_ELEMENTS = 4096  # of a tensor that is written as text
RESERVED = ("run", "Model", "get_inputs", "get_init_inputs")


class SourceFile:
    """The text of a file, made of what is added to it and of what that uses.

    modules: files that it imports, by the names that they need next to it.
    """

    def __init__(self) -> None:
        self.imports: List[str] = ["from __future__ import annotations\n", "import torch"]
        self.parts: List[str] = []
        self.modules: Dict[str, str] = {}
        self._names: Dict[str, Any] = {"torch": None}
        self._allowed = ""

    def text(self) -> str:
        return "\n".join(self.imports) + "\n\n\n" + "\n\n".join(part.rstrip() + "\n" for part in self.parts)

    def add(self, source: Any) -> str:
        """The definition of a function or class with all that it uses; returns its name there."""
        name = str(source.__name__)
        self._allowed = name
        self._define(name, source)
        return name

    # ---- one name

    def _define(self, name: str, value: Any) -> None:
        """Makes `name` mean `value` in the file."""
        if name in self._names:
            if self._names[name] is not value and self._names[name] is not None:
                raise UsageError(f"{name}: two different things that it uses have this name; write a .py file")
            return
        if name in RESERVED and name != self._allowed:
            raise UsageError(f"{name}: a helper cannot have this name, which the file gives another meaning")
        self._names[name] = value
        if isinstance(value, types.ModuleType):
            self._import(value.__name__, name)
        elif getattr(typing, name, None) is value:
            self.imports.append(f"from typing import {name}")
        elif isinstance(value, (types.FunctionType, type)) or hasattr(value, "__qualname__"):
            self._define_code(name, value)
        else:
            self.parts.append(f"{name} = {self.constant(name, value)}\n")

    def _import(self, module: str, name: str) -> None:
        root = module.partition(".")[0]
        file = getattr(sys.modules.get(module), "__file__", None)
        if file is not None and not _is_installed(file):
            if root != module or os.path.basename(file) == "__init__.py":
                raise UsageError(f"{name}: the package {root} is a folder of yours; write a .py file next to it and "
                                 "name that")
            self._copy(module, file)
        self.imports.append(f"import {module}" if module == name else
                            f"import {module} as {name}" if root != name else f"import {module}")

    def _copy(self, module: str, file: str) -> None:
        """A module of the user's, with those that it imports itself."""
        if module + ".py" in self.modules:
            return
        text = Path(file).read_text(encoding="utf-8")
        self.modules[module + ".py"] = text
        for node in ast.walk(ast.parse(text)):
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else \
                [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            for each in named:
                beside = os.path.join(os.path.dirname(file), each + ".py")
                if os.path.isfile(beside):
                    self._copy(each, beside)

    def _define_code(self, name: str, value: Any) -> None:
        own = value.__name__
        module = _home(value, own)
        if module:
            self.imports.append(f"from {module} import {own}" + ("" if own == name else f" as {name}"))
            return
        if own != name:
            self._define(own, value)
            self.parts.append(f"{name} = {own}\n")
            return
        text = _text_of(value)
        for used, meaning in _used(value, text):
            self._define(used, meaning)
        self.parts.append(text)

    # ---- values

    def constant(self, name: str, value: Any) -> str:
        """Text that makes a value; `name` is what a refusal calls it."""
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return f"float({str(value)!r})"
        if isinstance(value, _PLAIN):
            return repr(value)
        if type(value) in (list, tuple, set) and len(value) > 0:
            parts = ", ".join(self.constant(name, part) for part in value)
            ends = {list: "[]", tuple: ("(", ",)"), set: "{}"}[type(value)]
            return f"{ends[0]}{parts}{ends[1]}"
        if type(value) in (list, tuple, set):
            return repr(value)
        if type(value) is dict:
            return "{" + ", ".join(f"{self.constant(name, key)}: {self.constant(name, part)}"
                                   for key, part in value.items()) + "}"
        kind = type(value).__module__.partition(".")[0], type(value).__name__
        if kind in (("torch", "dtype"), ("torch", "memory_format"), ("torch", "layout")):
            return str(value)
        if kind == ("torch", "device"):
            return f"torch.device({str(value)!r})"
        if kind in (("torch", "Tensor"), ("torch", "Parameter")):
            return self._tensor(name, value)
        raise UsageError(f"{name}: it uses this {type(value).__name__}, which cannot be written to a file; pass it as "
                         "an input, or write a .py file that makes it")

    @staticmethod
    def _tensor(name: str, value: Any) -> str:
        value = value.detach().cpu()
        if value.numel() > _MOST_ELEMENTS:
            raise UsageError(f"{name}: it uses a tensor of {value.numel()} elements that is no argument; pass it as an "
                             f"input (expected at most {_MOST_ELEMENTS} elements)")
        numbers = ", ".join(_number(number) for number in value.flatten().tolist())
        return f"torch.tensor([{numbers}], dtype={value.dtype}).reshape({list(value.shape)})"


def _number(value: Any) -> str:
    finite = not isinstance(value, float) or value - value == 0
    return repr(value) if finite else f"float({str(value)!r})"


def _is_installed(file: str) -> bool:
    """Is it of Python or of a package, and not of the user's?"""
    paths = {os.path.realpath(path) for path in sysconfig.get_paths().values()}
    file = os.path.realpath(file)
    return any(file.startswith(path + os.sep) for path in paths) or "site-packages" in file or "dist-packages" in file


def _home(value: Any, name: str) -> str:
    """An installed module that has it by this name; empty where there is none."""
    own = str(getattr(value, "__module__", None) or "")
    public = ["torch.nn.functional", "torch", "math"]
    for module in public + [own] if "._" in own else [own] + public:
        found = sys.modules.get(module or "")
        file = getattr(found, "__file__", None)
        if found is None or module == "__main__" or file is not None and not _is_installed(file):
            continue
        if getattr(found, name, None) is value:
            return str(module)
    return ""


def _text_of(value: Any) -> str:
    try:
        text = textwrap.dedent(inspect.getsource(value))
    except (OSError, TypeError):
        raise UsageError(f"{value.__name__}: its source is not in a file; write it to a .py file and name that") \
            from None
    try:
        first = ast.parse(text).body[0]
    except SyntaxError:
        first = None
    if not isinstance(first, (ast.FunctionDef, ast.ClassDef)) or getattr(first, "name", "") != value.__name__:
        raise UsageError("expected a function that begins with `def`, or a class")
    return text


def _functions_of(value: Any) -> Iterator[types.FunctionType]:
    """A function, or those of a class: they know the names around them."""
    value = inspect.unwrap(value) if not isinstance(value, type) else value
    if isinstance(value, types.FunctionType):
        yield value
    elif isinstance(value, type):
        for part in vars(value).values():
            part = getattr(part, "__func__", getattr(part, "fget", part))
            if isinstance(part, types.FunctionType):
                yield part


def _used(value: Any, text: str) -> Iterator[Tuple[str, Any]]:
    """(name, meaning) of what the text takes from around it."""
    around: Dict[str, Any] = dict(vars(sys.modules.get(value.__module__, builtins)))
    for function in _functions_of(value):
        around.update(function.__globals__)
        around.update(_closure(function))
    for name in sorted(_outer_names(symtable.symtable(text, value.__name__, "exec"))):
        builtin = hasattr(builtins, name) and around.get(name, getattr(builtins, name)) is getattr(builtins, name)
        if name in around and name != value.__name__ and not name.startswith("__") and not builtin:
            yield name, around[name]


def _outer_names(scope: symtable.SymbolTable) -> Set[str]:
    """Names that a text takes from outside of itself."""
    top = scope.get_type() == "module"
    names = {symbol.get_name() for symbol in scope.get_symbols()
             if symbol.is_referenced() and (symbol.is_global() and not top or top and not symbol.is_assigned())}
    return names.union(*(_outer_names(child) for child in scope.get_children()))


def _closure(function: types.FunctionType) -> Dict[str, Any]:
    cells = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            cells[name] = cell.cell_contents
        except ValueError:  # of a name that has no value yet
            continue
    cells.pop("__class__", None)
    return cells

