# SPDX-License-Identifier: Apache-2.0
"""Whether the reference gives what the caller knows to be right for the caller's own inputs."""

from __future__ import annotations

import array
import inspect
import shutil
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional

from ..client import Client
from ..errors import BadInputError
from .arguments import flattened
from .folder import WORKLOAD, ProblemFolder

_RELATIVE = 1e-5  # as numpy.allclose has it, by which Kernel Tuner compares


def check_answer(client: Client, folder: Path, problem: ProblemFolder, answer: Mapping[str, Any], atol: float,
                 verify: Optional[Callable[..., bool]], where: Mapping[str, Any]) -> None:
    """Runs the reference on the arguments. Raises BadInputError where it does not give `answer`."""
    given = folder / "given"
    given.mkdir()
    for name, content in problem.input_files().items():
        (given / name).write_bytes(content)
    done = client.call("run_reference", {"problem": str(folder), "folder": str(given), "workload": WORKLOAD, **where})
    for output in done["outputs"]:
        expected = answer[output["name"]]
        if expected is None:
            continue
        got = array.array("d" if output["dtype"] == "float64" else "q")
        got.frombytes((given / output["file"]).read_bytes())
        wrong = _difference(expected, got, output["shape"], atol, verify)
        if wrong:
            raise BadInputError(f"answer: the kernel's first point does not give it: {output['name']}{wrong}")
    shutil.rmtree(given)


def _difference(expected: Any, got: "array.array[Any]", shape: List[int], atol: float,
                verify: Optional[Callable[..., bool]]) -> str:
    """What is wrong with the results; empty: nothing."""
    if verify is not None:
        result: Any = got
        if hasattr(expected, "dtype"):
            import numpy

            result = numpy.array(got).reshape(shape).astype(expected.dtype)
        given: Dict[str, Any] = {"atol": atol} if "atol" in inspect.signature(verify).parameters else {}
        return "" if verify(expected, result, **given) else ": verify says so"
    for at, (want, have) in enumerate(zip(flattened(expected), got)):
        if not abs(want - have) <= atol + _RELATIVE * abs(want):
            return f"[{at}]: expected {want}, got {have}"
    return ""
