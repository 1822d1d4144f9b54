# SPDX-License-Identifier: Apache-2.0
"""Problems: those there are, and folders made from a kernel, a PyTorch file, a function or a module."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple, Union

from .actions import problem_name
from .client import Client, PathLike
from .connection import beside, shared
from .errors import EnvironmentFault, UsageError, error_of
from .example_values import ONE_OF, drawn_like
from .module_source import STATE_FILE, ModuleSource
from .operations import Scalar
from .results import Problem
from .written_source import SourceFile

def problem(source: Union[str, PathLike, Callable[..., Any]], inputs: Optional[Sequence[Any]] = None, *,
            folder: Optional[PathLike] = None, init: Optional[Sequence[Any]] = None,
            params: Optional[Mapping[str, Scalar]] = None, python: Optional[PathLike] = None,
            client: Optional[Client] = None) -> Problem:
    """A problem, to evaluate, tune and find kernels for.

    source: what it is made from:
      the name of a problem, or a problem folder: it is read
      a kernel, as its text or a file ending in .cu: `folder` is made from its signature (docs/problem.md)
      a Python file: `folder` is made by running it
      a function, a class of modules (torch.nn.Module) or a module: it is written to a file with the helpers, imports
      and constants that it uses, and `folder` is made by running that
    inputs: of a function, class or module: example arguments, tensors and numbers. Inputs are drawn anew, of their
      shapes and dtypes and within what they show of their range
    init: the arguments that a class is made with; of a module where its attributes do not show them
    folder: that is made: a new name, or an empty folder. Of a function, class or module it may be left out: then it is
      one of ~/.local/share/alphakernel/problems (in $XDG_DATA_HOME where that is set), the same each time
    params: of a problem that is read
    python: the interpreter with PyTorch that runs a Python file (default: the one that `alphakernel doctor` finds)
    Raises Error.
    """
    if callable(source):
        return _from_callable(source, inputs, init, folder, python, client)
    text = os.fspath(source)
    if "__global__" in text or text.endswith(".cu"):
        return _from_kernel(text, _new(folder), client)
    if text.endswith(".py"):
        return _from_python(Path(text), _new(folder), python, client)
    if folder is not None:
        raise UsageError(f"folder: {text!r} is there already; a folder is made from a kernel or from Python only")
    return _read(text, params, client)


def problems(*, client: Optional[Client] = None) -> Dict[str, str]:
    """The problems that come with AlphaKernel: name -> what it computes."""
    listed = shared(client).call("list_problems", {})["problems"]
    return {each["name"]: each["summary"] for each in listed}


def _new(folder: Optional[PathLike]) -> Path:
    if folder is None:
        raise UsageError("folder: expected the name of the folder to make")
    return Path(os.path.abspath(folder))


def _read(source: PathLike, params: Optional[Mapping[str, Scalar]], client: Optional[Client],
          to_fill_in: Sequence[str] = ()) -> Problem:
    request: Dict[str, Any] = {"problem": problem_name(source)}
    if params:
        request["params"] = dict(params)
    shown = shared(client).call("show_problem", request)
    return Problem(shown["name"], Path(shown["folder"]), shown["summary"], shown["params"], shown["tensors"],
                   to_fill_in)


def _from_kernel(kernel: str, folder: Path, client: Optional[Client]) -> Problem:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="alphakernel_") as scratch, beside(folder.parent, client) as maker:
        path = os.path.abspath(kernel)
        if "__global__" in kernel:
            path = os.path.join(scratch, "kernel.cu")
            Path(path).write_text(kernel, encoding="utf-8")
        made = maker.call("new_problem", {"folder": str(folder), "path": path})
    return _read(folder, None, client, made["to_fill_in"])


def _from_python(file: Path, folder: Path, python: Optional[PathLike], client: Optional[Client]) -> Problem:
    program = shared(client).program
    if "--from-python" not in subprocess.run([program, "problem", "new", "--help"], stdout=subprocess.PIPE, text=True,
                                             check=False).stdout:
        raise EnvironmentFault(f"{program} makes no problems from Python: its `problem new` lacks --from-python; "
                               "install a newer AlphaKernel")
    command = [program, "problem", "new", str(folder), "--from-python", str(file)]
    if python is not None:
        command += ["--python", os.fspath(python)]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        raise error_of(run.returncode, run.stderr.strip() or run.stdout.strip())
    left = [line[4:] for line in run.stdout.splitlines() if line.startswith("  - ")]
    return _read(folder, None, client, left)


def _from_callable(source: Any, inputs: Optional[Sequence[Any]], init: Optional[Sequence[Any]],
                   folder: Optional[PathLike], python: Optional[PathLike], client: Optional[Client]) -> Problem:
    if inputs is None:
        raise UsageError("inputs: expected example arguments, such as [torch.randn(64, 1000)]")
    module = _is_module(source)
    if not module and not inspect.isfunction(source) and not inspect.isclass(source):
        raise UsageError(f"{type(source).__name__}: expected a function, a module (torch.nn.Module) or its class; of "
                         "another object the .py file that makes it")
    name = _snake(type(source).__name__ if module else source.__name__)
    with tempfile.TemporaryDirectory(prefix="alphakernel_") as scratch:
        # The problem has the name of the file, or of its folder where that is reference.py.
        file = Path(scratch) / f"{name if folder is None else _snake(Path(os.path.abspath(folder)).name)}.py"
        _write(file, source, inputs, init)
        target = _new(folder) if folder is not None else _own_folder(name, Path(scratch))
        if folder is None and (target / "problem.json").exists():
            return _read(target, None, client)
        target.parent.mkdir(parents=True, exist_ok=True)
        return _from_python(file, target, python, client)


def _is_module(source: Any) -> bool:
    """A module that exists, not a class of them."""
    return not inspect.isclass(source) and not inspect.isfunction(source) and hasattr(source, "state_dict") \
        and hasattr(source, "named_modules")


def _snake(name: str) -> str:
    """LayerNorm -> layer_norm, as problems are called."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    name = re.sub(r"[^a-z0-9]+", "_", name).strip("_") or "problem"
    return name if name[0].isalpha() else "p_" + name


