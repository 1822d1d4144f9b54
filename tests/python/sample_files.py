# SPDX-License-Identifier: Apache-2.0
"""PyTorch files for tests. The folder above the package `python` has to be on the path."""

import os
import tempfile
import textwrap
import time
import unittest

from python.describing.describe import answered
from python.problems import TaskError


def drawn_today(index, turns):
    """Whether row `index` of a table is tried in a run, as tests/support/daily_sample.h says it."""
    return "AK_SOAK_ITERATIONS" in os.environ or (index + int(time.time()) // 86400) % turns == 0


def function(body, inputs="torch.rand(N, N)"):
    return "import torch\nN = 32\ndef run(x):\n    %s\ndef get_inputs():\n    return [%s]\n" % (body, inputs)


class Files(unittest.TestCase):
    def file(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "sample.py")
        with open(path, "w", encoding="utf-8") as out:
            out.write(textwrap.dedent(text))
        return path

    def described(self, text, **options):
        return answered({"file": self.file(text), "options": options})

    def refused(self, text, **options):
        with self.assertRaises(TaskError) as caught:
            self.described(text, **options)
        return str(caught.exception)
