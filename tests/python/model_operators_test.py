# SPDX-License-Identifier: Apache-2.0
"""A model's operators are found by patterns, and a pattern that gives other numbers is refused.
Arguments: the folder of the package, the file of patterns."""

import json
import os
import sys
import textwrap
import unittest

try:
    import torch
except ImportError:
    print("skipped: this Python has no PyTorch")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv.pop(1))))
from python.modelling.operators import answered  # noqa: E402
from python.problems import TaskError  # noqa: E402
from sample_files import Files  # noqa: E402

with open(sys.argv.pop(1), encoding="utf-8") as patterns_file:
    PATTERNS = json.load(patterns_file)["patterns"]


def model(made, forward, inputs="torch.randn(2, 24, W)"):
    return "import math, torch\nimport torch.nn as nn\nimport torch.nn.functional as F\nW = 64\nclass Model(nn.Module):\n" \
        "    def __init__(self):\n        super().__init__()\n%s\n    def forward(self, x):\n%s\n" \
        "def get_inputs():\n    return [%s]\ndef get_init_inputs():\n    return []\n" % (
            textwrap.indent(made or "pass", " " * 8), textwrap.indent(forward, " " * 8), inputs)


NORM = "self.weight = nn.Parameter(torch.rand(W) + 1)"
RMS = "torch.rsqrt(x.to(torch.float32).pow(2).mean(-1, keepdim=True) + 1e-6)"


class Operators(Files):
    def answer(self, text, patterns=None):
        return answered({"file": self.file(text), "patterns": PATTERNS if patterns is None else patterns})

    def found(self, text):
        return [(row["count"], row["operator"], row["algorithm"]) for row in self.answer(text)["operators"]]

    def test_a_norm_is_one_operator_however_it_casts_and_in_whatever_order_it_multiplies(self):
        for forward in ("return self.weight * (x.to(torch.float32) * %s).to(x.dtype)" % RMS,
                        "return (%s * x) * self.weight" % RMS):
            self.assertEqual(self.found(model(NORM, forward)), [(1, "rmsnorm", "rmsnorm")])

    def test_a_sum_with_a_residual_belongs_to_the_norm_and_may_be_used_again(self):
        forward = "x = x + torch.tanh(x)\nreturn self.weight * (x * %s) + x" % RMS
        self.assertEqual(self.found(model(NORM, forward)),
                         [(1, "tanh", ""), (1, "residual_norm", "residual_norm"), (1, "add", "")])

    def test_what_is_inside_a_pattern_and_used_elsewhere_keeps_it_apart(self):
        forward = "g = F.silu(x)\nreturn g * x.flip(0) + g"
        self.assertEqual([name for _, name, _ in self.found(model("", forward))], ["silu", "flip", "mul", "add"])

    def test_a_mask_that_hides_what_follows_makes_attention_causal(self):
        forward = "m = torch.full((24, 24), float('-inf')).triu(%d)\n" \
            "return torch.softmax(x @ x.transpose(1, 2) / math.sqrt(W) + m, -1) @ x"
        row = self.answer(model("", forward % 1))["operators"][0]
        self.assertEqual((row["operator"], row["params"]["causal"]), ("attention", True))
        self.assertNotIn("attention", [name for _, name, _ in self.found(model("", forward % 2))])

    def test_a_formula_that_gives_other_numbers_is_refused_and_its_operators_stay(self):
        wrong = [dict(one, formula=one["formula"].replace("F.gelu", "F.silu")) for one in PATTERNS]
        answer = self.answer(model("self.up = nn.Linear(W, W)", "return F.gelu(self.up(x))"), wrong)
        self.assertEqual([row["operator"] for row in answer["operators"]], ["linear", "gelu"])
        self.assertIn("gelu at [2, 24, 64] is not linear_gelu: its formula is off", " ".join(answer["notes"]))

    def test_operators_that_no_pattern_has_are_named_with_their_work(self):
        rows = self.answer(model("", "return torch.erfinv(x * 0.1)"))["operators"]
        self.assertEqual([(row["operator"], row["algorithm"]) for row in rows], [("mul", ""), ("erfinv", "")])
        self.assertEqual(rows[1]["bytes"], 2 * 4 * 2 * 24 * 64)

    def test_alike_calls_are_counted(self):
        layers = "self.a, self.b = nn.Linear(W, W), nn.Linear(W, W)"
        row, = self.answer(model(layers, "return self.b(self.a(x))"))["operators"]
        self.assertEqual((row["count"], row["axes"]), (2, {"M": 48, "N": 64, "K": 64}))

    def test_a_file_without_a_model_is_refused(self):
        with self.assertRaisesRegex(TaskError, "is not Python"):
            self.answer("def model(:")
        with self.assertRaisesRegex(TaskError, "is a view of input x"):
            self.answer(model("", "return x.transpose(0, 1)"))


if __name__ == "__main__":
    unittest.main()
