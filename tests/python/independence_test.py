# SPDX-License-Identifier: Apache-2.0
"""Results of PyTorch files follow from inputs, weights and one seed, and mistakes reach every operator.
Arguments: the folder of the package."""

import os
import sys
import unittest

try:
    import torch
except ImportError:
    print("skipped: this Python has no PyTorch")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv.pop(1))))
from python.describing import structure  # noqa: E402
from python.task import load  # noqa: E402
from sample_files import Files, function  # noqa: E402


def module(made, forward, inputs="torch.rand(B, D)", before=""):
    """A module of parts that are made, with a forward of x."""
    lines = ["import torch, random, time", "import torch.nn as nn", "B, D = 4, 8", before, "class Model(nn.Module):",
             "    def __init__(self):", "        super().__init__()"]
    lines += ["        " + line for line in made] + ["    def forward(self, x):"] + ["        " + line for line in forward]
    return "\n".join(lines + ["def get_inputs():", "    return [%s]" % inputs, ""])


TWO = ["self.a = nn.Linear(D, D, bias=False)", "self.b = nn.Linear(D, D, bias=False)"]


class Weights(Files):
    def instance(self, text, seed=1):
        return load(self.file(text)).instance({}, seed)

    def test_a_tied_weight_is_replaced_everywhere(self):
        instance = self.instance(module(TWO + ["self.b.weight = self.a.weight"], ["return self.b(torch.relu(self.a(x)))"]))
        self.assertEqual(list(instance.weights), ["a_weight"])
        x, weight = instance.inputs(1)["x"], torch.randn(8, 8)
        found = instance.run({"x": x}, {"a_weight": weight}, "exact")[0]
        right = torch.relu(x.double() @ weight.double().T) @ weight.double().T
        self.assertLess(float((found - right).abs().max()), 1e-12)

    def test_weights_that_share_their_memory_are_one(self):
        instance = self.instance(module(TWO + ["self.b.weight = nn.Parameter(self.a.weight.data)"],
                                        ["return self.b(self.a(x))"]))
        zeros = {"a_weight": torch.zeros(8, 8)}
        self.assertEqual(list(instance.weights), list(zeros))
        self.assertEqual(float(instance.run(instance.inputs(1), zeros)[0].abs().max()), 0)

    def test_what_a_list_or_an_attribute_holds_is_replaced_as_well(self):
        for made, forward in ((["self.ps = nn.ParameterList([nn.Parameter(torch.randn(D))])", "self.also = self.ps[0]"],
                               ["return x * self.also"]),
                              (["self.p = nn.Parameter(torch.randn(D))", "self.kept = [self.p]"], ["return x * self.kept[0]"]),
                              (["self.p = nn.ParameterDict({'s': nn.Parameter(torch.randn(D))})", "self.f = lambda p=self.p['s']: p"],
                               ["return x * self.f()"])):
            instance = self.instance(module(made, forward))
            (name, value), = instance.weights.items()
            run = instance.run({"x": torch.ones(4, 8)}, {name: torch.zeros_like(value)})[0]
            self.assertEqual(float(run.abs().max()), 0)
            self.assertEqual(float((instance.run({"x": torch.ones(4, 8)})[0] - value).abs().max()), 0)

    def test_recurrent_modules_use_the_weights_that_they_are_given(self):
        inputs = "torch.rand(B, 3, D)"
        for made in ("nn.GRU(D, 6, num_layers=2)", "nn.LSTM(D, 6, bidirectional=True, batch_first=True)", "nn.RNN(D, 6)",
                     "nn.ModuleDict({'inner': nn.GRU(D, 6)})['inner']"):
            text = module(["self.r = " + made], ["return self.r(x)[0]"], inputs)
            one, other = self.instance(text, 1), self.instance(text, 2)
            x = one.inputs(3)
            for precision in ("declared", "exact"):
                expected = other.run(x, precision=precision)[0]
                self.assertTrue(torch.equal(one.run(x, other.weights, precision)[0], expected))
                self.assertFalse(torch.equal(one.run(x, precision=precision)[0], expected))

    def test_a_weight_that_is_returned_has_the_contents_of_the_run(self):
        instance = self.instance(module(["self.w = nn.Parameter(torch.randn(D))"], ["return x * self.w, self.w"]))
        given = torch.full((8,), 3.0)
        self.assertTrue(torch.equal(instance.run(instance.inputs(1), {"w": given})[1], given))

    def test_what_a_call_does_to_a_buffer_ends_with_it(self):
        for change in ("self.n += 1", "self.n = self.n + 1"):
            instance = self.instance(module(["self.register_buffer('n', torch.zeros(D))"], [change, "return x + self.n"]))
            first, again = [instance.run(instance.inputs(1))[0] for _ in range(2)]
            self.assertTrue(torch.equal(first, again))
            self.assertEqual(float(instance.weights["n"].abs().max()), 0)

    def test_a_weight_behind_a_gate_that_is_zero_at_first_is_used(self):
        made = self.described(module(["self.w = nn.Parameter(torch.randn(D))", "self.gate = nn.Parameter(torch.zeros(1))"],
                                     ["return x + self.gate * self.w"]))
        self.assertEqual(list(made["problem"]["definition"]["inputs"]), ["x", "w", "gate"])

    def test_a_bias_is_used_that_a_normalisation_takes_away_only_where_it_is_uniform(self):
        made = self.described(module(["self.b = nn.Parameter(torch.zeros(D))", "self.n = nn.LayerNorm(D)"],
                                     ["return self.n(x + self.b)"]))
        self.assertIn("b", made["problem"]["definition"]["inputs"])

    def test_weights_keep_their_generator_where_others_break_the_results(self):
        made = self.described(module(["self.w = nn.Parameter(torch.ones(D))"], ["return x * self.w.asin()"]))
        self.assertIn({"name": "normal", "kind": "given", "tensors": {"x": "normal"}}, made["problem"]["distributions"])
        self.assertTrue(any("weights keep their own generator" in note for note in made["notes"]))

    def test_a_mask_and_an_index_that_are_buffers_are_used_as_they_are(self):
        made = self.described(module(
            ["self.register_buffer('mask', torch.tril(torch.ones(B, B, dtype=torch.bool)))",
             "self.table = nn.Parameter(torch.randn(2 * B - 1))",
             "i = torch.arange(B)", "self.register_buffer('place', i[:, None] - i[None, :] + B - 1)"],
            ["s = x @ x.t() + self.table[self.place]", "return torch.softmax(s.masked_fill(~self.mask, float('-inf')), -1)"]))
        inputs = made["problem"]["definition"]["inputs"]
        self.assertEqual({name: one["dtype"] for name, one in inputs.items()},
                         {"x": "float32", "table": "float32", "mask": "bool", "place": "int64"})

    def test_values_that_no_kernel_can_know_are_refused_by_name(self):
        plain = ["return x * self.w"]
        cases = [
            (module(["self.w = torch.randn(D)"], plain), "self.w"),
            (module(["self.w = random.random()"], plain), "self.w"),
            (module(["torch.manual_seed(0)", "self.w = torch.randn(D)"], plain), "self.w"),
            (module(["self.p = nn.Parameter(torch.randn(D))", "self.w = self.p.detach() * 2"], ["return x * self.w + self.p"]),
             "self.w"),
            (module([], ["return x * W"], before="W = torch.randn(D)"), "W"),
            ("import torch\nN = 8\nlayer = torch.nn.Linear(N, N, bias=False)\ndef run(x):\n    return layer(x)\n"
             "def get_inputs():\n    return [torch.randn(N)]\n", "layer.weight"),
            (module([], ["return x * W"], before="W = random.random()"), "W"),
        ]
        for text, name in cases:
            with self.subTest(text=text):
                message = self.refused(text)
                self.assertIn("no parameter or buffer (%s)" % name, message)
                self.assertIn("register_buffer", message)

    def test_constants_are_fine(self):
        for value in ("torch.ones(D) * 3", "torch.eye(D)[0]", "2.5"):
            self.described(module(["self.w = " + value], ["return x * self.w"]))


