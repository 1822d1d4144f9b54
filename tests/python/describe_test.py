# SPDX-License-Identifier: Apache-2.0
"""What is read of a PyTorch file: its sizes, formulas, results and mistakes. Arguments: the folder of the package."""

import json
import os
import sys
import tempfile
import textwrap
import unittest

try:
    import torch
except ImportError:
    print("skipped: this Python has no PyTorch")
    sys.exit(1 if "CI" in os.environ else 77)  # the set-up of CI installs it

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv.pop(1))))
from python import task_yaml  # noqa: E402
from python.describing import axes, formulas, own_draws, own_weights  # noqa: E402
from python.describing.describe import answered  # noqa: E402
from python.problems import TaskError  # noqa: E402
from python.task import load  # noqa: E402
from sample_files import Files, drawn_today, function  # noqa: E402

LINEAR = """
    import torch
    import torch.nn as nn
    class Model(nn.Module):
        def __init__(self, features, out):
            super().__init__()
            self.linear = nn.Linear(features, out)
        def forward(self, x):
            return torch.relu(self.linear(x))
    batch, features, out = 64, 128, 256
    def get_inputs():
        return [torch.rand(batch, features)]
    def get_init_inputs():
        return [features, out]
"""
CONVOLUTION = """
    import torch
    class Model(torch.nn.Module):
        def __init__(self, channels, out, kernel_size, stride):
            super().__init__()
            self.conv = torch.nn.Conv2d(channels, out, kernel_size, stride=stride, padding=1)
        def forward(self, x):
            return self.conv(x)
    batch, channels, out = 16, 32, 64
    height, width = 128, 96
    kernel_size = 3
    stride = 2
    def get_inputs():
        return [torch.rand(batch, channels, height, width)]
    def get_init_inputs():
        return [channels, out, kernel_size, stride]
"""


NORMALISED = """
    import torch
    N, M = 8, 64
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.LayerNorm(M)
        def forward(self, x):
            return RESULT
    def get_inputs():
        return [torch.rand(N, M)]
"""
DROPPED = NORMALISED.replace("self.norm = torch.nn.LayerNorm(M)", "self.drop = torch.nn.Dropout(0.5)")


class Tasks(Files):
    def test_sizes_are_the_literals_of_the_top_level_and_what_follows_from_them_follows(self):
        task = load(self.file("N = 8 * 2\nM = N + 1\nshape = (3, N)\ndef run(x):\n    return x + M\n"))
        self.assertEqual(task.sizes, {"N": 16, "shape_0": 3})
        self.assertEqual(task.namespace({"N": 4}, 1)["M"], 5)

    def test_the_exact_result_is_float64_and_close_to_the_declared_one(self):
        instance = load(self.file(LINEAR)).instance({"batch": 4})
        inputs = instance.inputs(1)
        exact, declared = instance.run(inputs, {}, "exact")[0], instance.run(inputs)[0]
        self.assertEqual((exact.dtype, declared.dtype, exact.shape[0]), (torch.float64, torch.float32, 4))
        self.assertLess(float((exact - declared).abs().max()), 1e-5)

    def test_given_weights_take_the_place_of_the_file_s_own(self):
        instance = load(self.file(LINEAR)).instance({})
        zeros = {name: torch.zeros_like(value) for name, value in instance.weights.items()}
        self.assertEqual(sorted(zeros), ["linear_bias", "linear_weight"])
        inputs = instance.inputs(1)
        self.assertEqual(float(instance.run(inputs, zeros)[0].abs().max()), 0)
        self.assertGreater(float(instance.run(inputs)[0].abs().max()), 0)

    def test_a_mistake_changes_the_result(self):
        instance = load(self.file(LINEAR)).instance({})
        inputs = instance.inputs(1)
        names = [one["name"] for one in instance.operators(inputs)[0]]
        self.assertIn("without_relu_1", names)
        self.assertLess(float(instance.run(inputs, mutation="without_relu_1")[0].min()), 0)


DRAWS = """
    import torch
    rows, columns = 8, 16
    def run(x, y):
        return x
    class Model(torch.nn.Module):
        def forward(self, *inputs):
            return inputs[0] + 1
    def get_inputs():
        %s
    def get_init_inputs():
        return []
"""


