# SPDX-License-Identifier: Apache-2.0
"""AlphaKernel for Python programs and notebooks, with the standard library only.

    import alphakernel as ak

    found = ak.generate("softmax", params={"dtype": "bf16"}, max_minutes=5)
    print(found.best)
    found.save("softmax.cu")

The functions start the program `alphakernel` and talk to it; docs/python.md has more.
"""

from __future__ import annotations

from . import session
from .actions import best, evaluate, generate, tune
from .client import Answer, Client
from .connection import connect, disconnect
from .errors import (AuditError, BadInputError, DatabaseError, EnvironmentFault, Error, ExpectationError, InternalError,
                     Interrupted, NoKernelError, OutputError, SuspendedError, UsageError)
from .kernel_tuner import tune_kernel
from .operations import VERSION as __version__
from .operations import Operations
from .problem_folders import problem, problems
from .results import Evaluation, Finding, Kernel, Problem, SearchResult, SessionSearch, SessionStatus
from .tables import Rows, leaderboard, query

__all__ = [
    "Answer", "AuditError", "BadInputError", "Client", "DatabaseError", "EnvironmentFault", "Error", "Evaluation",
    "ExpectationError", "Finding", "InternalError", "Interrupted", "Kernel", "NoKernelError", "Operations",
    "OutputError", "Problem", "Rows", "SearchResult", "SessionSearch", "SessionStatus", "SuspendedError", "UsageError",
    "__version__", "best", "connect", "disconnect", "evaluate", "generate", "leaderboard", "problem", "problems",
    "query", "session", "tune", "tune_kernel",
]
