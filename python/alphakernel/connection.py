# SPDX-License-Identifier: Apache-2.0
"""The client that the functions of this package share."""

from __future__ import annotations

import atexit
import os
import threading
from typing import Optional

from .client import Client, PathLike

_lock = threading.Lock()
_client: Optional[Client] = None
_process = 0  # the one that started _client: a fork must not write into its pipes
_program: Optional[PathLike] = None
_database: Optional[PathLike] = None


def connect(program: Optional[PathLike] = None, database: Optional[PathLike] = None) -> Client:
    """Starts the program for the functions of this package, and ends the one before.

    Without it they start the program on their first use, with the database of the command line.

    program: its file (default: $ALPHAKERNEL_PROGRAM, the one installed with this package, or the one on PATH)
    database: the performance database
    """
    global _client, _process, _program, _database
    disconnect()
    with _lock:
        _program, _database = program, database
        _client, _process = Client(program, database), os.getpid()
        return _client


def disconnect() -> None:
    """Ends the program, as the end of Python does."""
    global _client
    with _lock:
        client, _client = _client, None
        if client is not None and _process == os.getpid():
            client.close()


def shared(client: Optional[Client] = None) -> Client:
    """`client`, else the shared one, which is started where it is not running."""
    global _client, _process
    if client is not None:
        return client
    with _lock:
        if _client is None or _process != os.getpid() or not _client.running:
            _client, _process = Client(_program, _database), os.getpid()
        return _client


def beside(folder: PathLike, client: Optional[Client] = None) -> Client:
    """A client of the caller's own that works in `folder`, with the same program and database."""
    like = client if client is not None else shared()
    return Client(like.program, like.database, folder)


atexit.register(disconnect)
