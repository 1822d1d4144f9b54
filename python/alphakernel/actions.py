# SPDX-License-Identifier: Apache-2.0
"""Evaluating, tuning and finding kernels."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Union

from .client import Answer, Client, PathLike
from .connection import shared
from .errors import UsageError
from .operations import Scalar
from .progress import Progress
from .results import Evaluation, Kernel, Problem, SearchResult

KernelLike = Union[str, int, Kernel, "os.PathLike[str]"]
ProblemLike = Union[str, Problem, "os.PathLike[str]"]


def kernel_request(kernel: KernelLike) -> Dict[str, Any]:
    """The members of a request that name a kernel: a text, a file ending in .cu, a variant's number or a Kernel."""
    if isinstance(kernel, Kernel):
        return {"source": kernel.source} if kernel.source else {"variant": kernel.variant}
    if isinstance(kernel, int) and not isinstance(kernel, bool):
        return {"variant": kernel}
    if isinstance(kernel, (str, os.PathLike)):
        text = os.fspath(kernel)
        if "\n" not in text and text.endswith(".cu"):
            return {"path": os.path.abspath(text)}
        if isinstance(kernel, str) and "__global__" in text:
            return {"source": text}
    raise UsageError(f"kernel: expected the text of a kernel file, a file ending in .cu, the number of a variant or a "
                     f"Kernel, got {str(kernel)[:80]!r}")


def problem_name(problem: ProblemLike) -> str:
    """A problem's name, or its folder from wherever the program works."""
    if isinstance(problem, Problem):
        return str(problem.folder)
    text = os.fspath(problem)
    if isinstance(problem, Path) or os.sep in text or os.path.exists(os.path.join(text, "problem.json")):
        return os.path.abspath(text)
    return text


def _request(problem: Optional[ProblemLike], given: Mapping[str, Any]) -> Dict[str, Any]:
    request = {name: value for name, value in given.items() if value is not None}
    if problem is not None:
        request["problem"] = problem_name(problem)
    return request


def _searched(operation: str, request: Dict[str, Any], progress: Optional[bool],
              client: Optional[Client]) -> SearchResult:
    shown = Progress(progress)
    try:
        answer: Answer = shared(client).call(operation, request, shown)
    finally:
        shown.close()
    return SearchResult.of(answer)


def evaluate(kernel: KernelLike, *, problem: Optional[ProblemLike] = None,
             params: Optional[Mapping[str, Scalar]] = None, shape: Optional[Mapping[str, int]] = None,
             device: Optional[str] = None, arch: Optional[str] = None, depth: str = "time", unaudited: bool = False,
             client: Optional[Client] = None) -> Evaluation:
    """Builds a kernel, checks it against the reference and times it. A kernel that fails is a result with `ok` False.

    kernel: the text of a kernel file (docs/candidate.md), a file ending in .cu, a variant's number or a Kernel
    problem: its name or folder; may be left out where the kernel says what it was made for
    params: of the problem, e.g. {"dtype": "bf16"}
    shape: one shape instead of the problem's own, e.g. {"M": 4096, "N": 1000}
    device: "auto", "cuda", "cuda:N", "emulator" (the CPU device), "none" (builds only)
    arch: what to compile for, e.g. "sm_90a" or "h200" (default: the device's own)
    depth: how far to go: "build", "check" or "time"
    unaudited: use a problem although no audit shows that its checks notice mistakes
    Raises Error for what the caller or the environment did wrong.
    """
    request = _request(problem, {"params": params, "shape": shape, "device": device, "arch": arch, "depth": depth,
                                 "unaudited": unaudited or None, **kernel_request(kernel)})
    return Evaluation.of(shared(client).call("evaluate", request))


def tune(kernel: KernelLike, *, problem: Optional[ProblemLike] = None,
         params: Optional[Mapping[str, Scalar]] = None, shape: Optional[Mapping[str, int]] = None,
         device: Optional[str] = None, arch: Optional[str] = None, strategy: Optional[str] = None,
         max_evaluations: Optional[int] = None, max_minutes: Optional[float] = None, patience: Optional[int] = None,
         stop_when_done: Optional[float] = None, target_performance: Optional[str] = None, seed: Optional[int] = None,
         transfer: bool = True, deterministic: bool = False, fresh: bool = False, unaudited: bool = False,
         progress: Optional[bool] = None, client: Optional[Client] = None) -> SearchResult:
    """Finds the fastest verified point of a kernel's tunables, which its launch plan lists (docs/candidate.md).

    Ctrl-C ends it with what it has found. Arguments are those of evaluate(), and:
    strategy: how to choose the next point (docs/search.md)
    max_evaluations, max_minutes, patience, stop_when_done (percent that may still be gained), target_performance: when
    to end; give at least one for a large space
    seed: of the search and the inputs (default: random)
    transfer: begin with what the database knows of other shapes, params and devices
    deterministic: on the CPU device every run of a seed is the same
    fresh: measure every point, also those that earlier searches measured
    progress: True, False, or None: where someone looks (a terminal, a notebook)
    Raises Error for what the caller or the environment did wrong.
    """
    return _searched("tune", _request(problem, {
        "params": params, "shape": shape, "device": device, "arch": arch, "strategy": strategy,
        "max_evaluations": max_evaluations, "max_minutes": max_minutes, "patience": patience,
        "stop_when_done": stop_when_done, "target_performance": target_performance, "seed": seed,
        "transfer": transfer, "deterministic": deterministic, "fresh": fresh, "unaudited": unaudited,
        **kernel_request(kernel)}), progress, client)


def generate(problem: ProblemLike, *, params: Optional[Mapping[str, Scalar]] = None,
             shape: Optional[Mapping[str, int]] = None, device: Optional[str] = None, arch: Optional[str] = None,
             template: Optional[str] = None, strategy: Optional[str] = None, max_evaluations: Optional[int] = None,
             max_minutes: Optional[float] = None, patience: Optional[int] = None,
             stop_when_done: Optional[float] = None, target_performance: Optional[str] = None,
             seed: Optional[int] = None, transfer: bool = True, deterministic: bool = False, unaudited: bool = False,
             progress: Optional[bool] = None, client: Optional[Client] = None) -> SearchResult:
    """Finds a fast, verified kernel for a problem among the points of its templates.

    template: search only this template of the problem
    Everything else is as in tune().
    """
    return _searched("search", _request(problem, {
        "params": params, "shape": shape, "device": device, "arch": arch, "template": template, "strategy": strategy,
        "max_evaluations": max_evaluations, "max_minutes": max_minutes, "patience": patience,
        "stop_when_done": stop_when_done, "target_performance": target_performance, "seed": seed,
        "transfer": transfer, "deterministic": deterministic, "unaudited": unaudited}), progress, client)


def best(problem: Union[ProblemLike, int], *, params: Optional[Mapping[str, Scalar]] = None,
         arch: Optional[str] = None, client: Optional[Client] = None) -> Kernel:
    """The fastest verified kernel that the database has for a problem, or the kernel of a variant's number.

    Times of GPUs go before costs of the CPU device. Raises UsageError where there is none.
    """
    if isinstance(problem, int):
        answer = shared(client).call("show_kernel", {"variant": problem})
    else:
        answer = shared(client).call("show_kernel", _request(problem, {"params": params, "arch": arch}))
    return Kernel.of(answer, answer["problem"])