class OwnDraws(Files):
    def kinds(self, *lines):
        task = load(self.file(DRAWS % "\n        ".join(lines)))
        return own_draws.kinds(task.instance())

    def test_an_input_straight_from_a_generator_has_one_of_our_kinds(self):
        self.assertEqual(self.kinds("x = torch.rand(rows, columns)", "return [x, torch.randn(rows) * 4 - 1]"),
                         {"inputs_0": "uniform(scale=0.5, shift=0.5)", "inputs_1": "normal(scale=4, shift=-1)"})
        self.assertEqual(self.kinds("return [(torch.rand(rows) * 2 - 1).half().reshape(2, -1)]"),
                         {"inputs_0": "uniform(scale=1)"})

    def test_an_input_that_others_depend_on_or_that_was_changed_has_none(self):
        for lines in (["x = torch.rand(rows, columns)", "return [x, x * 2]"],
                      ["x = torch.rand(rows, columns)", "return [x, x]"],
                      ["x = torch.rand(rows, columns)", "return [x, x.T]"],
                      ["x = torch.rand(rows, columns)", "return [x, x.data]"],
                      ["x = torch.rand(rows, columns)", "return [x, (x > 0.5).float()]"],
                      ["x = torch.rand(rows, columns)", "x[0] = 0", "return [x]"],
                      ["x = torch.rand(rows, columns)", "x.view(-1)[3:].zero_()", "return [x]"],
                      ["x = torch.rand(rows, columns)", "x += 1", "return [x]"],
                      ["return [torch.rand(rows).bfloat16().float()]"],
                      ["return [torch.rand(rows).expand(columns, rows)]"],
                      ["return [torch.rand(rows) * torch.rand(())]"],
                      ["return [torch.tril(torch.rand(rows, rows))]"]):
            with self.subTest(lines=lines):
                self.assertEqual(self.kinds(*lines), {})


WEIGHTS = """
    import torch
    import torch.nn as nn
    features = 8
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            %s
        def forward(self, x):
            return x
    def get_inputs():
        return [torch.rand(features)]
    def get_init_inputs():
        return []
"""


class OwnWeights(Files):
    def kinds(self, *lines):
        return own_weights.kinds(load(self.file(WEIGHTS % "\n            ".join(lines))), {}, 1)

    def test_weights_straight_from_an_initialiser_have_one_of_our_kinds(self):
        self.assertEqual(self.kinds("self.norm = nn.LayerNorm(features)"),
                         {"norm_weight": "constant(1)", "norm_bias": "constant(0)"})
        self.assertEqual(self.kinds("self.linear = nn.Linear(16, features)"),
                         {"linear_weight": "uniform(scale=0.25)", "linear_bias": "uniform(scale=0.25)"})
        self.assertEqual(self.kinds("self.bias = nn.Parameter(torch.randn(features))"), {"bias": "normal(scale=1)"})
        self.assertEqual(self.kinds("self.table = nn.Embedding(4, features)"), {"table_weight": "normal(scale=1)"})
        self.assertEqual(self.kinds("self.register_buffer('ends', torch.full((4,), 2 ** 31 - 1))"),
                         {"ends": "constant(2147483647)"})

    def test_weights_that_are_computed_or_belong_together_have_none(self):
        for lines in (["self.a = nn.Parameter(torch.randn(features) * torch.randn(features))"],
                      ["self.a = nn.Parameter(torch.randn(features))", "self.a.data[0] = 0"],
                      ["self.a = nn.Parameter(torch.randn(features)[2:])"],
                      ["self.a = nn.Parameter(torch.randn(features))", "self.b = nn.Parameter(self.a.detach() + 1)"],
                      ["self.a = nn.Parameter(torch.randn(4, 2))", "self.b = nn.Parameter(self.a.detach()[1:])"],
                      ["self.table = nn.Embedding(4, features, padding_idx=0)"],
                      ["self.a = nn.Parameter(nn.init.trunc_normal_(torch.empty(features)))"],
                      ["self.a = nn.Parameter(nn.init.orthogonal_(torch.empty(4, 4)))"],
                      ["self.register_buffer('near', (torch.arange(4)[:, None] - torch.arange(4)).abs() < 128)"],
                      ["self.register_buffer('block', torch.arange(4) // 64)"],
                      ["self.a = nn.Parameter(torch.randn(4, 4))", "self.a.detach().numpy().sort()"],
                      ["a = torch.randn(4)", "self.a = nn.Parameter(a)",
                       "self.b = nn.Parameter(torch.from_numpy(a.numpy() * 2))"],
                      ["torch.manual_seed(0)", "self.a = nn.Parameter(torch.randn(4))",
                       "torch.manual_seed(0)", "self.b = nn.Parameter(torch.randn(4))"],
                      ["torch.eye(3).to_sparse()", "self.a = nn.Parameter(torch.randn(3, 3)[:, :1])"]):
            with self.subTest(lines=lines):
                self.assertEqual(self.kinds(*lines), {})


