# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, as exceptions: one class for each exit code of the command line (docs/exit_codes.md)."""

from __future__ import annotations

from typing import Dict, Type


class Error(Exception):
    """What the caller or the environment did wrong. `code` is an exit code of docs/exit_codes.md."""

    code: int = 1

    def __init__(self, message: str) -> None:
        super().__init__(message)


class InternalError(Error):
    """A bug in AlphaKernel: report it with the whole message."""

    code = 1


class UsageError(Error, ValueError):
    """An unknown algorithm, shape, dtype, architecture or argument."""

    code = 2


class BadInputError(Error, ValueError):
    """A file or a text of yours is missing or malformed; the message names the place."""

    code = 3


class NoKernelError(Error):
    """No candidate was verified."""

    code = 4


class EnvironmentFault(Error):
    """The CUDA toolkit, a driver, a device or the program itself is missing; `alphakernel doctor` says what."""

    code = 5


class DatabaseError(Error):
    """The database is none of AlphaKernel, too new, locked, or the disk is full."""

    code = 6


class OutputError(Error):
    """A file cannot be written, or the program has ended and takes no more requests."""

    code = 7


class ExpectationError(Error):
    """An experiment ran to its end, and an expectation of its manifest was not met."""

    code = 8


class AuditError(Error):
    """The checks of a problem accept a deliberate mistake, or reject the reference's twin."""

    code = 9


class SuspendedError(Error):
    """A session waits for answers to questions in a mailbox, and goes on with `session resume`."""

    code = 10


class Interrupted(Error):
    """Stopped before it was done."""

    code = 130


_BY_CODE: Dict[int, Type[Error]] = {kind.code: kind for kind in (
    InternalError, UsageError, BadInputError, NoKernelError, EnvironmentFault, DatabaseError, OutputError,
    ExpectationError, AuditError, SuspendedError, Interrupted)}


def error_of(code: int, message: str) -> Error:
    """The exception of an exit code; one that is not known is an Error with this code."""
    kind = _BY_CODE.get(code)
    if kind is not None:
        return kind(message)
    error = Error(message)
    error.code = code
    return error
