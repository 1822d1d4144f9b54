# SPDX-License-Identifier: Apache-2.0
"""AlphaKernel for Python programs, with the standard library only.

    import alphakernel

    with alphakernel.Client() as client:
        answer = client.evaluate(path="softmax.cu", device="emulator")
        print(answer["status"], answer.failed)

A client starts the program `alphakernel` and talks to it; docs/library.md has more.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from typing import Any, Dict, List, Optional

from .operations import OnEvent, Operations

__all__ = ["Answer", "Client", "Error", "Operations"]

# Exit codes of the command line (docs/exit_codes.md).
INTERNAL_ERROR, OUTPUT = 1, 7


class Error(Exception):
    """What the caller or the environment did wrong. `code` is an exit code of docs/exit_codes.md."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Answer(Dict[str, Any]):
    """What an operation answers. `failed`: the kernel that was asked about failed, or none was found."""

    failed: bool = False


class Client(Operations):
    """A running `alphakernel operations serve`. Threads may share it: one call waits for another.

    program: the file of the program; else $ALPHAKERNEL_PROGRAM, else `alphakernel` on PATH
    database: the performance database; else the one that the command line uses
    """

    def __init__(self, program: Optional[str] = None, database: Optional[str] = None) -> None:
        command: List[str] = [program or os.environ.get("ALPHAKERNEL_PROGRAM") or "alphakernel",
                              "operations", "serve"]
        if database is not None:
            command += ["--db", database]
        self._calls = threading.Lock()
        self._writes = threading.Lock()
        self._id = 0
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                         encoding="utf-8")

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, operation: str, request: Dict[str, Any], on_event: Optional[OnEvent] = None) -> Answer:
        """Any operation by its name. Raises Error."""
        with self._calls:
            self._id += 1
            self._write({"id": self._id, "operation": operation, "request": request})
            while True:
                message = self._read()
                if message.get("id") not in (self._id, None):
                    continue  # of a call that an exception ended
                if "event" in message:
                    if on_event is not None:
                        on_event(message["event"], message["data"])
                elif "error" in message:
                    raise Error(message["error"]["code"], message["error"]["message"])
                else:
                    answer = Answer(message["answer"])
                    answer.failed = message["failed"]
                    return answer

    def stop(self) -> None:
        """Ends the search at work early, from another thread or from `on_event`: its call then returns."""
        self._write({"stop": self._id})

    def close(self) -> None:
        """Stops what is at work, and ends the program."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            try:
                self.stop()
                self._process.stdin.close()
            except (Error, BrokenPipeError):
                pass  # it has ended
        # Nobody may read any more: a full pipe would keep the program from ending.
        if self._process.stdout is not None and not self._process.stdout.closed:
            if self._calls.acquire(blocking=False):  # else a call of another thread reads on
                try:
                    for _ in self._process.stdout:
                        pass
                finally:
                    self._calls.release()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _write(self, message: Dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            with self._writes:
                self._process.stdin.write(json.dumps(message) + "\n")
                self._process.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise Error(OUTPUT, "the program alphakernel has ended") from error

    def _read(self) -> Dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Error(INTERNAL_ERROR, f"the program alphakernel ended with code {self._process.wait()}")
        return json.loads(line)