def _own_folder(name: str, scratch: Path) -> Path:
    """Of the same function and inputs always the same: its kernels are found again."""
    contents = hashlib.sha256()
    for file in sorted(scratch.iterdir()):
        contents.update(file.name.encode() + b"\0" + file.read_bytes())
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(data, "alphakernel", "problems", f"{name}-{contents.hexdigest()[:8]}")


def _write(file: Path, source: Any, inputs: Sequence[Any], init: Optional[Sequence[Any]]) -> None:
    """The file that stands for `source`, and what it reads from its folder."""
    if _is_module(source):
        written = ModuleSource(source, init)
        text, modules = written.text(inputs), written.file.modules
        written.save(str(file.parent / STATE_FILE))
        text += "\n\n" + _inputs_text(inputs)
    else:
        text, modules = _callable_text(source, inputs, init or ())
    for name, contents in modules.items():
        (file.parent / name).write_text(contents, encoding="utf-8")
    file.write_text(text, encoding="utf-8")


def python_file(source: Callable[..., Any], inputs: Sequence[Any], init: Sequence[Any] = ()) -> str:
    """A file that `problem new --from-python` reads: the function or class with what it uses of its own file, and what
    makes inputs like these."""
    return _callable_text(source, inputs, init)[0]


def _callable_text(source: Callable[..., Any], inputs: Sequence[Any],
                   init: Sequence[Any]) -> Tuple[str, Dict[str, str]]:
    file = SourceFile()
    name = file.add(source)
    if inspect.isclass(source):
        entry = f"\n\nModel = {name}\n" if name != "Model" else ""
        entry += f"\n\ndef get_init_inputs():\n    return [{', '.join(file.constant('init', one) for one in init)}]\n"
    else:
        entry = f"\n\nrun = {name}\n" if name != "run" else ""
    return file.text() + entry + "\n\n" + _inputs_text(inputs), file.modules


def _inputs_text(inputs: Sequence[Any]) -> str:
    drawn = drawn_like(inputs)
    helper = ONE_OF + "\n\n" if any("_one_of(" in each for each in drawn) else ""
    return f"{helper}def get_inputs():\n    return [{', '.join(drawn)}]\n"
