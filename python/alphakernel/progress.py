# SPDX-License-Identifier: Apache-2.0
"""How a search is going, while it runs: a line in a terminal, a line in a notebook's cell."""

from __future__ import annotations

import html
import sys
import time
from typing import Any, Callable, Dict, Optional

_INTERVAL_S = 0.1  # a terminal shows no more than a reader can follow


def score_text(data: Dict[str, Any], without: str = "none verified yet") -> str:
    """The best so far of an event or a kernel: a time, or what stands for it on the CPU device; else `without`."""
    for key, words in (("score_us", "best {} us"), ("predicted_us", "best {} us predicted"),
                       ("emulated_cost_us", "lowest estimated cost {} us")):
        if data.get(key) is not None:
            return words.format(data[key])
    return without


def line_of(data: Dict[str, Any]) -> str:
    """One line for an event `progress`."""
    return (f"alphakernel: {data['evaluated']} tried, {data['verified']} verified, {score_text(data)}, "
            f"{data['elapsed_s']:.0f} s")


def _notebook_display() -> Optional[Callable[[str], None]]:
    """What shows a text in the cell that runs, replacing the one before; None outside of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import HTML, display  # type: ignore[import-not-found,unused-ignore]

    handle = display(HTML(""), display_id=True)

    def show(text: str) -> None:
        handle.update(HTML(f"<code>{html.escape(text)}</code>"))

    return show


class Progress:
    """Shows the events of a search; made for one search, and closed behind it.

    wanted: True: also where standard error is no terminal, a line for each new best; False: never; None: in a
    terminal and in a notebook
    """

    def __init__(self, wanted: Optional[bool] = None) -> None:
        self._notebook = _notebook_display() if wanted is not False else None
        self._terminal = self._notebook is None and wanted is not False and sys.stderr.isatty()
        self._lines = self._notebook is None and not self._terminal and wanted is True
        self._shown = ""
        self._last_s = 0.0

    def __call__(self, event: str, data: Dict[str, Any]) -> None:
        if event == "new_best":
            if self._lines:
                point = " ".join(f"{name}={value}" for name, value in data["tunables"].items())
                score = score_text(data, "best by its resources")
                print(f"alphakernel: {score}: {data['template']} {point}".rstrip(), file=sys.stderr)
            return
        if self._notebook is None and not self._terminal:
            return
        now_s = time.monotonic()
        if now_s - self._last_s < _INTERVAL_S:
            return
        self._last_s = now_s
        self._show(line_of(data))

    def close(self) -> None:
        if self._terminal and self._shown:
            sys.stderr.write("\r" + " " * len(self._shown) + "\r")
            sys.stderr.flush()

    def _show(self, text: str) -> None:
        if self._notebook is not None:
            self._notebook(text)
        else:
            sys.stderr.write("\r" + text.ljust(len(self._shown)))
            sys.stderr.flush()
        self._shown = text
