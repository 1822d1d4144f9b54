# SPDX-License-Identifier: Apache-2.0
"""Problems: those there are, and folders made from a kernel, a PyTorch file, a function or a module."""

from __future__ import annotations

import inspect
import os
import subprocess
import tempfile
import textwrap
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Union

from .actions import problem_name
from .client import Client, PathLike
from .connection import beside, shared
from .errors import EnvironmentFault, UsageError, error_of
from .operations import Scalar
from .results import Problem

_HEAD = "import math\n\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"


def problem(source: Union[str, PathLike, Callable[..., Any]], inputs: Optional[Sequence[Any]] = None, *,
            folder: Optional[PathLike] = None, init: Sequence[Any] = (),
            params: Optional[Mapping[str, Scalar]] = None, python: Optional[PathLike] = None,
            client: Optional[Client] = None) -> Problem:
    """A problem, to evaluate, tune and find kernels for.

    source: what it is made from:
      the name of a problem, or a problem folder: it is read
      a kernel, as its text or a file ending in .cu: `folder` is made from its signature (docs/problem.md)
      a Python file, a function or a class of modules (torch.nn.Module): `folder` is made by running it
    inputs: of a function or a class: example arguments, tensors and numbers
    init: of a class: the arguments that it is made with
    folder: that is made: a new name, or an empty folder
    params: of a problem that is read
    python: the interpreter with PyTorch that runs a Python file (default: the one that `alphakernel doctor` finds)
    Raises Error.
    """
    if callable(source):
        return _from_callable(source, inputs, init, _new(folder), python, client)
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


def _from_callable(source: Callable[..., Any], inputs: Optional[Sequence[Any]], init: Sequence[Any], folder: Path,
                   python: Optional[PathLike], client: Optional[Client]) -> Problem:
    if not inspect.isfunction(source) and not inspect.isclass(source):
        raise UsageError(f"{type(source).__name__}: expected a function or a class of modules; of an object the class, "
                         "with init=[...] for the arguments that it is made with, or its .py file")
    if inputs is None:
        raise UsageError("inputs: expected example arguments, such as [torch.randn(64, 1000)]")
    with tempfile.TemporaryDirectory(prefix="alphakernel_") as scratch:
        file = Path(scratch) / "reference.py"
        file.write_text(python_file(source, inputs, init), encoding="utf-8")
        return _from_python(file, folder, python, client)


def python_file(source: Callable[..., Any], inputs: Sequence[Any], init: Sequence[Any] = ()) -> str:
    """A file that `problem new --from-python` reads: the function or class, and what makes inputs like these."""
    try:
        text = textwrap.dedent(inspect.getsource(source))
    except (OSError, TypeError):
        raise UsageError(f"{source.__name__}: its source is not in a file; write it to a .py file and name that") \
            from None
    if text.lstrip().startswith(("lambda", "@")) or source.__name__ == "<lambda>":
        raise UsageError("expected a function that begins with `def`, or a class, without decorators")
    if inspect.isclass(source):
        entry = f"\n\nModel = {source.__name__}\n" if source.__name__ != "Model" else ""
        entry += f"\n\ndef get_init_inputs():\n    return [{', '.join(map(repr, init))}]\n"
    else:
        entry = f"\n\nrun = {source.__name__}\n" if source.__name__ != "run" else ""
    return _HEAD + text + entry + "\n\ndef get_inputs():\n    return [" + ", ".join(_made(inputs)) + "]\n"


def _made(inputs: Sequence[Any]) -> Iterator[str]:
    """Python that makes a value like each: tensors of its shape and dtype, numbers as they are."""
    for value in inputs:
        if value is None or isinstance(value, (bool, int, float)):
            yield repr(value)
            continue
        dtype = str(getattr(value, "dtype", "")).replace("torch.", "")
        shape = list(getattr(value, "shape", ())) if hasattr(value, "shape") else None
        if shape is None or not dtype:
            raise UsageError(f"inputs: expected tensors and numbers, got {type(value).__name__}")
        if dtype == "bool":
            yield f"torch.rand({shape}) < 0.5"
        elif dtype.startswith(("int", "uint")):
            low, high = (int(value.min()), int(value.max()) + 1) if 0 not in shape else (0, 1)
            yield f"torch.randint({low}, {high}, {shape}, dtype=torch.{dtype})"
        else:
            yield f"torch.randn({shape}).to(torch.{dtype})"
