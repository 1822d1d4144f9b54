# SPDX-License-Identifier: Apache-2.0
"""What the functions of this package return."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from .client import Answer, PathLike
from .errors import NoKernelError


def _number(value: Any) -> Optional[float]:
    """Of a member that may be absent, or text where JSON has no such number."""
    return None if value is None else float(value)


def _table_html(title: str, rows: Iterable[Tuple[str, Any]]) -> str:
    cells = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
                    f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>"
                    for name, value in rows if value not in (None, ""))
    return f"<b>{html.escape(title)}</b><table>{cells}</table>"


def _source_html(source: str) -> str:
    return f"<details><summary>source</summary><pre>{html.escape(source)}</pre></details>"


def _score_rows(kernel: Any) -> List[Tuple[str, Any]]:
    return [("time (us)", kernel.time_us), ("predicted (us)", kernel.predicted_us),
            ("estimated cost on the CPU device (us)", kernel.cost_us)]


def _score_text(kernel: Any) -> str:
    if kernel.time_us is not None:
        return f"{kernel.time_us} us"
    if kernel.predicted_us is not None:
        return f"{kernel.predicted_us} us predicted"
    return "not timed" if kernel.cost_us is None else f"estimated cost {kernel.cost_us} us"


@dataclass(frozen=True)
class Kernel:
    """A kernel at one point of its tunables.

    time_us: on a GPU: the weighted geometric mean over the timed shapes (us); None where it ran on the CPU device
    cost_us: the same estimated on the CPU device, which is no time of a GPU (us)
    predicted_us: predicted for the target, not measured (us)
    source: the kernel file with its parameters frozen; empty for leaders that are not the best (`best()` reads them)
    """

    problem: str
    variant: int
    template: str
    tunables: Dict[str, int]
    source: str = field(default="", repr=False)
    time_us: Optional[float] = None
    cost_us: Optional[float] = None
    predicted_us: Optional[float] = None
    device: str = ""
    arch: str = ""

    @classmethod
    def of(cls, data: Dict[str, Any], problem: str, device: str = "", arch: str = "") -> "Kernel":
        """From the members of an answer."""
        return cls(problem=problem, variant=data["variant"], template=data["template"], tunables=data["tunables"],
                   source=data.get("source", ""), time_us=_number(data.get("score_us")),
                   cost_us=_number(data.get("emulated_cost_us")), predicted_us=_number(data.get("predicted_us")),
                   device=data.get("device", device), arch=data.get("arch", arch))

    def save(self, path: PathLike) -> Path:
        """Writes the source to a file, which `evaluate` takes as it is."""
        file = Path(path)
        file.write_text(self.source, encoding="utf-8")
        return file

    def __str__(self) -> str:
        point = " ".join(f"{name}={value}" for name, value in self.tunables.items())
        return " ".join(f"{self.template} {point}: {_score_text(self)}".split())

    def _repr_html_(self) -> str:
        rows = [("problem", self.problem), ("variant", self.variant), ("device", self.device), ("arch", self.arch),
                *_score_rows(self), *self.tunables.items()]
        return _table_html(self.template, rows) + (_source_html(self.source) if self.source else "")


@dataclass(frozen=True)
class SearchResult:
    """What a search or the tuning of a kernel found.

    best: None where no candidate was verified
    baseline_us: time of `baseline`, the fastest one (us); None where none was timed
    interrupted: it was stopped, by Ctrl-C too: `best` is what it had until then
    answer: everything, as docs/operations.md lists it
    """

    problem: str
    best: Optional[Kernel]
    leaders: List[Kernel]
    search: int
    evaluated: int
    verified: int
    failed: int
    interrupted: bool
    stop_reason: str
    wall_s: float
    device: str
    arch: str
    baseline: str = ""
    baseline_us: Optional[float] = None
    answer: Dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, answer: Answer) -> "SearchResult":
        """From what `search` or `tune` answered."""
        target = answer["target"]

        def kernel(data: Dict[str, Any]) -> Kernel:
            return Kernel.of(data, answer["problem"], target["device"], target["arch"])

        baseline = answer.get("baseline", {})
        best = answer.get("best")
        return cls(problem=answer["problem"], best=kernel(best) if best else None,
                   leaders=[kernel(each) for each in answer["leaders"]], search=answer["search"],
                   evaluated=answer["evaluated"], verified=answer["verified"], failed=answer["failed"],
                   interrupted=answer["interrupted"], stop_reason=answer["stop_reason"], wall_s=answer["wall_s"],
                   device=target["device"], arch=target["arch"], baseline=baseline.get("name", ""),
                   baseline_us=_number(baseline.get("time_us")), answer=answer)

    def _found(self) -> Kernel:
        if self.best is None:
            raise NoKernelError(f"{self.problem}: {self.evaluated} candidates tried and none verified "
                                f"({self.stop_reason}); query(\"SELECT * FROM failures\") says why")
        return self.best

    @property
    def source(self) -> str:
        """Of the best kernel. Raises NoKernelError where there is none."""
        return self._found().source

    @property
    def tunables(self) -> Dict[str, int]:
        """The point of the best kernel. Raises NoKernelError where there is none."""
        return self._found().tunables

    @property
    def time_us(self) -> Optional[float]:
        """Of the best kernel on a GPU (us). Raises NoKernelError where there is none."""
        return self._found().time_us

    @property
    def speedup(self) -> Optional[float]:
        """Time of the baseline over that of the best kernel; None where one of them was not timed on a GPU."""
        if self.best is None or self.best.time_us is None or self.baseline_us is None:
            return None
        return self.baseline_us / self.best.time_us

    def save(self, path: PathLike) -> Path:
        """Writes the best kernel to a file. Raises NoKernelError where there is none."""
        return self._found().save(path)

    def __str__(self) -> str:
        found = "no kernel verified" if self.best is None else str(self.best)
        return f"{self.problem} for {self.arch}: {self.evaluated} tried, {self.verified} verified; {found}"

    def _repr_html_(self) -> str:
        rows: List[Tuple[str, Any]] = [
            ("device", self.device), ("arch", self.arch), ("tried", self.evaluated), ("verified", self.verified),
            ("ended by", self.stop_reason)]
        if self.best is None:
            return _table_html(f"{self.problem}: no kernel verified", rows)
        speedup = None if self.speedup is None else f"{self.speedup:.3g} times as fast as {self.baseline}"
        rows += [*_score_rows(self.best), ("speed-up", speedup), *self.best.tunables.items()]
        return _table_html(f"{self.problem}: {self.best.template}", rows) + _source_html(self.best.source)


@dataclass(frozen=True)
class Finding:
    """A message of a compiler or a checker. line: of the kernel file, from 1; None where it has none."""

    severity: str
    message: str
    line: Optional[int] = None


@dataclass(frozen=True)
class Evaluation:
    """How the evaluation of one kernel ended. A kernel that fails is a result, too.

    ok: it passed all gates (with depth "build": it was built)
    gate: name of the gate that rejected it; empty: none did
    time_us, cost_us: as of Kernel
    answer: everything, as docs/operations.md lists it
    """

    ok: bool
    status: str
    meaning: str
    problem: str
    variant: int
    device: str
    arch: str
    gate: str = ""
    message: str = ""
    findings: Sequence[Finding] = ()
    checks_passed: int = 0
    checks: int = 0
    time_us: Optional[float] = None
    cost_us: Optional[float] = None
    predicted_us: Optional[float] = None
    answer: Dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, answer: Answer) -> "Evaluation":
        """From what `evaluate` answered."""
        findings = [Finding(each["severity"], each["message"], each.get("line"))
                    for each in answer.get("findings", [])]
        return cls(ok=not answer.failed, status=answer["status"], meaning=answer["meaning"],
                   problem=answer["problem"], variant=answer["variant"], device=answer["target"]["device"],
                   arch=answer["target"]["arch"], gate=answer.get("gate", ""), message=answer.get("message", ""),
                   findings=findings, checks_passed=answer["checks"]["passed"], checks=answer["checks"]["of"],
                   time_us=_number(answer.get("score_us")), cost_us=_number(answer.get("emulated_cost_us")),
                   answer=answer)

    def __str__(self) -> str:
        if self.ok:
            return f"{self.problem}: {self.status}, {self.checks_passed} of {self.checks} checks passed, " \
                   f"{_score_text(self)}"
        why = ": ".join(part for part in (self.gate, self.message or self.meaning) if part)
        return f"{self.problem}: {self.status}: {why}"

    def _repr_html_(self) -> str:
        rows = [("device", self.device), ("arch", self.arch), ("gate", self.gate), ("message", self.message),
                ("checks passed", f"{self.checks_passed} of {self.checks}"), *_score_rows(self)]
        rows += [(each.severity if each.line is None else f"{each.severity}, line {each.line}", each.message)
                 for each in self.findings]
        return _table_html(f"{self.problem}: {self.status}", rows)


@dataclass(frozen=True)
class Problem:
    """A problem folder, or a problem that comes with AlphaKernel. Functions take it where they take a problem.

    tensors: name -> "input float32 [M, N]"
    to_fill_in: what a folder that was just made still needs, one line each
    """

    name: str
    folder: Path
    summary: str = ""
    params: Dict[str, Any] = field(default_factory=dict)
    tensors: Dict[str, str] = field(default_factory=dict)
    to_fill_in: Sequence[str] = ()

    def _repr_html_(self) -> str:
        rows = [("folder", self.folder), ("computes", self.summary), *self.params.items(), *self.tensors.items()]
        return _table_html(self.name, rows + [("to fill in", each) for each in self.to_fill_in])


@dataclass(frozen=True)
class SessionSearch:
    """A search of a session. time_us, cost_us: of its best kernel so far, as of Kernel."""

    name: str
    state: str
    reason: str
    evaluations: int
    verified: int
    spent_s: float
    time_us: Optional[float] = None
    cost_us: Optional[float] = None
    speedup: Optional[float] = None


@dataclass(frozen=True)
class SessionStatus:
    """The state of a session. log: the file that it writes what it does to, where the session was just started."""

    number: int
    name: str
    state: str
    reason: str
    spent_s: float
    searches: Sequence[SessionSearch]
    exit_code: Optional[int] = None
    cost_usd: Optional[float] = None
    log: str = ""

    @property
    def ended(self) -> bool:
        """It neither runs nor waits to."""
        return self.state not in ("queued", "running")

    @classmethod
    def of(cls, answer: Dict[str, Any]) -> "SessionStatus":
        """From what an operation on sessions answered."""
        searches = [SessionSearch(each["name"], each["state"], each["reason"], each["evaluations"], each["verified"],
                                  each["spent_s"], _number(each.get("score_us")),
                                  _number(each.get("emulated_cost_us")), _number(each.get("speedup")))
                    for each in answer["searches"]]
        return cls(answer["session"], answer["name"], answer["state"], answer["reason"], answer["spent_s"], searches,
                   answer.get("exit_code"), answer.get("cost_usd"), answer.get("log", ""))

    def _repr_html_(self) -> str:
        rows = [("state", self.state), ("reason", self.reason), ("spent (s)", self.spent_s)]
        rows += [(each.name, f"{each.state}, {each.evaluations} tried, {each.verified} verified")
                 for each in self.searches]
        return _table_html(f"session {self.number}: {self.name}", rows)
