# SPDX-License-Identifier: Apache-2.0
"""Queues of searches that run on by themselves, after Python has ended too (docs/sessions.md)."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Mapping, Optional, Union

from .client import Client, PathLike
from .connection import shared
from .results import SessionStatus


def start(manifest: Union[Mapping[str, Any], PathLike], *, output_folder: Optional[PathLike] = None,
          client: Optional[Client] = None) -> SessionStatus:
    """Starts the searches of a manifest: a JSON file, or what it would hold.

    output_folder: where kernels go that the manifest gives no place, below the working directory of the program
    (default: that directory)
    Everything is checked before anything runs. Raises Error.
    """
    request = {} if output_folder is None else {"output_folder": os.path.abspath(output_folder)}
    if not isinstance(manifest, Mapping):
        return SessionStatus.of(shared(client).call("start_session",
                                                    {"manifest": os.path.abspath(manifest), **request}))
    with tempfile.TemporaryDirectory(prefix="alphakernel_") as folder:
        file = os.path.join(folder, "session.json")
        with open(file, "w", encoding="utf-8") as stream:
            json.dump(dict(manifest), stream)
        return SessionStatus.of(shared(client).call("start_session", {"manifest": file, **request}))


def status(number: Optional[int] = None, *, client: Optional[Client] = None) -> SessionStatus:
    """The state of a session; without a number the latest. Raises UsageError where there is none."""
    return SessionStatus.of(shared(client).call("session_status", {} if number is None else {"session": number}))


def stop(number: int, *, client: Optional[Client] = None) -> SessionStatus:
    """Ends a session: the search at work ends with its best kernel written. Waits until it has."""
    return SessionStatus.of(shared(client).call("stop_session", {"session": number}))
