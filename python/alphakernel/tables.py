# SPDX-License-Identifier: Apache-2.0
"""Answers of the database as tables."""

from __future__ import annotations

import html
import warnings
from typing import Any, Dict, List, Optional

from .client import Answer, Client
from .connection import shared

# The most that an operation answers (docs/operations.md, query).
_ALL_ROWS, _ALL_BYTES, _CELL_BYTES = 1_000_000, 32_000_000, 4_000_000


class Rows(List[Dict[str, Any]]):
    """A row is a dict, whose keys are in the order of `columns`."""

    columns: List[str] = []

    def _repr_html_(self) -> str:
        def line(cells: Any, tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

        return "<table>" + line(self.columns, "th") + "".join(line(row.values(), "td") for row in self) + "</table>"


def _rows(answer: Answer) -> Rows:
    rows = Rows(dict(zip(answer["columns"], row)) for row in answer["rows"])
    rows.columns = answer["columns"]
    return rows


def _table(answer: Answer, frame: Optional[bool]) -> Any:
    if frame is False:
        return _rows(answer)
    try:
        import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        if frame:
            raise
        return _rows(answer)
    return pandas.DataFrame(answer["rows"], columns=answer["columns"])


def query(sql: str, *, limit: Optional[int] = None, frame: Optional[bool] = None,
          client: Optional[Client] = None) -> Any:
    """One SELECT on the performance database, read-only (docs/queries.md).

    limit: rows at most; without it all, and a warning where they are more than an answer holds
    frame: True: a pandas.DataFrame; False: Rows; None: a DataFrame where pandas is installed, else Rows
    Columns whose names are equal are one in Rows: name them with AS.
    Raises Error for a statement that is wrong.
    """
    answer = shared(client).call("query", {"sql": sql, "limit": limit or _ALL_ROWS, "max_bytes": _ALL_BYTES,
                                           "cell_bytes": _CELL_BYTES})
    if limit is None and not answer["complete"]:
        warnings.warn(f"not all rows: {answer.get('note', '')}", stacklevel=2)
    return _table(answer, frame)


def leaderboard(problem: Optional[str] = None, *, arch: Optional[str] = None, device_kind: Optional[str] = None,
                limit: int = 3, frame: Optional[bool] = None, client: Optional[Client] = None) -> Any:
    """The fastest verified kernels for each definition, device, architecture and set of shapes, as query() gives tables.

    problem: only of the problem of this name
    device_kind: "cuda": times of GPUs; "emulator": costs estimated on the CPU device
    limit: kernels of each
    """
    request = {"problem": problem, "arch": arch, "device_kind": device_kind, "limit": limit}
    answer = shared(client).call("best_variants", {name: each for name, each in request.items() if each is not None})
    return _table(answer, frame)
