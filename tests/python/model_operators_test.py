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

    def test_a_setting_of_an_operator_makes_it_another_one(self):
        up = "self.up = nn.Linear(W, W)"
        tanh = self.answer(model(up, "return F.gelu(self.up(x), approximate='tanh')"))["operators"]
        self.assertEqual([(row["operator"], row["params"].get("function")) for row in tanh], [("linear", None), ("gelu", "gelu_tanh")])
        self.assertEqual([name for _, name, _ in self.found(model(NORM, "y = torch.add(x, torch.tanh(x), alpha=2)\n"
                                                                  "return self.weight * (y * %s)" % RMS.replace("x.to", "y.to")))],
                         ["tanh", "add", "rmsnorm"])
        self.assertEqual([name for _, name, _ in self.found(model("", "return torch.addmm(x[0], x[0], x[1].t() @ x[1], beta=0.5)"))],
                         ["linear", "addmm"])

    def test_the_numbers_of_formulas_are_compared_and_not_their_roundings(self):
        nearly = [dict(one, formula=one["formula"].replace("F.silu(x)", "F.silu(x) * 1.0005")) for one in PATTERNS]
        for dtype in ("bfloat16", "float32"):
            answer = self.answer(model("", "return F.silu(x)", "torch.randn(2, 24, W).to(torch.%s)" % dtype), nearly)
            self.assertEqual([row["algorithm"] for row in answer["operators"]], [""])

    def test_operators_of_strided_tensors_are_run_as_they_lie(self):
        self.assertEqual([name for _, name, _ in self.found(model(
            "self.q, self.o = nn.Linear(W, W), nn.Linear(W, W)",
            "y = torch.tanh(self.q(x).view(2, 24, 4, 16).transpose(1, 2) * 2.0)\n"
            "return self.o(y.transpose(1, 2).reshape(2, 24, W))"))], ["mul", "tanh", "linear"])
        rows = self.answer(model("", "return F.silu(x.expand(4, 3, 24, W).transpose(0, 1)) * 1", "torch.randn(3, 24, W)"))["operators"]
        self.assertEqual([row["operator"] for row in rows], ["silu", "mul"])

    def test_attention_is_found_in_the_forms_that_models_have_it_in(self):
        heads = "q = x.view(2, 24, 4, 16).transpose(1, 2)\nk, v = q.flip(0), q.flip(1)\n"
        scores = "torch.softmax(q @ k.transpose(2, 3) * 0.25%s, -1) @ v"
        mask = "m = torch.full((24, 24), float('-inf'), dtype=x.dtype).triu(1)\n"
        forms = {heads + "return " + scores % "": False, heads + mask + "return " + scores % " + m": True}
        if hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            call = "F.scaled_dot_product_attention(q, k, v%s)"
            forms[heads + "return " + call % ""] = False
            forms[heads + "return " + call % ", is_causal=True"] = True
            forms[heads + mask + "return " + call % ", attn_mask=m"] = True
            forms[heads + "m = torch.ones(24, 24, dtype=torch.bool).tril()\nreturn " + call % ", attn_mask=m"] = True
            forms[heads + "return " + call % ", scale=0.25"] = False
            forms[heads + "return F.scaled_dot_product_attention(query=q, key=k, value=v)"] = False
        for dtype in ("float32", "bfloat16"):
            for forward, causal in forms.items():
                with self.subTest(forward, dtype=dtype):
                    row, = [one for one in self.answer(model("", forward, "torch.randn(2, 24, W).to(torch.%s)" % dtype))["operators"]
                            if one["operator"] not in ("flip", "full", "triu", "ones", "tril")]
                    self.assertEqual((row["algorithm"], row["params"].get("causal", False)), ("flash_attention", causal))
                    self.assertEqual(row["axes"], {"B": 2, "H": 4, "G": 4, "S": 24, "T": 24})

    @unittest.skipUnless(hasattr(torch.nn.functional, "scaled_dot_product_attention"), "this PyTorch has no such function")
    def test_attention_of_another_scale_window_or_query_count_is_another_operator(self):
        heads = "q = x.view(2, 24, 4, 16).transpose(1, 2)\n"
        open_mask = "torch.stack((torch.ones(24, 24).tril(), torch.ones(24, 24)))[:, None].bool()"
        for arguments in ("q, q, q, scale=0.5", "q, q, q, scale=-0.25", "q[:, :, :4], q, q, is_causal=True",
                          "q, q, q, attn_mask=q @ q.transpose(2, 3)", "q, q, q, attn_mask=" + open_mask):
            with self.subTest(arguments):
                found = self.answer(model("", heads + "return F.scaled_dot_product_attention(%s)" % arguments))["operators"]
                self.assertEqual([row["algorithm"] for row in found if row["operator"] == "scaled_dot_product_attention"], [""])

    def test_layers_of_pytorch_are_their_operators(self):
        layer = "self.layer = nn.TransformerEncoderLayer(W, 4, 128, batch_first=True)"
        names = [name for _, name, _ in self.found(model(layer, "return self.layer(x)"))]
        self.assertIn("attention", names)
        self.assertIn("residual_norm", names)
        self.assertIn("attention", [name for _, name, _ in self.found(model(
            "self.layer = nn.MultiheadAttention(W, 4, batch_first=True)", "return self.layer(x, x, x)[0]"))])

    def test_results_that_python_reads_or_that_nobody_takes_are_rows_all_the_same(self):
        names = [name for _, name, _ in self.found(model(
            "self.gate = nn.Linear(W, 3)", "y = torch.softmax(self.gate(x), -1)\nreturn x * 2 if y.max().item() > 0 else x * 3"))]
        self.assertEqual(names, ["linear", "softmax", "max", "mul"])
        names = [name for _, name, _ in self.found(model("", "y = torch.sinh(x)\nreturn x * 2"))]
        self.assertEqual(names, ["sinh", "mul"])

    def test_a_part_of_no_elements_ends_no_plan(self):
        names = [name for _, name, _ in self.found(model("self.w = nn.Parameter(torch.rand(W, W))",
                                                         "return torch.tanh(x) + (x[0][:, :0] @ self.w[:0, :1]).sum()"))]
        self.assertIn("tanh", names)

    def test_what_has_no_element_is_nobodys_work(self):
        with self.assertRaisesRegex(TaskError, "no operator on any element"):
            self.answer(model("self.up = nn.Linear(W, W)", "return torch.softmax(self.up(x), -1)", "torch.randn(0, W)"))

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
