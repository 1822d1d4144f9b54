# SPDX-License-Identifier: Apache-2.0
"""Problems from functions and modules of a running program, with the real one: callable_problem_test.py PROGRAM SOURCE."""

import math
import os
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Optional

try:
    import torch
    from torch import nn
    from torch.nn.functional import gelu
except ImportError:
    print("skipped: this Python has no PyTorch")
    sys.exit(1 if "CI" in os.environ else 77)  # the set-up of CI installs it

PROGRAM, SOURCE = sys.argv[1:3]
sys.path.insert(0, os.path.join(SOURCE, "python"))
os.environ["ALPHAKERNEL_PROGRAM"] = PROGRAM

import alphakernel as ak  # noqa: E402
from alphakernel import problem_folders  # noqa: E402
from alphakernel.example_values import ONE_OF, drawn_like  # noqa: E402

EPSILON = 1e-3
WEIGHTS = torch.tensor([0.5, 2.0, -1.0])
x = torch.zeros(100000)  # no function means it by its argument x


def helper(value):
    return value + EPSILON


def with_surroundings(x, y: Optional[torch.Tensor] = None):
    return gelu(helper(x)) * WEIGHTS[1] + helper(y) * math.pi


def scaled_by(factor):
    def scaled(x):
        return x * factor

    return scaled


@torch.no_grad()
def decorated(x):
    return torch.log(x)


class Block(nn.Module):
    def __init__(self, size, scale=2.0):
        super().__init__()
        self.size = size
        self.scale = scale
        self.layer = nn.Linear(size, size)

    def forward(self, x):
        return helper(self.layer(x)) * self.scale