class Seeds(Files):
    def draws(self, text):
        task = load(self.file(text))
        return [task.instance({}).inputs(seed)["x"] for seed in (1, 1, 2)]

    def test_whatever_a_file_draws_from_follows_the_harness_s_seed(self):
        cases = [
            "def get_inputs():\n    return [torch.randn(N)]",
            "example_inputs = [torch.randn(N)]",
            "def get_inputs():\n    torch.manual_seed(0)\n    return [torch.randn(N)]",
            "torch.manual_seed(0)\nexample_inputs = [torch.randn(N)]",
            "def get_inputs():\n    return [torch.randn(N, generator=torch.Generator().manual_seed(0))]",
            "def get_inputs():\n    return [torch.randn(N, generator=torch.Generator())]",
            "import random\ndef get_inputs():\n    random.seed(3)\n    return [torch.tensor([random.random() for _ in range(N)])]",
            "import random\ndef get_inputs():\n    r = random.Random(3)\n    return [torch.tensor([r.random() for _ in range(N)])]",
        ]
        try:
            import numpy  # noqa: F401
            cases += ["import numpy as np\ndef get_inputs():\n    %s\n    return [torch.tensor(%s)]" % pair for pair in (
                ("np.random.seed(0)", "np.random.rand(N)"), ("r = np.random.default_rng(0)", "r.random(N)"),
                ("r = np.random.RandomState(0)", "r.rand(N)"),
                ("r = np.random.Generator(np.random.PCG64(0))", "r.random(N)"))]
        except ImportError:
            pass
        for text in cases:
            with self.subTest(text=text):
                first, again, other = self.draws("import torch\nN = 8\ndef run(x):\n    return x + 1\n" + text + "\n")
                self.assertTrue(torch.equal(first, again))
                self.assertFalse(torch.equal(first, other))

    def test_generators_are_as_they_were_after_a_draw(self):
        before = torch.manual_seed, torch.Generator
        self.draws(function("return x + 1"))
        self.assertEqual((torch.manual_seed, torch.Generator), before)
        self.assertEqual(torch.Generator().manual_seed(5).initial_seed(), 5)

    def test_seeds_of_the_file_are_noted_and_those_of_the_clock_refused(self):
        seeded = "import torch, time\nN = 8\ndef run(x):\n    return x * 2\ndef get_inputs():\n    torch.manual_seed(%s)\n" \
                 "    return [torch.randn(N)]\n"
        self.assertTrue(any("seeds its generators itself (torch.manual_seed)" in note
                            for note in self.described(seeded % "0")["notes"]))
        self.assertIn("by the clock", self.refused(seeded % "time.perf_counter_ns()"))

    def test_inputs_that_are_the_same_under_every_seed_are_named(self):
        self.assertIn("x: the same under every seed",
                      self.described(function("return x * 2", "torch.sin(torch.arange(N).float())"))["notes"])
        self.assertNotIn("every seed", " ".join(self.described(function("return x * 2", "torch.ones(N)"))["notes"]))

    def test_drawn_numbers_are_refused(self):
        text = "import torch, random\nN = 8\ndef run(x, s):\n    return x * s\n" \
               "def get_inputs():\n    return [torch.rand(N), random.random()]\n"
        self.assertIn("input s is a number that differs", self.refused(text))


