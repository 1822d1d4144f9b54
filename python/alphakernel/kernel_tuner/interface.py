# SPDX-License-Identifier: Apache-2.0
"""tune_kernel(): the arguments of Kernel Tuner, answered by a search of AlphaKernel."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ..client import Client
from ..connection import beside
from ..errors import NoKernelError, UsageError
from ..progress import Progress
from ..results import SearchResult
from ..tables import query
from .answer import check_answer
from .arguments import Argument, body_of, outputs_of, read_arguments, read_too
from .folder import ProblemFolder
from .space import Rule, Space

# Kernel Tuner's name -> the strategy that does the same or is closest (docs/search.md).
_STRATEGIES = {
    "brute_force": "exhaustive", "random_sample": "random", "genetic_algorithm": "genetic", "pso": "particle-swarm",
    "simulated_annealing": "annealing", "dual_annealing": "annealing", "diff_evo": "differential-evolution",
    "bayes_opt": "bayesian", "mls": "multi-start", "greedy_mls": "multi-start", "ordered_greedy_mls": "multi-start",
    "greedy_ils": "local-search"}
_OWN_STRATEGIES = ("random", "exhaustive", "local-search", "multi-start", "annealing", "genetic",
                   "differential-evolution", "particle-swarm", "tabu", "bayesian", "forest", "portfolio")
# Options of nvcc and NVRTC -> options of a launch plan; "" where the harness chooses by itself.
_COMPILER_OPTIONS = [(r"-{1,2}use_fast_math", "fast_math"), (r"-{1,2}ftz=true", "ftz"),
                     (r"-{1,2}prec-div=false", "prec_div_false"), (r"-{1,2}prec-sqrt=false", "prec_sqrt_false"),
                     (r"-{1,2}fmad=false", "fmad_false"), (r"-{1,2}maxrregcount=(\d+)", r"maxrregcount=\1"),
                     (r"-O\d|-{1,2}std=\S+|-{1,2}(generate-)?line-?info", "")]


def tune_kernel(
        kernel_name: str, kernel_source: Any, problem_size: Any, arguments: Sequence[Any],
        tune_params: Mapping[str, Sequence[int]], grid_div_x: Any = None, grid_div_y: Any = None,
        grid_div_z: Any = None, restrictions: Any = None, answer: Optional[Sequence[Any]] = None, atol: float = 1e-6,
        verify: Optional[Callable[..., bool]] = None, verbose: bool = False, lang: Optional[str] = None,
        device: Union[int, str] = 0, platform: int = 0, smem_args: Optional[Mapping[str, Rule]] = None,
        cmem_args: Any = None, texmem_args: Any = None, compiler: Optional[str] = None,
        compiler_options: Optional[Sequence[str]] = None, defines: Optional[Mapping[str, Any]] = None, log: Any = None,
        iterations: int = 7, block_size_names: Optional[Sequence[str]] = None, quiet: bool = False,
        strategy: Optional[str] = None, strategy_options: Optional[Mapping[str, Any]] = None, cache: Any = None,
        metrics: Optional[Mapping[str, Any]] = None, simulation_mode: bool = False, observers: Any = None,
        objective: Optional[str] = None, objective_higher_is_better: Optional[bool] = None, *,
        arch: Optional[str] = None, unaudited: bool = False, folder: Optional[Union[str, "os.PathLike[str]"]] = None,
        client: Optional[Client] = None) -> Tuple[List[Dict[str, Any]], Dict[str, Any]]:
    """Tunes a CUDA kernel as Kernel Tuner does, with AlphaKernel's checks (docs/python.md says what differs).

    The arguments up to objective_higher_is_better are Kernel Tuner's. Further ones:
    arch: what to compile for (default: the device's own)
    unaudited: do without the audit of the checks
    folder: where the problem folder is written and stays, a new name or an empty folder (default: it is removed)
    client: instead of the shared one

    Every point is compared with the kernel's first point, in float64 where its source allows, on inputs that are drawn
    with the shapes and types of `arguments`. With `answer`, that first point must give it for `arguments`.

    Returns the points that passed, each a dict of its parameters, `time` (ms) and `metrics`, and what the
    environment was: `best_config`, `failed`, `estimated` (True: `time` is a cost of the CPU device, no time of a GPU).
    Raises UsageError for what is not supported, by its name, NoKernelError where no point passed.
    """
    _refuse({"cmem_args": cmem_args, "texmem_args": texmem_args, "compiler": compiler, "log": log, "cache": cache,
             "observers": observers, "simulation_mode": simulation_mode, "platform": platform,
             "objective_higher_is_better": objective_higher_is_better,
             "objective": objective if objective != "time" else None,
             "lang": lang if str(lang).upper() not in ("CUDA", "NVCUDA", "CUPY") else None})
    if iterations != 7:
        warnings.warn("iterations: the harness decides how many samples it takes (docs/timing.md)", stacklevel=2)
    source = _source(kernel_source)
    space = Space(tune_params)
    taken = read_arguments(kernel_name, source, arguments)
    body = body_of(source, kernel_name)
    outputs = outputs_of(taken, body, answer)
    problem = ProblemFolder(kernel_name, source, taken, outputs,
                            [each for each in outputs if read_too(each, body)])
    names = [*(block_size_names or []), "block_size_x", "block_size_y", "block_size_z"][:3] \
        if not block_size_names else [*block_size_names, "block_size_y", "block_size_z"][:3]
    plan = _plan(kernel_name, space, taken, problem_size, [grid_div_x, grid_div_y, grid_div_z], names,
                 _listed(restrictions), smem_args or {}, compiler_options or [])
    first = _first_point(space, _listed(restrictions))
    request = {"strategy": _strategy(strategy), "device": f"cuda:{device}" if isinstance(device, int) and device else
               "auto" if isinstance(device, int) else device, "fresh": True, "transfer": False,
               "unaudited": unaudited, **_budget(strategy_options, space)}
    if arch is not None:
        request["arch"] = arch
    with tempfile.TemporaryDirectory(prefix="alphakernel_") as scratch:
        place = _empty_folder(Path(scratch) / "problem" if folder is None else Path(folder))
        problem.write(place, plan, _defines(space, defines, None), {**plan_at(plan, space, first)},
                      _defines(space, defines, first))
        with beside(place, client) as worker:
            where = {name: request[name] for name in ("device", "arch") if name in request}
            if answer is not None:
                check_answer(worker, place, problem, dict(zip((each.name for each in taken), answer)), atol, verify,
                             where)
            shown = Progress(False if quiet else True if verbose else None)
            try:
                found = worker.call("tune", {"path": str(place / "kernel.cu"), "problem": str(place), **request}, shown)
            finally:
                shown.close()
            result = SearchResult.of(found)
            results, failed = _points(result, space, worker)
    _add_metrics(results, metrics or {})
    if not results:
        why = failed[0]["message"] if failed else result.stop_reason
        raise NoKernelError(f"{kernel_name}: no point passed ({result.stop_reason}); the first one: {why}")
    best = min(results, key=lambda each: each["time"])
    if not quiet:
        print("best performing configuration:", ", ".join(f"{name}={value}" for name, value in best.items()))
    return results, {"device_name": result.device, "arch": result.arch, "estimated": found["emulated"],
                     "best_config": best, "failed": failed, "search": result.search, "result": result,
                     "interrupted": result.interrupted}


def _refuse(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if value not in (None, False, 0):
            raise UsageError(f"{name}: not supported by AlphaKernel's tune_kernel")


def _listed(value: Any) -> List[Rule]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _source(kernel_source: Any) -> str:
    if not isinstance(kernel_source, (str, os.PathLike)):
        raise UsageError("kernel_source: expected a text or the name of a file; functions and lists are not supported")
    text = os.fspath(kernel_source)
    if "__global__" in text:
        return text
    try:
        return Path(text).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"kernel_source: {text[:80]!r} has no __global__ function and is no file: {error}") from None


def _empty_folder(folder: Path) -> Path:
    folder = Path(os.path.abspath(folder))
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise UsageError(f"folder: {folder} is not empty")
    return folder


def _strategy(name: Optional[str]) -> str:
    if name is None:
        return "exhaustive"
    if name in _OWN_STRATEGIES:
        return name
    if not isinstance(name, str) or name not in _STRATEGIES:
        raise UsageError(f"strategy: {name!r} is not supported; expected one of "
                         f"{', '.join([*_STRATEGIES, *_OWN_STRATEGIES])}")
    return _STRATEGIES[name]


def _budget(options: Optional[Mapping[str, Any]], space: Space) -> Dict[str, Any]:
    budget: Dict[str, Any] = {}
    for name, value in (options or {}).items():
        if name == "max_fevals":
            budget["max_evaluations"] = int(value)
        elif name == "time_limit":
            budget["max_minutes"] = max(0.001, float(value) / 60)
        elif name == "fraction":
            points = math.prod(len(values) for values in space.values.values())
            budget["max_evaluations"] = max(1, math.ceil(float(value) * points))
        else:
            raise UsageError(f"strategy_options: {name!r} is not supported; expected max_fevals, time_limit, fraction")
    return budget


def _options(given: Sequence[str]) -> List[str]:
    options = []
    for text in given:
        for pattern, option in _COMPILER_OPTIONS:
            found = re.fullmatch(pattern, text.strip())
            if found:
                options += [found.expand(option)] if option else []
                break
        else:
            raise UsageError(f"compiler_options: {text!r} is not supported")
    return options


def _sizes(problem_size: Any, space: Space) -> List[Rule]:
    """A rule for each dimension."""
    if callable(problem_size):
        first = {name: values[0] for name, values in space.values.items()}
        shape = problem_size(first)
        count = len(shape) if isinstance(shape, (tuple, list)) else 1

        def part(at: int) -> Rule:
            def size(point: Mapping[str, Any]) -> Any:
                whole = problem_size(point)
                return whole[at] if isinstance(whole, (tuple, list)) else whole
            return size

        return [part(at) for at in range(count)]
    sizes = list(problem_size) if isinstance(problem_size, (tuple, list)) else [problem_size]
    if not 1 <= len(sizes) <= 3:
        raise UsageError(f"problem_size: expected 1 to 3 dimensions, got {len(sizes)}")
    return sizes


def _grid(size: Rule, divisors: Any, default: str, space: Space, what: str) -> str:
    """A dimension of the grid: the size over the product of its divisors, rounded up."""
    if divisors is None:
        divisors = [default] if default in space.names else []
    if callable(divisors):
        return space.value(lambda point: math.ceil(_valued(size, point) / divisors(point)), what)
    wide = space.value(size, "problem_size")
    if not _listed(divisors):
        return wide
    parts = [f"({space.value(each, what)})" for each in _listed(divisors)]
    return f"ceil_div({wide}, {' * '.join(parts)})"


def _valued(size: Rule, point: Mapping[str, Any]) -> Any:
    if callable(size):
        return size(point)
    return eval(size, {"__builtins__": {}}, dict(point)) if isinstance(size, str) else size


def _plan(kernel: str, space: Space, arguments: Sequence[Argument], problem_size: Any, divisors: Sequence[Any],
          blocks: Sequence[str], restrictions: Sequence[Rule], smem_args: Mapping[str, Rule],
          compiler_options: Sequence[str]) -> Dict[str, Any]:
    """The launch plan over all points."""
    unknown = [name for name in smem_args if name != "size"]
    if unknown:
        raise UsageError(f"smem_args: {unknown[0]!r} is not supported; expected size")
    grid = [_grid(size, divisors[at], blocks[at], space, f"grid_div_{'xyz'[at]}")
            for at, size in enumerate(_sizes(problem_size, space))]
    block = [space.names.get(name, "256" if at == 0 else "1") for at, name in enumerate(blocks)]
    launch = {"kernel": kernel, "grid": grid, "block": block,
              "args": [each.name if each.pointer else each.plan_scalar() for each in arguments]}
    if smem_args:
        launch["shared_bytes"] = space.value(smem_args["size"], "smem_args")
    conditions = [space.condition(each, "restrictions") for each in restrictions]
    plan = {"tunables": {space.names[name]: {"values": values} for name, values in space.values.items()},
            "constraints": [*conditions, f"{' * '.join(block)} <= 1024"], "launches": [launch]}
    options = _options(compiler_options)
    return {**plan, "options": options} if options else plan


def _first_point(space: Space, restrictions: Sequence[Rule]) -> Dict[str, int]:
    """The first point that the restrictions allow: the reference."""
    rules = [each if callable(each) else space._evaluated(each, "restrictions") for each in restrictions]
    for values in itertools.product(*space.values.values()):
        point = dict(zip(space.values, values))
        if all(rule(point) for rule in rules):
            return point
    raise NoKernelError("restrictions: no point satisfies them")


def plan_at(plan: Mapping[str, Any], space: Space, point: Mapping[str, int]) -> Dict[str, Any]:
    """The plan of one point: its tunables become names for numbers."""
    rest = {name: value for name, value in plan.items() if name not in ("tunables", "constraints")}
    return {"let": {space.names[name]: str(value) for name, value in point.items()}, **rest}


def _defines(space: Space, given: Optional[Mapping[str, Any]], point: Optional[Mapping[str, int]]) -> str:
    """What the source is compiled behind: parameters under the caller's names, or the caller's own defines."""
    values = {name: f"AK_{space.names[name]}" if point is None else str(point[name]) for name in space.names}
    if given is not None:
        for name, value in given.items():
            if callable(value):
                raise UsageError(f"defines: {name}: functions are not supported; expected a text or a number")
        values = {name: values.get(str(value), str(value)) for name, value in given.items()}
    return "#define kernel_tuner 1\n" + "".join(f"#define {name} {value}\n" for name, value in values.items())


def _points(result: SearchResult, space: Space, client: Client) -> Tuple[List[Dict[str, Any]], List[Dict[str, Any]]]:
    """Every point of a search: those that passed, with their times, and the others with what went wrong."""
    rows = query("SELECT v.tunables AS tunables, e.status AS status, min(e.score_ns) AS ns, max(e.message) AS message "
                 f"FROM evaluations e JOIN variants v ON v.id = e.variant_id WHERE e.search_id = {result.search} "
                 "GROUP BY v.id, e.status ORDER BY min(e.id)", frame=False, client=client)
    callers = {plan: name for name, plan in space.names.items()}
    passed: Dict[str, Dict[str, Any]] = {}
    failed: Dict[str, Dict[str, Any]] = {}
    for row in rows:
        point = {callers[name]: value for name, value in json.loads(row["tunables"]).items() if name in callers}
        if row["ns"] is not None:
            passed[row["tunables"]] = {**point, "time": row["ns"] / 1e6}
        elif row["status"] != "ok":
            failed[row["tunables"]] = {**point, "status": row["status"], "message": row["message"]}
    lost = [each for key, each in failed.items() if key not in passed]

    def place(point: Mapping[str, Any]) -> List[int]:
        return [values.index(point[name]) for name, values in space.values.items()]

    return sorted(passed.values(), key=place), sorted(lost, key=place)


def _add_metrics(results: Sequence[Dict[str, Any]], metrics: Mapping[str, Any]) -> None:
    for each in results:
        for name, metric in metrics.items():
            each[name] = metric(each) if callable(metric) else eval(metric, {"__builtins__": {}}, dict(each))