class Forgetful(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.layer = nn.Linear(size, size)

    def forward(self, x):
        return self.layer(x)


class Model(nn.Module):
    def __init__(self, size):
        super(Model, self).__init__()
        self.size = size
        self.layer = nn.Linear(size, size)

    def forward(self, x):
        return self.layer(x)


def results_of(source, inputs, init=None):
    """(those of the written file, those of `source`) on the same inputs."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "reference.py")
        problem_folders._write(file, source, inputs, init)
        names = {"__file__": str(file), "__name__": "reference"}
        sys.path.insert(0, folder)
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
        sys.path.remove(folder)
        made = names["get_inputs"]()
        entry = names["run"] if "run" in names else names["Model"](*names.get("get_init_inputs", list)())
        with torch.no_grad():
            return entry(*inputs), source(*inputs), made


class CallableTest(unittest.TestCase):
    def check_same(self, source, inputs, init=None):
        written, own, made = results_of(source, inputs, init)
        for first, second in zip(*[value if isinstance(value, tuple) else (value,) for value in (written, own)]):
            torch.testing.assert_close(first, second)
        self.assertEqual([value.shape for value in made], [value.shape for value in inputs])

    def test_functions_keep_what_they_use_of_their_file(self):
        self.check_same(with_surroundings, [torch.rand(4, 8), torch.rand(4, 8)])
        self.check_same(scaled_by(3.5), [torch.rand(4, 8)])
        self.check_same(decorated, [torch.rand(4, 8) + 1])

    def test_modules_are_made_again_with_their_weights(self):
        for module, inputs in ((Block(8, 3.0), [torch.randn(4, 8)]), (Model(8), [torch.randn(4, 8)]),
                               (nn.Sequential(nn.Linear(8, 16, bias=False), nn.GELU(), nn.LayerNorm(16)).eval(),
                                [torch.randn(4, 8)]),
                               (nn.Conv2d(3, 4, 3, padding=1), [torch.randn(2, 3, 8, 8)]),
                               (nn.LSTM(8, 6, batch_first=True).eval(), [torch.randn(2, 5, 8)]),
                               (nn.Embedding(10, 8), [torch.randint(0, 10, (4, 6))]),
                               (nn.Linear(8, 8).double(), [torch.randn(4, 8, dtype=torch.float64)])):
            with self.subTest(module=str(module)):
                written, own, _ = results_of(module, inputs)
                first, second = [value[0] if isinstance(value, tuple) else value for value in (written, own)]
                torch.testing.assert_close(first, second)

    def test_a_module_that_does_not_keep_its_arguments_needs_them(self):
        with self.assertRaisesRegex(ak.UsageError, "takes size, which it does not keep.*pass init="):
            results_of(Forgetful(8), [torch.randn(4, 8)])
        self.check_same(Forgetful(8), [torch.randn(4, 8)], [8])

    def test_a_module_that_is_another_one_when_made_again_is_refused(self):
        module = Block(8)
        module.forward = lambda x: x * 7
        with self.assertRaisesRegex(ak.UsageError, "computes something else"):
            results_of(module, [torch.randn(4, 8)])

    def test_what_cannot_be_written_is_named(self):
        big = torch.zeros(100000)

        def uses_much(x):
            return x + big.sum()

        with self.assertRaisesRegex(ak.UsageError, "big: it uses a tensor of 100000 elements"):
            problem_folders.python_file(uses_much, [torch.rand(4)])
        stream = sys.stdout

        def uses_a_file(x):
            stream.write("x")
            return x

        with self.assertRaisesRegex(ak.UsageError, "stream: it uses this .*cannot be written"):
            problem_folders.python_file(uses_a_file, [torch.rand(4)])

    def test_values_are_drawn_like_those_that_were_given(self):
        torch.manual_seed(7)
        names = {"torch": torch}
        exec(ONE_OF, names)
        cases = {
            "torch.rand([64, 100])": torch.rand(64, 100), "torch.rand([64, 100]) + 1.0": torch.rand(64, 100) + 1,
            "torch.randn([64, 100])": torch.randn(64, 100),
            "torch.randn([64, 100]) * 0.02": torch.randn(64, 100) * 0.02,
            "torch.rand([64, 100]) * 2.0 - 1.0": torch.rand(64, 100) * 2 - 1,
            "torch.full([4, 5], 2.5,": torch.full((4, 5), 2.5), "torch.sort(": torch.rand(16, 64).sort(-1).values,
            "(torch.rand([64, 100]) < 0.": (torch.rand(64, 100) < 0.25).float(),
            "torch.randint(0, 1000, [64, 100], dtype=torch.int64)": torch.arange(6400).reshape(64, 100) * 7 % 1000,
            "torch.randperm(64)": torch.randperm(64), "torch.tril(": torch.randn(16, 16).tril(),
            "masked_fill": torch.full((16, 16), -math.inf).triu(1), ".abs()": torch.randn(64, 100).exp(),
            "torch.tensor([0, 3, 7, 12, 20, 21, 40, 64]": torch.tensor([0, 3, 7, 12, 20, 21, 40, 64]),
        }
        for words, given in cases.items():
            written = drawn_like([given])[0]
            drawn = eval(written, names)
            self.assertIn(words, written)
            self.assertEqual((drawn.shape, drawn.dtype), (given.shape, given.dtype), written)
            if given.is_floating_point() and float(given.min()) >= 0:
                self.assertGreaterEqual(float(drawn.min()), 0, written)

    def test_a_value_that_no_problem_can_have_is_refused(self):
        for value, words in ((torch.zeros(0, 4), "no element"), (torch.zeros(2, dtype=torch.complex64), "complex"),
                             ("text", "tensors and numbers")):
            with self.assertRaisesRegex(ak.UsageError, words):
                drawn_like([value])

    def test_without_a_folder_the_same_function_is_the_same_problem(self):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_DATA_HOME"] = folder
            ak.connect(database=os.path.join(folder, "ak.db"))
            try:
                given = torch.full((8, 16), 2.0)
                first = ak.problem(decorated, [given])
                self.assertEqual(first.name, "decorated")
                self.assertEqual(first.folder.parent, Path(folder, "alphakernel", "problems"))
                made = first.folder.stat().st_mtime_ns
                self.assertEqual(ak.problem(decorated, [given]).folder, first.folder)
                self.assertEqual(first.folder.stat().st_mtime_ns, made)  # it was read, not made again
                named = ak.problem(nn.Linear(16, 8), [torch.randn(4, 16)], folder=os.path.join(folder, "my_layer"))
                self.assertEqual(named.name, "my_layer")
                self.assertTrue((named.folder / "weights.pt").exists())
            finally:
                ak.disconnect()
                del os.environ["XDG_DATA_HOME"]


unittest.main(argv=sys.argv[:1])