class Values(Files):
    def test_half_modules_run_where_the_device_has_no_half(self):
        made = self.described(module(["self.l = nn.Linear(D, D).half()"],
                                     ["y = torch.nn.functional.silu(self.l(x), inplace=True)", "return torch.softmax(y, -1)"],
                                     "torch.randn(B, D).half()"))
        self.assertIn("without_linear_1", [one["name"] for one in made["problem"]["mutations"]])

    def test_what_an_operator_writes_in_place_stays_where_it_ran_in_float32(self):
        text = function("y = x * 1\n    torch.nn.functional.silu(y, inplace=True)\n    return y", "torch.randn(N).half()")
        instance = load(self.file(text)).instance({})
        inputs = instance.inputs(1)
        right = torch.nn.functional.silu(inputs["x"].double())
        for precision in ("declared", "exact"):
            self.assertLess(float((instance.run(inputs, precision=precision)[0] - right).abs().max()), 1e-2)

    def test_results_that_are_no_numbers_are_refused(self):
        self.assertIn("has NaN in", self.refused(function("return torch.log(x)", "torch.randn(N, N)")))
        self.assertIn("not finite on its own inputs", self.refused(function("return torch.exp(x * 1000)")))
        self.assertIn("some results on its own inputs are infinite", self.described(
            function("return torch.where(torch.eye(N) > 0, x, torch.tensor(float('-inf')))"))["notes"])

    @unittest.skipUnless(hasattr(torch, "float8_e4m3fn"), "this PyTorch has no types of a byte")
    def test_inputs_of_a_byte_are_understood(self):
        text = "import torch\nN, M = 8, 16\ndef run(x, y):\n    return (x.float() + y.float()).to(x.dtype), x.float() * 2\n" \
               "def get_inputs():\n    return [torch.randn(N, M).to(torch.float8_e4m3fn), torch.randn(N, M).to(torch.float8_e5m2)]\n"
        definition = self.described(text)["problem"]["definition"]
        self.assertEqual([one["dtype"] for one in definition["inputs"].values()], ["float8_e4m3fn", "float8_e5m2"])
        self.assertEqual([one["dtype"] for one in definition["outputs"].values()], ["float8_e4m3fn", "float32"])

    def test_a_constant_output_is_left_out(self):
        text = function("return {'n': 3, 'y': x * 2, 'f': 0.5, 'z': torch.zeros(N), 'm': x.max()}")
        made = self.described(text)
        self.assertEqual(list(made["problem"]["definition"]["outputs"]), ["output_1", "output_4"])
        self.assertEqual(made["problem"]["python"]["omit"], [0, 2, 3])
        instance = load(self.file(text), options=made["problem"]["python"]).instance({})
        self.assertEqual([output is None for output in instance.run(instance.inputs(1))], [True, False, True, True, False])

    def test_a_result_that_is_a_copy_is_no_mistake(self):
        made = self.described(module(["self.w = nn.Parameter(torch.randn(D))"], ["return x * self.w, self.w"]))
        self.assertEqual(made["problem"]["audit_exempt"], {"identity": {"output_1": "it is a copy of w"}})

    def test_a_table_for_longer_inputs_is_exempt_at_its_end(self):
        made = self.described(module(["self.t = nn.Parameter(torch.randn(64))"], ["return x + self.t[:x.shape[1]]"]))
        self.assertEqual(made["problem"]["audit_exempt"],
                         {"ignored_end": {"t": "at small sizes no result reads its last row"}})

    def test_bytes_are_not_taken_for_sorted(self):
        draws = [torch.randint(0, 256, (64,), dtype=torch.uint8) for _ in range(3)]
        self.assertIsNone(structure.of(draws))
        self.assertEqual(structure.of([draw.sort()[0] for draw in draws]), "sorted")


