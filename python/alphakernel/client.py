# SPDX-License-Identifier: Apache-2.0
"""A running `alphakernel operations serve` (docs/library.md)."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import threading
from pathlib import Path
from typing import IO, Any, Dict, List, Optional, Union

from .errors import EnvironmentFault, InternalError, OutputError, error_of
from .operations import OnEvent, Operations

PathLike = Union[str, "os.PathLike[str]"]


class Answer(Dict[str, Any]):
    """What an operation answers. `failed`: the kernel that was asked about failed, or none was found."""

    failed: bool = False


def find_program(program: Optional[PathLike] = None) -> str:
    """The file of the program: as named, else $ALPHAKERNEL_PROGRAM, else the one that this package was installed
    with, else `alphakernel` on PATH. Raises EnvironmentFault where there is none."""
    named = program or os.environ.get("ALPHAKERNEL_PROGRAM")
    if named:
        found = shutil.which(os.fspath(named))
    else:
        # PREFIX/lib/python3/dist-packages/alphakernel/client.py
        prefix = Path(__file__).resolve().parents[4]
        found = shutil.which(str(prefix / "bin" / "alphakernel")) or shutil.which("alphakernel")
    if found is None:
        wanted = f"{named}: expected the program alphakernel" if named else "the program alphakernel is not on PATH"
        raise EnvironmentFault(
            f"{wanted}; install it (docs/install.md), or name its file in $ALPHAKERNEL_PROGRAM or connect(program=...)")
    return os.path.abspath(found)


def _read_lines(stream: IO[str], lines: "queue.SimpleQueue[str]") -> None:
    """So that the program never waits for a reader. The last line is empty."""
    with stream:
        for line in stream:
            lines.put(line)
    lines.put("")


class Client(Operations):
    """The program, running. Threads may share it: one call waits for another.

    program: the file of the program (default: see find_program)
    database: the performance database; else the one that the command line uses
    folder: working directory of the program, below which operations write files; else the current one
    """

    def __init__(self, program: Optional[PathLike] = None, database: Optional[PathLike] = None,
                 folder: Optional[PathLike] = None) -> None:
        self.program = find_program(program)
        self.database = None if database is None else os.path.abspath(database)
        command: List[str] = [self.program, "operations", "serve"]
        if self.database is not None:
            command += ["--db", self.database]
        self._calls = threading.Lock()
        self._writes = threading.Lock()
        self._id = 0
        self._lines: "queue.SimpleQueue[str]" = queue.SimpleQueue()
        self._line: Optional[str] = None  # taken from there and not dealt with
        # In a session of its own: Ctrl-C is for this process, which then asks the program to stop.
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                         encoding="utf-8", cwd=folder, start_new_session=True)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._input = self._process.stdin
        threading.Thread(target=_read_lines, args=(self._process.stdout, self._lines), daemon=True).start()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, operation: str, request: Dict[str, Any], on_event: Optional[OnEvent] = None) -> Answer:
        """Any operation by its name. Raises Error.

        Ctrl-C ends a search that reports to `on_event` with what it has found; a second one raises
        KeyboardInterrupt, as Ctrl-C does in other operations.
        """
        with self._calls:
            self._id += 1
            try:
                self._write({"id": self._id, "operation": operation, "request": request})
                return self._wait(on_event)
            except BaseException:
                if self._process.poll() is None:
                    self.stop()  # no one waits for it any more
                raise

    def stop(self) -> None:
        """Ends the search at work early, from another thread or from `on_event`: its call then returns."""
        self._write({"stop": self._id})

    @property
    def running(self) -> bool:
        """The program has not ended."""
        return not self._input.closed and self._process.poll() is None

    def close(self) -> None:
        """Stops what is at work, and ends the program."""
        if not self._input.closed:
            try:
                self.stop()
                self._input.close()
            except (OutputError, BrokenPipeError):
                pass  # it has ended
        self._process.wait()

    def _wait(self, on_event: Optional[OnEvent]) -> Answer:
        interrupted = False
        while True:
            try:
                message = self._next()
                if message.get("id") not in (self._id, None):
                    self._line = None  # of a call that an exception ended
                    continue
                if "event" in message:
                    self._line = None
                    if on_event is not None:
                        on_event(message["event"], message["data"])
                    continue
            except KeyboardInterrupt:
                if interrupted or on_event is None:
                    raise
                interrupted = True
                self.stop()
                continue
            self._line = None
            if "error" in message:
                raise error_of(message["error"]["code"], message["error"]["message"])
            answer = Answer(message["answer"])
            answer.failed = message["failed"]
            return answer

    def _write(self, message: Dict[str, Any]) -> None:
        try:
            with self._writes:
                self._input.write(json.dumps(message) + "\n")
                self._input.flush()
        except (BrokenPipeError, ValueError) as error:
            raise OutputError("the program alphakernel has ended") from error

    def _next(self) -> Dict[str, Any]:
        """The message at the head, which stays there until it was dealt with: an interrupt loses none."""
        if self._line is None:
            self._line = self._lines.get()
        if not self._line:
            self._lines.put("")  # for the next call
            raise InternalError(f"the program alphakernel ended with code {self._process.wait()}")
        message: Dict[str, Any] = json.loads(self._line)
        return message