class Axes(Files):
    def test_a_kernel_is_no_axis_and_the_output_follows_by_a_formula(self):
        problem = self.described(CONVOLUTION)["problem"]
        axes_ = problem["definition"]["axes"]
        varying = [name for name, axis in axes_.items() if axis["type"] == "var"]
        self.assertEqual(varying, ["batch", "channels", "out", "height", "width"])
        derived = {axis["value"] for axis in axes_.values() if axis["type"] == "derived"}
        for height in (5, 6, 31, 128):
            self.assertIn((height - 1) // 2 + 1,
                          [formulas.evaluated(text, {"height": height, "width": 1}) for text in derived])

    def test_equal_sizes_that_only_change_together_are_one_axis(self):
        text = "import torch\nA = 64\nB = 64\ndef run(x, y):\n    return x + y\n" \
               "def get_inputs():\n    return [torch.rand(A), torch.rand(B)]\n"
        self.assertEqual(len(axes.find(load(self.file(text))).varying), 1)

    def test_a_size_that_happens_to_equal_another_does_not_follow_it(self):
        text = """
            import torch
            class Model(torch.nn.Module):
                def __init__(self, width, heads):
                    super().__init__()
                    self.bias = torch.nn.Parameter(torch.randn(heads))
                def forward(self, x):
                    split = x.view(x.shape[0], self.bias.shape[0], -1)
                    return (split * self.bias[:, None]).sum(-1)
            batch, width, heads = 2, 32, 2
            def get_inputs():
                return [torch.rand(batch, width)]
            def get_init_inputs():
                return [width, heads]
        """
        found = axes.find(load(self.file(text)))
        self.assertEqual((list(found.varying), found.follow), (["batch", "width"], {}))

    def test_a_module_with_many_weights_of_its_own_is_looked_at_beside_them(self):
        text = """
            import torch
            class Model(torch.nn.Module):
                def __init__(self, times):
                    super().__init__()
                    self.weight = torch.nn.Parameter(torch.rand(1024, 2100))
                    self.times = times
                def forward(self, x):
                    return x @ self.weight * self.times
            batch, times = 4, 3
            def get_inputs():
                return [torch.rand(batch, 1024)]
            def get_init_inputs():
                return [times]
        """
        finder = axes.Finder(load(self.file(text)))
        self.assertIsNotNone(finder.at({}))
        self.assertIsNotNone(finder.at({"times": 1 << 20}))
        self.assertIsNone(finder.at({"batch": 1 << 16}))

    def test_a_number_of_layers_is_no_axis_though_it_is_an_extent_of_an_input(self):
        text = """
            import torch
            class Model(torch.nn.Module):
                def __init__(self, width, layers):
                    super().__init__()
                    self.rnn = torch.nn.RNN(width, width, layers)
                def forward(self, x, before):
                    return self.rnn(x, before)[1]
            length, batch, width, layers = 6, 5, 32, 3
            def get_inputs():
                return [torch.rand(length, batch, width), torch.rand(layers, batch, width)]
            def get_init_inputs():
                return [width, layers]
        """
        self.assertEqual(list(axes.find(load(self.file(text))).varying), ["length", "batch", "width"])

    def test_patches_of_an_image_with_a_token_before_them_are_counted(self):
        square = formulas.Samples({"side": 16}, {"side": [24, 32, 48, 64, 104]}, [{"side": 80}])
        patches = [(point["side"] // 8) ** 2 + 1 for point in square.every()]
        self.assertEqual(formulas.fitted(square, patches), "(side // 8) * (side // 8) + 1")
        image = formulas.Samples({"h": 8, "w": 12}, {"h": [12, 16, 28], "w": [16, 20, 40]}, [{"h": 36, "w": 24}])
        patches = [(point["h"] // 4) * (point["w"] // 4) + 2 for point in image.every()]
        formula = formulas.fitted(image, patches)
        self.assertEqual([formulas.evaluated(formula, point) for point in image.every()], patches)
        self.assertEqual(formulas.evaluated(formula, {"h": 100, "w": 60}), 25 * 15 + 2)

    def test_pairs_of_things_are_counted(self):
        samples = formulas.Samples({"n": 4}, {"n": [5, 6, 9, 15]}, [{"n": 8}])
        values = [point["n"] * (point["n"] - 1) // 2 for point in samples.every()]
        self.assertEqual(formulas.fitted(samples, values), "n * (n - 1) // 2")

    def test_a_sum_of_axes_is_found(self):
        samples = formulas.Samples({"a": 2, "b": 3}, {"a": [3, 4], "b": [4, 5]}, [{"a": 7, "b": 9}])
        values = [2 * point["a"] + point["b"] + 1 for point in samples.every()]
        self.assertEqual(formulas.fitted(samples, values), "2 * a + b + 1")
        self.assertIsNone(formulas.fitted(samples, [2 ** value for value in values]))


class Descriptions(Files):
    def test_a_module_becomes_a_definition_with_its_weights_and_work(self):
        made = self.described(LINEAR)
        problem = made["problem"]
        self.assertEqual(list(problem["definition"]["inputs"]), ["x", "linear_weight", "linear_bias"])
        self.assertEqual([one.get("role") for one in problem["definition"]["inputs"].values()],
                         [None, "weight", "weight"])
        self.assertIn("2 * batch * features * out", problem["flops"])
        self.assertEqual(made["workloads"][0]["axes"], {"batch": 64, "features": 128, "out": 256})
        self.assertIn("without_relu_1", [one["name"] for one in problem["mutations"]])
        self.assertIsNone(made["degenerate"])

    def test_structured_inputs_keep_their_own_generator(self):
        made = self.described(function("return x @ x", "torch.triu(torch.rand(N, N))"))
        self.assertEqual([one["name"] for one in made["problem"]["distributions"]], ["given"])

    def test_results_that_ignore_the_inputs_are_degenerate(self):
        self.assertIn("does not depend on the inputs", self.described(function("return x * 0 + 1"))["degenerate"])

    def test_a_mean_after_a_normalisation_is_degenerate_with_the_file_s_own_weights(self):
        made = self.described(NORMALISED.replace("RESULT", "self.norm(x).mean(1)"))
        self.assertIn("does not depend on the inputs", made["degenerate"])
        self.assertEqual(made["problem"]["degenerate"], made["degenerate"])
        self.assertIsNone(self.described(NORMALISED.replace("RESULT", "self.norm(x).amax(1)"))["degenerate"])

    def test_dropout_that_changes_nothing_is_left_out_and_other_dropout_is_refused(self):
        made = self.described(DROPPED.replace("RESULT", "self.drop(x * 0)"))
        self.assertTrue(made["problem"]["python"]["eval"])
        self.assertIsNotNone(made["degenerate"])
        self.assertIn("training mode", self.refused(DROPPED.replace("RESULT", "self.drop(x)")))

    def test_a_bias_that_a_normalisation_takes_away_is_no_input(self):
        made = self.described(NORMALISED.replace("RESULT", "torch.layer_norm(x + self.norm.bias[0], (M,))"))
        self.assertEqual(list(made["problem"]["definition"]["inputs"]), ["x"])

    def test_floors_of_triangular_products_count_what_is_not_zero(self):
        cases = [
            ("return x @ x", "torch.triu(torch.rand(N, N))", "N * (N + 1) * (N + 2) // 3", "N * (N + 1) // 2 * sizeof_x"),
            ("return x @ x.T", "torch.triu(torch.rand(N, N))", "N * (N + 1) * (2 * N + 1) // 3", "N * (N + 1) // 2 * sizeof_x"),
            ("return x @ x", "torch.diag(torch.rand(N))", "N", "N * sizeof_x"),
            ("return torch.diag(x) @ torch.ones(N, 2 * N)", "torch.rand(N)", "2 * N * N", "N * sizeof_x"),
            ("return torch.relu(x) @ x", "torch.randn(N, N)", "2 * N * N * N + N * N", "N * N * sizeof_x"),
        ]
        for body, inputs, flops, read in cases:
            with self.subTest(body=body, inputs=inputs):
                problem = self.described(function(body, inputs))["problem"]
                for size in (5, 32):
                    self.assertEqual(formulas.evaluated(problem["flops"], {"N": size}),
                                     formulas.evaluated(flops, {"N": size}))
                    known = {"N": size, "sizeof_x": 4}
                    self.assertEqual(formulas.evaluated(problem["bytes_read"], known), formulas.evaluated(read, known))

    def test_simple_operators_have_a_starting_kernel_and_others_none(self):
        cases = [
            ("return torch.relu(x)", "pointwise"), ("return x.sum(0)", "rows"), ("return x @ x", "product"),
            ("return x - x.mean(1, keepdim=True)", "rows"), ("return x - x.mean(1)", None), ("return x + x.t()", None),
            ("return x.mean(1, keepdim=True).expand(N, N).contiguous()", None), ("return torch.cumsum(x, 1)", None),
            ("return (x @ x).t().contiguous()", None),
        ]
        for body, kernel in cases:
            with self.subTest(body=body):
                found = self.described(function(body))["kernel"]
                self.assertEqual(found and found.partition('"kernel": "')[2].partition('"')[0], kernel)

    def test_a_tensor_that_is_called_like_a_variable_of_the_kernel_leaves_none(self):
        text = function("return torch.relu(x)")
        self.assertIn("alignas(sizeof(T) * VALUES)", self.described(text)["kernel"])
        self.assertIsNone(self.described(text.replace("x", "first"))["kernel"])

    def test_products_that_are_only_summed_cost_nothing(self):
        cases = [
            ("return (x @ x + 1).sum(1)", False), ("return (x @ x).view(-1).mean() * 2", False),
            ("y = x @ x; y += 1; y *= 2; return y.sum(1)", False),
            ("return torch.relu(x @ x).sum(1)", True), ("y = x @ x; return y.sum(1) + y[0]", True),
            ("y = x @ x; return (y * y).sum(1)", True), ("return (x / (x @ x)).sum(1)", True), ("return x @ x", True),
        ]
        for body, counted in cases:
            with self.subTest(body=body):
                self.assertEqual("N * N * N" in self.described(function(body))["problem"]["flops"], counted)

    def test_elements_that_are_always_zero_are_no_mistake_when_they_are_zero(self):
        made = self.described(function("return torch.cat([x, torch.zeros(64, N)])"))
        self.assertIn("last_elements", made["problem"]["audit_exempt"])
        self.assertNotIn("audit_exempt", self.described(function("return x * 2"))["problem"])


# Modules, their inputs, the least elements of each tensor that a kernel has to read, and the fewest operations of
# its products, at N = 12 and M = 20: 0 where no bound is known, or None where operations depend on more.
LEAST = [
    ("return x[:, 0] * 2", "torch.randn(N, M)", {"x": 12}, 12),
    ("return x[1:, ::2] + 1", "torch.randn(N, M)", {"x": 11 * 10}, 11 * 10),
    ("return x.clone()", "torch.randn(N, M)", {"x": 240}, 0),
    ("return x + y", "torch.randn(N, M), torch.randn(M)", {"x": 240, "y": 20}, 240),
    ("return torch.relu(x)[:, -1] + y", "torch.randn(N, M), torch.randn(N)", {"x": 12, "y": 12}, 24),
    ("return x[y]", "torch.randn(M, 64), torch.randint(0, M, (N,))", {"x": 64, "y": 12}, 0),
    ("return torch.nn.functional.embedding(y, x).sum(1)", "torch.randn(M, 64), torch.randint(0, M, (N, 3))",
     {"x": 64, "y": 36}, 3 * 12 * 64),
    ("return torch.index_select(x, 0, y) * 2", "torch.randn(M, 64), torch.randint(0, M, (N,))",
     {"x": 64, "y": 12}, 12 * 64),
    ("return x.gather(1, y)", "torch.randn(N, M), torch.randint(0, M, (N, 1))", {"x": 0, "y": 12}, 0),
    ("return torch.nn.functional.conv2d(x, y, stride=2)", "torch.randn(1, 4, N, M), torch.randn(4, 4, 1, 1)",
     {"x": 4 * 6 * 10, "y": 16}, 2 * 4 * 4 * 60),
    ("return torch.stack([x[i, :int(y[i])].sum() for i in range(N)])", "torch.randn(N, M), torch.randint(1, M, (N,))",
     {"x": 0, "y": 0}, 0),
    ("return torch.where(y, x, torch.zeros_like(x))", "torch.randn(N, M), torch.rand(N, M) < 0.5",
     {"x": 0, "y": 240}, 0),
    ("return x.diagonal(0, 1, 2).clone()", "torch.randn(M, N, N)", {"x": 0}, 0),
    ("return torch.nn.functional.linear(x, y)[:, -1]", "torch.randn(N, 7, M), torch.randn(64, M)",
     {"x": 240, "y": 64 * 20}, 2 * 12 * 20 * 64),
    ("return (x @ y)[:, 0] * 2", "torch.randn(N, M), torch.randn(M, N)", {"x": 240, "y": 20}, 2 * 12 * 20 + 12),
    ("return x @ y @ z", "torch.randn(N, N), torch.randn(N, N), torch.randn(N, 1)",
     {"x": 144, "y": 144, "z": 12}, 4 * 144),
    ("return x @ (y @ z)", "torch.randn(N, 1), torch.randn(1, M), torch.randn(M, M)",
     {"x": 12, "y": 20, "z": 400}, 2 * 20 * 20 + 2 * 12 * 20),
    ("return (x @ y).t() @ z", "torch.randn(N, M), torch.randn(M, N), torch.randn(N, 1)",
     {"x": 240, "y": 240, "z": 12}, 4 * 240),
    ("return torch.relu(x @ y) @ z", "torch.randn(N, N), torch.randn(N, N), torch.randn(N, 1)",
     {"x": 144, "y": 144, "z": 12}, 2 * 12 ** 3 + 144 + 2 * 144),
    ("return torch.softmax(x @ y, -1) @ z", "torch.randn(N, M), torch.randn(M, N), torch.randn(N, M)",
     {"x": 240, "y": 240, "z": 240}, 4 * 12 * 20 * 12 + 4 * 144),
    ("return torch.tril(torch.tril(x) @ torch.tril(y))", "torch.tril(torch.randn(N, N)), torch.tril(torch.randn(N, N))",
     {"x": 78, "y": 78}, 12 * 13 * 14 // 3),
    ("return torch.tril(x @ y)", "torch.randn(N, M), torch.randn(M, N)", {"x": 240, "y": 240}, 12 * 13 * 20),
    ("return torch.softmax((x @ y).masked_fill(torch.ones(N, N).triu(1) > 0, -1e30), -1)",
     "torch.randn(N, M), torch.randn(M, N)", {"x": 220, "y": 240}, None),  # the first row's result is always 1
]


class Floors(Files):
    """A floor above what a right kernel reaches refuses that kernel."""

    def test_least_bytes_and_operations_are_what_a_right_kernel_can_do_with(self):
        for index, (body, inputs, read, operations) in enumerate(LEAST):
            if not drawn_today(index, 3):
                continue
            names = [name for name in ("x", "y", "z") if name in read]
            text = "import torch\nN, M = 12, 20\ndef run(%s):\n    %s\ndef get_inputs():\n    return [%s]\n" % (
                ", ".join(names), body, inputs)
            with self.subTest(body=body):
                made = self.described(text)
                problem = made["problem"]
                sizes = {"N": 12, "M": 20, "min": min, **made["workloads"][0]["axes"]}
                for name, axis in problem["definition"]["axes"].items():
                    if axis["type"] != "var":
                        sizes[name] = eval(str(axis["value"]), dict(sizes))
                for name, least in read.items():
                    known = dict(sizes, **{"sizeof_" + one: int(one == name) for one in names})
                    self.assertEqual(eval(problem["bytes_read"], known), least, name)
                if operations is not None:
                    self.assertEqual(eval(problem["flops"], dict(sizes)), operations)

    def test_what_is_not_counted_is_said(self):
        made = self.described(function("return torch.tril(x) + torch.tril(x, 2)", "torch.randn(N, N)"))
        self.assertEqual(made["problem"]["bytes_read"], "0 * sizeof_x")
        self.assertTrue([note for note in made["notes"] if "bytes_read leaves out x" in note])

    def test_a_product_that_is_returned_too_is_computed(self):
        made = self.described(function("y = x @ x; return y.sum(1), y"))
        self.assertIn("2 * N * N * N", made["problem"]["flops"])


class Ties(Files):
    def test_indices_along_the_last_axis_are_told_by_what_they_select(self):
        for body, outputs in (("return torch.topk(x, 3, -1)", {"output_1": {"gather": "x"}}),
                              ("return torch.sort(x, 1, descending=True)[1].int()", {"output": {"gather": "x"}}),
                              ("return x.argsort(-1)", {"output": {"gather": "x"}}),
                              ("return x.argmax(1, keepdim=True)", {"output": {"gather": "x"}}),
                              ("return x.max(-1, keepdim=True)", {"output_1": {"gather": "x"}})):
            with self.subTest(body=body):
                problem = self.described(function(body))["problem"]
                self.assertEqual(problem["tolerance"]["outputs"], outputs)
                self.assertIn("small_integer", [one["name"] for one in problem["distributions"]])

    def test_other_indices_are_checked_without_ties_and_this_is_said(self):
        for body in ("return x.argmax(1)", "return torch.relu(x).argsort(-1)", "return torch.sort(x, 0)[1]"):
            with self.subTest(body=body):
                made = self.described(function(body))
                self.assertNotIn("outputs", made["problem"]["tolerance"])
                self.assertNotIn("small_integer", [one["name"] for one in made["problem"]["distributions"]])
                self.assertTrue([note for note in made["notes"] if "small_integer" in note])

    def test_values_alone_need_no_such_care(self):
        problem = self.described(function("return torch.sort(x, 0)[0]"))["problem"]
        self.assertIn("small_integer", [one["name"] for one in problem["distributions"]])


class Refusals(Files):
    def test_each_kind_of_bad_file_has_its_message(self):
        dropout = LINEAR.replace("torch.relu(", "torch.nn.functional.dropout(")
        cases = [
            ("def run(x:\n", "is not Python"),
            ("x = 1\n", "it is none of"),
            ("raise ValueError('no')\n", "ValueError"),
            ("import nothing_of_this_name\n", "ModuleNotFoundError"),
            (function("x.add_(1); return x * 2"), "in place"),
            (function("return x.T"), "view of input"),
            (function("return torch.rand_like(x) + x"), "random numbers"),
            (function("return x * 2", "torch.frombuffer(bytearray(__import__('os').urandom(4096)), dtype=torch.uint8)"
                      ".float()[:N]"), "no seed"),
            (function("return 'text'"), "str"),
            (function("return torch.of_a_later_version(x)"), "(this is PyTorch %s)" % torch.__version__),
            (dropout, "random numbers"),
        ]
        for text, expected in cases:
            with self.subTest(expected=expected, text=text[:60]):
                self.assertIn(expected, self.refused(text))


BOARD = """
    import dataclasses
    import torch
    @dataclasses.dataclass(frozen=True)
    class Config:
        rows: int
        dtype: torch.dtype
        bias: torch.Tensor
    def ref_kernel(data):
        BODY
    def generate_input(size: int, width: int, seed: int, spread: float = 1.0):
        gen = torch.Generator(device="cuda")
        gen.manual_seed(seed)
        x = torch.randn(size, width, device="cuda", generator=gen)
        INPUTS
"""
CASES = """
tests:
  - {"size": 5, "width": 8, "seed": 1}
  - {"size": 9, "width": 24, "seed": 1, "spread": 2.0}
benchmarks:
  - {"size": 512, "width": 64, "seed": 1}
  - {"size": 512, "width": 64, "seed": 2}
  - {"size": 2048, "width": 128, "seed": 3}
"""


class Boards(Files):
    def test_a_definition_draws_inputs_of_each_type(self):
        dtypes = ("float16", "float32", "int32", "bool")
        definition = {"name": "sum", "axes": {"n": {"type": "var"}, "m": {"type": "const", "value": 16}},
                      "inputs": {"a_" + dtype: {"shape": ["n", "m"], "dtype": dtype} for dtype in dtypes},
                      "outputs": {"output": {"shape": ["n", "m"], "dtype": "float32"}},
                      "reference": "def run(a_float16, a_float32, a_int32, a_bool):\n    return a_float32 * a_bool\n"}
        path = self.file(json.dumps(definition))
        os.rename(path, path + ".json")
        inputs = load(path + ".json").instance({"n": 4}).inputs(1)
        self.assertEqual([str(value.dtype) for value in inputs.values()], ["torch." + dtype for dtype in dtypes])

    def task(self, body, inputs):
        """A folder as GPU MODE has it."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        text = textwrap.dedent(BOARD).replace("INPUTS", inputs).replace("BODY", "\n    ".join(body.split("; ")))
        for name, content in (("reference.py", text), ("task.yml", CASES)):
            with open(os.path.join(folder.name, name), "w", encoding="utf-8") as out:
                out.write(content)
        return folder.name

    def made(self, body, inputs):
        return answered({"file": self.task(body, inputs), "options": {}})

    def test_shapes_of_a_task_yml_are_read(self):
        cases = task_yaml.parsed('lang: "py"\ntests:\n  - {"size": 127, "seed": 4}\nbenchmarks:\n  - size: 64\n'
                                 '    shape: [1, 2]\n')
        self.assertEqual(cases, {"tests": [{"size": 127}], "benchmarks": [{"size": 64, "shape": [1, 2]}]})

    def test_memory_for_results_is_no_input_however_it_is_used(self):
        empty = "return x, torch.empty(size, width, device='cuda')"
        for body, inputs in (
                ("x, out = data; out[...] = x * 2; return out", empty),
                ("x, out = data; return x * 2", empty),
                ("x, out = data; out[...] = x * 2", empty),
                ("x, out = data; out += x; out += x; return out", empty.replace("empty", "zeros")),
                ("x, out = data; out[...] = x * 2; return out", "return x, torch.randn(size, width)"),
                ("x, out = data; return (x.double() * 2).view(-1)", empty)):
            with self.subTest(body=body, inputs=inputs):
                made = self.made(body, inputs)
                problem = made["problem"]
                self.assertEqual(list(problem["definition"]["inputs"]), ["data_0"])
                self.assertEqual(problem["definition"]["outputs"],
                                 {"output": {"shape": ["size", "width"], "dtype": "float32"}})
                self.assertEqual(problem["python"]["buffers"], ["data_1"])

    def test_the_reference_process_hands_new_memory_to_every_run(self):
        folder = self.task("x, out = data; out[...] = x * 2; return out", "return x, torch.empty(size, width)")
        instance = load(folder, "gpu_mode", {"buffers": ["data_1"]}).instance({"size": 3, "width": 4})
        inputs = instance.inputs(1)
        self.assertEqual(list(inputs), ["data_0"])
        first, = instance.run(inputs)
        second, = instance.run({"data_0": inputs["data_0"] + 1}, precision="exact")
        self.assertEqual(second.dtype, torch.float64)
        self.assertTrue(torch.equal(first, inputs["data_0"] * 2))

    def test_an_input_that_is_changed_in_place_stays_refused(self):
        for body, inputs, words in (
                ("x, y = data; y += x; return y * 1", "return x, x * 2", "changes its input data_1 in place"),
                ("x, y = data; return y.view(-1)", "return x, x * 2", "view of input data_1"),
                ("x, y = data; return x + y", "return x, torch.empty(size, width)", "nothing was written to")):
            with self.subTest(body=body):
                with self.assertRaises(TaskError) as caught:
                    self.made(body, inputs)
                self.assertIn(words, str(caught.exception))

    def test_every_case_is_a_workload_and_one_that_differs_in_more_than_sizes_is_named(self):
        made = self.made("return data * 2", "return x * spread")
        rows = {row["name"]: (row["axes"], row["role"]) for row in made["workloads"] if row["tier"] == "gpu"}
        self.assertEqual(rows, {
            "benchmark_1": ({"size": 512, "width": 64}, ["check", "time"]),
            "benchmark_3": ({"size": 2048, "width": 128}, ["check", "time"]),
            "test_1": ({"size": 5, "width": 8}, ["check"]),
            "any_large": ({"size": [5, 2048], "width": {"range": [8, 128], "multiple": 8}}, "held_out")})
        self.assertTrue([note for note in made["notes"] if "test_2 (spread 2.0)" in note])

    def test_records_are_taken_apart_and_numbers_that_follow_from_sizes_are_no_inputs(self):
        made = self.made("x, c = data; return (x[:c.rows] + c.bias).to(c.dtype)",
                         "return x, Config(size, torch.float32, torch.randn(width))")
        self.assertEqual(list(made["problem"]["definition"]["inputs"]), ["data_0", "data_1_bias"])
        self.assertTrue([note for note in made["notes"] if "data_1_rows follows from the sizes" in note])

    def test_a_kind_that_a_generator_draws_anew_for_every_seed_is_not_taken_for_one(self):
        made = self.made("return data * 2", "scale = torch.rand(1, generator=gen).item(); return x * scale")
        self.assertEqual(made["problem"]["distributions"][0], {"name": "given", "kind": "given"})


DEFINITION = {
    "name": "pages", "op_type": "pages",
    "axes": {"batch": {"type": "var"}, "parts": {"type": "var"}, "total": {"type": "var"},
             "num_pages": {"type": "var"}, "page_size": {"type": "const", "value": 4},
             "width": {"type": "const", "value": 8}},
    "constraints": ["parts == batch + 1", "total == kv_indptr[-1].item()"],
    "inputs": {"q": {"shape": ["batch", "width"], "dtype": "float32"},
               "k_cache": {"shape": ["num_pages", "page_size", "width"], "dtype": "float32"},
               "kv_indptr": {"shape": ["parts"], "dtype": "int32"},
               "kv_indices": {"shape": ["total"], "dtype": "int32"},
               "kv_last_page_len": {"shape": ["batch"], "dtype": "int32"},
               "sm_scale": {"shape": None, "dtype": "float32"}},
    "outputs": {"out": {"shape": ["batch"], "dtype": "float32"}, "lse": {"shape": ["batch"], "dtype": "float32"}},
    "reference": """
import torch
def run(q, k_cache, kv_indptr, kv_indices, kv_last_page_len, sm_scale):
    lse = torch.full((q.shape[0],), -float("inf"), dtype=torch.float32)
    out = torch.zeros(q.shape[0], dtype=torch.float32)
    for b in range(q.shape[0]):
        pages = kv_indices[int(kv_indptr[b]):int(kv_indptr[b + 1])].long()
        if len(pages):
            last = 4 * (len(pages) - 1) + int(kv_last_page_len[b])
            scores = (k_cache[pages].reshape(-1, 8)[:last] @ q[b]) * sm_scale
            lse[b], out[b] = torch.logsumexp(scores, -1), scores.sum()
    return {"lse": lse, "out": out}
"""}


class Definitions(Files):
    def made(self, rows, **changes):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        paths = [os.path.join(folder.name, name) for name in ("pages.json", "pages.jsonl")]
        with open(paths[0], "w", encoding="utf-8") as out:
            json.dump({**DEFINITION, **changes}, out)
        with open(paths[1], "w", encoding="utf-8") as out:
            out.writelines(row if isinstance(row, str) else json.dumps({"workload": row}) + "\n" for row in rows)
        return answered({"file": paths[0], "options": {"workloads": paths[1] if rows else None}})

    def row(self, batch, total, scale, **more):
        inputs = {"q": {"type": "random"}, "sm_scale": {"type": "scalar", "value": scale}}
        return {"uuid": "u%d" % batch, "axes": {"batch": batch, "parts": batch + 1, "total": total, "num_pages": 999},
                "inputs": {**inputs, **more}}

    def test_rows_are_timed_with_their_scalars_and_inputs_from_files_are_named(self):
        file = {"type": "safetensors", "path": "x.safetensors", "tensor_key": "kv_indptr"}
        made = self.made([self.row(64, 300, 0.5, kv_indptr=file), self.row(8, 77, 0.25)])
        rows = {row["name"]: (row["axes"], row["role"]) for row in made["workloads"] if row["tier"] == "gpu"}
        self.assertEqual(rows["workload_1"], ({"batch": 64, "total": 300, "num_pages": 999}, ["check", "time"]))
        self.assertEqual(rows["workload_2"][0], {"batch": 8, "total": 77, "num_pages": 999})
        self.assertEqual(made["problem"]["definition"]["inputs"]["sm_scale"],
                         {"shape": None, "dtype": "float32", "values": [0.5, 0.25]})
        self.assertTrue([note for note in made["notes"]
                         if "kv_indptr in safetensors files, which are not read: it is drawn as offsets(total)" in note])

    def test_offsets_pages_and_lengths_are_drawn_so_that_they_are_valid(self):
        made = self.made([self.row(64, 300, 0.5)])
        definition = made["problem"]["definition"]
        self.assertEqual({name: one["draw"] for name, one in definition["inputs"].items() if "draw" in one},
                         {"kv_indptr": "offsets(total)", "kv_indices": "index(num_pages)",
                          "kv_last_page_len": "integers(1, 4)"})
        self.assertIn({"type": "derived", "value": "batch + 1"}, definition["axes"].values())
        self.assertEqual(list(definition["outputs"]), ["lse", "out"])  # as the file returns them
        self.assertIn("normal", [one["name"] for one in made["problem"]["distributions"]])

    def test_a_definition_without_workloads_says_that_its_sizes_are_made_up(self):
        self.assertTrue([note for note in self.made([])["notes"] if "made up" in note])

    def test_a_line_that_is_no_workload_is_named(self):
        with self.assertRaises(TaskError) as caught:
            self.made([self.row(8, 77, 0.25), "[]\n"])
        self.assertIn("pages.jsonl: line 2 is no workload", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