class Mutations(Files):
    def names(self, text):
        made = self.described(text)
        return [one["name"] for one in made["problem"]["mutations"]], " ".join(made["notes"])

    def test_mistakes_are_made_inside_of_calls_of_many_operators(self):
        cases = [
            (module(["self.r = nn.GRU(D, 4)"], ["return self.r(x)[0]"], "torch.rand(2, B, D)"), "sigmoid"),
            (module(["self.a = nn.MultiheadAttention(D, 2)"], ["return self.a(x, x, x)[0]"], "torch.rand(3, B, D)"), "softmax"),
            ("import torch\nN = 8\n@torch.jit.script\ndef _f(x):\n    return torch.relu(x) + 1\ndef run(x):\n    return _f(x)\n"
             "def get_inputs():\n    return [torch.randn(N, N)]\n", "relu"),
        ]
        for text, operator in cases:
            with self.subTest(operator=operator):
                names, _ = self.names(text)
                self.assertTrue(any("_aten_" in name and operator in name for name in names), names)

    def test_a_convolution_that_skips_the_end_of_its_input_is_tried_with_its_weights(self):
        names, _ = self.names(module(["self.c = nn.Conv1d(D, D, 1, stride=2)"], ["return self.c(torch.cat([x, x], -1))"],
                                     "torch.rand(B, D, D)"))
        self.assertIn("blind_conv1d_1", names)
        self.assertNotIn("cut_conv1d_1", names)

    def test_what_has_no_mutation_is_named(self):
        self.assertIn("no operator was found", self.names(function("return torch.tensor((x.numpy() * 2).tolist())"))[1])
        self.assertIn("NumPy", self.names(function("return torch.from_numpy((x + 1).numpy() * 2)"))[1])
        _, notes = self.names(function("return x + torch.sum(x * 0)"))
        self.assertIn("operators without a mutation, for none that was tried changes a result: sum_1", notes)
        names, notes = self.names(function("; ".join(["x = torch.tanh(x * 1.5)"] * 10) + "; return x"))
        self.assertEqual(len(names), 24)
        self.assertIn("mutations beyond 24 are left out", notes)


class Attempts(Files):
    def test_what_a_file_tries_and_goes_on_without_is_named(self):
        text = function("import socket, os\n    try:\n        os.mkdir('/proc/no_such_folder')\n    except OSError:\n        pass\n"
                        "    return x * 2")
        self.assertIn("line 6 tries to make a folder, which a reference may not", self.described(text)["notes"])
        self.assertNotIn("tries", " ".join(self.described(function("return x * 2"))["notes"]))


if __name__ == "__main__":
    unittest.main()
