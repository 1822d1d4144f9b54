# SPDX-License-Identifier: Apache-2.0
"""patch() of a kernel library: kernel_library_patch_test.py PROGRAM SOURCE_FOLDER, with the PyTorch of the Python that runs it.

Where values count, kernels are stood in for by their references; where launches count, by a made-up CUDA driver. Without
PyTorch or a C++ compiler it is skipped (exit code 77)."""

import ast
import contextlib
import copy
import functools
import importlib
import importlib.util
import inspect
import io
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
import textwrap
import types
import unittest
import unittest.mock

try:
    import torch
except ImportError:
    sys.exit(77)
if shutil.which("c++") is None:
    sys.exit(77)

PROGRAM, SOURCE = sys.argv[1:3]
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cached_models  # noqa: E402
import encoder_models  # noqa: E402
import published_interfaces  # noqa: E402
import small_models  # noqa: E402

WORK = tempfile.TemporaryDirectory()
DIST = os.path.join(WORK.name, "dist")
ENVIRONMENT = {**os.environ, "ALPHAKERNEL_DB": os.path.join(WORK.name, "none.db")}
KERNELS = {
    "norm": ("rmsnorm", "rmsnorm_registers.cu", {"any_epsilon": True}),
    "mean_norm": ("layernorm", "layernorm_registers.cu", {"any_epsilon": True}),
    "add_mean_norm": ("residual_norm", "residual_norm_registers.cu", {"kind": "layernorm"}),
    "add_norm": ("residual_norm", "residual_norm_registers.cu", {}),
    "rope": ("rope", "rope_heads.cu", {"head_dim": 64, "rotary_dim": 64}),
    "mlp": ("linear_swiglu", "swiglu_mma.cu", {}),
    "tanh_mlp": ("linear_swiglu", "swiglu_mma.cu", {"function": "gelu_tanh"}),
    "gated": ("swiglu", "swiglu_tiles.cu", {}),
    "product": ("gemm", "gemm_mma.cu", {"b_layout": "column"}),
    "biased": ("linear", "linear_transposed.cu", {}),
    "biased_gelu": ("linear", "linear_transposed.cu", {"activation": "gelu"}),
    "tanh_gelu": ("activation", "activation.cu", {"function": "gelu_tanh"}),
    "lookup": ("embedding_lookup", "lookup_rows.cu", {"long_index": True}),
    "whole_prompt": ("flash_attention", "attention_mma.cu", {"head_dim": 64, "causal": True, "layout": "tokens"}),
    "learned_prompt": ("flash_attention", "attention_mma.cu", {"head_dim": 64, "causal": True}),
    "windowed_prompt": ("flash_attention", "attention_mma.cu", {"head_dim": 64, "causal": True, "window": 16, "layout": "tokens"}),
    "whole_text": ("flash_attention", "attention_mma.cu", {"head_dim": 64, "layout": "tokens"}),
    "whole_prompt_back": ("attention_backward", "attention_backward_mma.cu", {"head_dim": 64, "causal": True}),
    "any_prompt_back": ("attention_backward", "attention_backward_wgmma.cu", {"head_dim": 64, "causal": True, "any_order": True}),
    "next_token": ("attention_decode", "decode_split.cu", {"head_dim": 64}),
    "in_pages": ("attention_decode", "decode_split.cu", {"head_dim": 64, "paged": True}),
    "append": ("kv_cache_append", "append_rows.cu", {}),
    "sentences": ("mean_pool_l2norm", "mean_pool_columns.cu", {}),
    "four_bits": ("linear_w4a16", "w4a16_mma.cu", {}),
    "four_bits_and_zeros": ("linear_w4a16", "w4a16_mma.cu", {"zero_points": True}),
    "eight_bits": ("linear_w8a16", "w8a16_mma.cu", {}),
    "codes_product": ("linear_int8", "int8_mma.cu", {}),
    "codes": ("cast_quantise", "cast_rows.cu", {"to": "int8"}),
    "draw": ("top_p_sample", "top_p_rows.cu", {"dtype": "float32"}),
    "crossed": ("cross_entropy", "cross_entropy_rows.cu", {}),
    "crossed_back": ("cross_entropy", "cross_entropy_rows.cu", {"gradient": True}),
}
TOKENS = torch.arange(24).reshape(2, 12) * 7 % 100


def setUpModule():
    words = []
    for name, (problem, template, params) in KERNELS.items():
        with open(os.path.join(SOURCE, "templates", problem, template), encoding="utf-8") as file:
            text = file.read()
        head = json.dumps({"problem": problem, "params": {"dtype": "bfloat16", **params}})[1:-1]
        path = os.path.join(WORK.name, name + ".cu")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("{", "{" + head + ",", 1))
        words += ["--kernel", f"{name}={path}"]
    run = subprocess.run([PROGRAM, "library", "build", *words, "--arch", "sm_90a", "--name", "patch_ops", "--output", DIST],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                         env=ENVIRONMENT)
    if run.returncode:
        raise AssertionError(run.stderr)
    sys.path.insert(0, DIST)
    importlib.import_module("patch_ops")


def ops():
    return sys.modules["patch_ops"]


class Computed:
    """The library with references in place of its kernels, and the names of those that were called."""

    def __enter__(self):
        self.calls, self.sizes, self.refusals, library = [], [], {}, ops()._library

        def attempt(operator):
            def computed(*arguments):
                self.calls.append(operator.name)
                if len(arguments) != len(operator.inputs) + len(operator.given):  # as the launcher says
                    raise TypeError(f"{operator.name} takes {len(operator.inputs) + len(operator.given)} arguments")
                self.sizes.append(operator.sizes(arguments))
                return operator.reference()(*arguments[:len(operator.inputs)])

            computed.operator, computed.library = operator, library
            return computed

        library.attempt, library.assumed, library.choice = attempt, True, self.choice
        return self

    def choice(self, name, **sizes):
        """Every shape is taken, but for those that a test refuses."""
        return 0, self.refusals.get(name, "")

    def __exit__(self, *ignored):
        del ops()._library.attempt, ops()._library.choice
        ops()._library.assumed = False

    def count(self):
        return {name: self.calls.count(name) for name in sorted(set(self.calls))}


def made_up_driver():
    driver = os.path.join(WORK.name, "libcuda.so.1")
    if not os.path.exists(driver):
        source = os.path.join(HERE, "made_up_driver.cpp")
        subprocess.run(["c++", "-std=c++20", "-shared", "-fPIC", "-o", driver, source], check=True)


def launched(code):
    """What a program prints whose kernels a made-up driver launches."""
    run = subprocess.run([sys.executable, "-B", "-c", code], check=True, stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "PYTHONPATH": os.pathsep.join([DIST, HERE]), "LD_LIBRARY_PATH": WORK.name})
    return run.stdout


def launched_of_a_model(code):
    """The same of a program with a model and the library, on that driver's device."""
    made_up_driver()
    return launched("import torch, cached_models, patch_ops\npatch_ops._library.assume_device(0)\nmodel = cached_models.model()\n" + code)


def logits(model):
    with torch.no_grad():
        return model(TOKENS)


def all_kinds():
    """Those of tables, too, which are patched only where they are asked for."""
    return ops()._patch.KINDS


class PatchTest(unittest.TestCase):
    def close(self, got, want):
        """As two ways of rounding in bfloat16 differ over two layers."""
        off = ((got.double() - want.double()).square().mean() / want.double().square().mean()).sqrt().item()
        self.assertLess(off, 0.02)

    def patched(self, model, **options):
        return ops().patch(model, every_shape=True, **{"kinds": all_kinds(), **options})

    def test_a_patched_model_computes_the_same_with_kernels(self) -> None:
        expected = {
            # Of two layers: two norms each and one behind all, of which the first has no sum before it.
            "llama": {"add_norm": 4, "lookup": 1, "mlp": 2, "norm": 1, "product": 11, "rope": 2},
            "qwen": {"add_norm": 4, "biased": 6, "lookup": 1, "mlp": 2, "norm": 1, "product": 5, "rope": 2},
            "phi": {"add_norm": 4, "gated": 2, "lookup": 1, "norm": 1, "product": 13, "rope": 2},
            "gemma": {"add_norm": 4, "lookup": 1, "norm": 1, "product": 11, "rope": 2, "tanh_mlp": 2},
            "bert": {"add_mean_norm": 4, "biased": 8, "lookup": 1, "mean_norm": 2},
        }
        for name, calls in expected.items():
            with self.subTest(model=name), Computed() as library:
                model = getattr(small_models, name)()
                want = logits(model)
                self.patched(model)
                self.close(logits(model), want)
                self.assertEqual(library.count(), calls)

    def test_tables_are_read_by_the_model_itself_unless_they_are_asked_for(self) -> None:
        with Computed() as library:
            model = small_models.llama()
            ops().patch(model, every_shape=True)
            logits(model)
            self.assertNotIn("lookup", library.count())

    def test_without_a_device_the_models_own_code_computes_bit_by_bit(self) -> None:
        for name in ("llama", "qwen", "phi", "gemma", "bert"):
            with self.subTest(model=name):
                model = getattr(small_models, name)()
                want = logits(model)
                self.assertTrue(self.patched(model)["served"])
                self.assertTrue(torch.equal(logits(model), want))

    def test_on_a_device_kernels_are_launched(self) -> None:
        made_up_driver()
        code = "import torch, small_models, patch_ops\npatch_ops._library.assume_device(0)\nmodel = small_models.llama()\n" \
            "patch_ops.patch(model, every_shape=True)\nwith torch.no_grad(): print(tuple(model(torch.zeros(2, 12).long()).shape))\n" \
            "print(sorted({name for name, _ in patch_ops.served}))"
        self.assertEqual(launched(code), "(2, 12, 100)\n['add_norm', 'mlp', 'norm', 'product', 'rope']\n")

    def test_under_autocast_and_torch_jit_trace_the_models_own_code_computes(self) -> None:
        made_up_driver()
        code = """
import torch, small_models, patch_ops
tokens = torch.arange(24).reshape(2, 12) * 7 % 100
model = small_models.llama()
with torch.no_grad():
    want = model(tokens)
    patch_ops._library.assume_device(0)
    patch_ops.patch(model, every_shape=True)
    torch.set_autocast_enabled(True)  # a block of torch.autocast("cuda") is nothing without CUDA
    made = model(tokens)
    torch.set_autocast_enabled(False)
    traced = torch.jit.trace(model, (tokens,), check_trace=False)
    print(torch.equal(made, want), torch.equal(traced(tokens), want), len(patch_ops.served))
"""
        self.assertEqual(launched(code), "True True 0\n")

    def test_rotary_embeddings_of_nothing_are_nothing(self) -> None:
        with Computed() as library:
            rope, inside = ops()._library.rope(), ops()._patch
            cos, sin = torch.ones(1, 5, 64).bfloat16(), torch.zeros(1, 5, 64).bfloat16()
            setattr(cos, inside._STATE, inside._Angles(cos, sin))
            q, k = rope.turned(torch.ones(0, 4, 5, 64).bfloat16(), torch.ones(0, 2, 5, 64).bfloat16(), cos, sin)
            self.assertEqual((tuple(q.shape), tuple(k.shape), library.calls), ((0, 4, 5, 64), (0, 2, 5, 64), ["rope"]))

    def test_what_computes_something_else_is_left_with_a_reason(self) -> None:
        class DoubledRMSNorm(small_models.RMSNorm):
            def forward(self, x):
                return 2 * super().forward(x)

        left = self.patched(small_models.model(norm=DoubledRMSNorm, act_fn=torch.nn.functional.gelu))["left"]
        self.assertEqual(left["norm"], "they compute another norm than x / rms(x) times weight or 1 + weight")
        self.assertIn("no linear_swiglu of torch.bfloat16 with gelu", left["layers.0.mlp"])

        class Scaled(small_models.MLP):
            def forward(self, x):
                return super().forward(x) * 1.5

        class Bounded(small_models.MLP):
            def forward(self, x):
                return self.down_proj(self.act_fn(self.gate_proj(x).clamp(max=7)) * self.up_proj(x))

        for made in (Scaled, Bounded):
            left = self.patched(small_models.model(mlp=made))["left"]
            self.assertEqual(left["layers.1.mlp"], "they compute something else than down(f(gate(x)) * up(x))")
        clipped = small_models.model(act_fn=lambda x: torch.nn.functional.silu(x).clamp(-10, 10))
        self.assertIn("layers.0.mlp", self.patched(clipped)["left"])

    def test_an_epsilon_of_the_norm_reaches_the_kernel(self) -> None:
        models = (small_models.model(norm=lambda width: small_models.RMSNorm(width, 0.5)), small_models.bert())
        for norm in models[1].modules():
            if isinstance(norm, torch.nn.LayerNorm):
                norm.eps = 0.5
        for model, names in zip(models, ({"add_norm": 4, "norm": 1}, {"add_mean_norm": 4, "mean_norm": 2})):
            with Computed() as library:
                want = logits(model)
                self.patched(model, kinds=("norm", "residual_norm"))
                self.close(logits(model), want)
                self.assertEqual(library.count(), names)

    def test_a_kernel_of_one_epsilon_serves_norms_that_have_it(self) -> None:
        params = next(one for one in ops()._library.operators if one.name == "norm").description["params"]
        try:
            params["any_epsilon"] = 0
            answer = self.patched(small_models.model(norm=lambda width: small_models.RMSNorm(width, 1e-5)))
            self.assertEqual(answer["left"]["norm"],
                             "their epsilon is 1e-05, and that of norm 1e-06: it was built without any_epsilon")
            self.assertIn("residual_norm", answer["served"]["layers.0"])
            self.assertIn("norm", self.patched(small_models.llama())["served"]["norm"])
        finally:
            params["any_epsilon"] = 1

    def test_linear_layers_of_other_sizes_are_left_unless_asked_for(self) -> None:
        model = small_models.llama()
        self.assertEqual(ops().patch(model)["left"]["lm_head"], "the library has no shape of product with their N and K")
        self.assertNotIn("lm_head", ops().patch(model)["served"])
        with self.assertRaisesRegex(ValueError, "no kind 'head'; expected norm, residual_norm"):
            ops().patch(model, kinds=("head",))

    def test_parts_that_are_replaced_or_listened_to_later_are_respected(self) -> None:
        with Computed() as library:
            model = small_models.llama()
            self.patched(model, kinds=("swiglu", "residual_norm"))
            heard = []
            model.layers[0].mlp.up_proj.register_forward_hook(lambda *given: heard.append("up"))
            model.layers[1].post_attention_layernorm.register_forward_hook(lambda *given: heard.append("norm"))

            class Adapter(torch.nn.Module):
                def __init__(self, inside):
                    super().__init__()
                    self.inside = inside

                def forward(self, x):
                    return 2 * self.inside(x)

            model.layers[1].mlp.gate_proj = Adapter(model.layers[1].mlp.gate_proj)
            got = logits(model)
            self.assertEqual((heard, library.count()), (["up", "norm"], {"add_norm": 3}))
            ops().unpatch(model)
            self.close(got, logits(model))

    def test_a_copy_has_weights_of_its_own_and_a_pickled_model_its_own_code(self) -> None:
        with Computed():
            model = small_models.gemma()
            self.patched(model)
            logits(model)
            other = copy.deepcopy(model)
            with torch.no_grad():
                for weight in other.parameters():
                    weight.mul_(1.25)
            got = logits(other)
            ops().unpatch(other)
            self.close(got, logits(other))
        with Computed() as library:
            model = small_models.llama()
            self.patched(model)
            other = copy.deepcopy(model)
            with torch.no_grad():
                for weight in other.parameters():
                    weight.mul_(1.25)
            got, calls = logits(other), library.count()
            self.assertEqual(calls["mlp"], 2)
            ops().unpatch(other)
            self.close(got, logits(other))
        model = small_models.llama()
        want = logits(model)
        self.patched(model)
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        self.assertTrue(torch.equal(logits(torch.load(file, weights_only=False)), want))

    def test_decorators_around_a_forward_stay(self) -> None:
        called = []

        def decorated(function):
            def wrapper(self, *given, **named):
                called.append(type(self).__name__)
                return function(self, *given, **named)

            return functools.update_wrapper(wrapper, function)

        kinds = (small_models.Attention, small_models.DecoderLayer)
        plain = [kind.forward for kind in kinds]
        try:
            for kind in kinds:
                kind.forward = decorated(decorated(kind.forward))
            with Computed() as library:
                model = small_models.llama()
                want = logits(model)
                self.patched(model, kinds=("residual_norm", "rope"))
                called.clear()
                self.close(logits(model), want)
                self.assertEqual(library.count(), {"add_norm": 4, "rope": 2})
                self.assertEqual(called, ["DecoderLayer"] * 2 + ["Attention"] * 2 + ["DecoderLayer"] * 2 + ["Attention"] * 2)
        finally:
            for kind, forward in zip(kinds, plain):
                kind.forward = forward

    def test_weights_with_a_mind_of_their_own_are_the_models_own_code(self) -> None:
        class Doubled(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, given=(), named=None):
                plain = [one.as_subclass(torch.Tensor) * 2 if isinstance(one, cls) else one for one in given]
                return function(*plain, **(named or {}))

        model = small_models.llama()
        self.patched(model)
        ops()._library.assume_device(0)
        try:
            layer = model.layers[0].mlp.down_proj
            del layer.weight
            layer.weight = torch.ones(4, 4).bfloat16().as_subclass(Doubled)
            self.assertEqual(layer(torch.ones(1, 4).bfloat16()).tolist(), [[8.0] * 4])
        finally:
            ops()._library.assume_device(-1)
            ops()._library.assumed = False

    def test_unpatch_gives_every_module_its_own_code_back(self) -> None:
        model = small_models.llama()
        before = {path: set(module.__dict__) for path, module in model.named_modules()}
        self.patched(model)
        ops().unpatch(model)
        self.assertEqual({path: set(module.__dict__) for path, module in model.named_modules()}, before)

    def test_gradients_are_those_of_the_models_own_code(self) -> None:
        def gradients(model):
            model(TOKENS).float().square().mean().backward()
            return [one.grad for one in model.parameters()]

        for make in (small_models.llama, small_models.gemma):
            model = make()
            self.patched(model)
            for got, want in zip(gradients(model), gradients(make())):
                self.assertTrue(torch.equal(got, want))

    def test_weights_that_change_are_seen(self) -> None:
        for make in (small_models.llama, small_models.gemma):
            with Computed():
                model = make()
                self.patched(model)
                logits(model)
                with torch.no_grad():
                    for weight in model.parameters():
                        weight.mul_(0.5)
                got = logits(model)
                ops().unpatch(model)
                self.close(got, logits(model))

    def test_a_raised_weight_is_made_once_and_anew_in_its_place(self) -> None:
        norm = small_models.GemmaRMSNorm(small_models.WIDTH).bfloat16()
        with Computed(), torch.no_grad():
            self.patched(norm, kinds=("norm",))
            raised = norm._alphakernel["raised"]

            def current(weight):
                made = raised.of(weight)
                self.assertTrue(torch.equal(made, weight + 1))
                return made

            first = current(norm.weight)
            self.assertIs(current(norm.weight), first)
            norm.weight.mul_(0.5)
            self.assertIs(current(norm.weight), first)  # a graph that was captured reads it there
            norm.weight.data = norm.weight.data.clone().mul_(3)
            self.assertIs(current(norm.weight), first)
            norm.weight = torch.nn.Parameter(norm.weight.detach().clone().mul_(2))
            self.assertIs(current(norm.weight), first)
            self.assertIsNot(current(norm.weight.float()), first)
            with torch.inference_mode():
                current(norm.weight)
                current(norm.weight.clone())
        with torch.enable_grad():
            self.assertTrue(raised.of(norm.weight).requires_grad)
        self.assertIsNot(copy.deepcopy(norm)._alphakernel["raised"], raised)

    def test_forgetting_prepared_weights_forgets_raised_ones(self) -> None:
        norm = small_models.GemmaRMSNorm(small_models.WIDTH).bfloat16()
        with Computed(), torch.no_grad():
            self.patched(norm, kinds=("norm",))
            raised = norm._alphakernel["raised"]
            first = raised.of(norm.weight)
            norm.weight.data.mul_(2)  # which PyTorch does not count
            ops().forget_prepared()
            self.assertTrue(torch.equal(raised.of(norm.weight), norm.weight + 1))
            self.assertIs(raised.of(norm.weight), first)

    def test_another_stream_waits_for_a_raised_weight_once(self) -> None:
        norm = small_models.GemmaRMSNorm(small_models.WIDTH).bfloat16()
        library, now, waits = ops()._library, [1], []
        with Computed(), torch.no_grad():
            try:
                library.stream, library.prepared_elsewhere = lambda device: now[0], lambda device, stream, memory: waits.append((now[0], stream))
                self.patched(norm, kinds=("norm",))
                raised = norm._alphakernel["raised"]
                for now[0] in (1, 2, 1, 2):
                    raised.of(norm.weight)
                norm.weight.mul_(2)
                now[0] = 1
                raised.of(norm.weight)
            finally:
                library._set_up()
        self.assertEqual(waits, [(2, 1), (1, 2)])  # what is made anew lands in memory that stream 2 may still read

    def test_angles_are_brought_into_form_once_and_again_when_they_change(self) -> None:
        with Computed() as library:
            model = small_models.llama()
            self.patched(model, kinds=("rope",))
            attention = model.layers[0].self_attn
            x = torch.randn(2, 12, small_models.WIDTH).bfloat16()
            with torch.no_grad():
                cos, sin = model.rotary_emb(x, torch.arange(12)[None])
                attention(x, (cos, sin))
                self.assertEqual(library.count(), {"rope": 1})
                cos.mul_(0.5)
                got = attention(x, (cos, sin))
                other = attention(x, (sin, sin))
                self.assertEqual(library.count(), {"rope": 1})
                ops().unpatch(model)
                self.assertTrue(torch.equal(got, attention(x, (cos, sin))))
                self.assertTrue(torch.equal(other, attention(x, (sin, sin))))

    def test_every_position_of_a_batch_has_its_angle(self) -> None:
        with Computed() as library:
            model = small_models.llama()
            x = torch.randn(2, 12, small_models.WIDTH).bfloat16()
            for positions in (torch.arange(5, 17)[None], torch.stack((torch.arange(12), torch.arange(30, 42)))):
                with torch.no_grad():
                    ops().unpatch(model)
                    want = model.layers[0].self_attn(x, model.rotary_emb(x, positions))
                    self.patched(model, kinds=("rope",))
                    self.close(model.layers[0].self_attn(x, model.rotary_emb(x, positions)), want)
            self.assertEqual(library.count(), {"rope": 2})


class TupleLayer(small_models.DecoderLayer):
    """As earlier versions give it: a tuple, perhaps with more."""

    def forward(self, hidden_states, position_embeddings=None, more=False):
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        hidden_states = self.self_attn(hidden_states, position_embeddings)
        hidden_states = residual + hidden_states
        residual = hidden_states
        hidden_states = self.post_attention_layernorm(hidden_states)
        hidden_states = self.mlp(hidden_states)
        hidden_states = residual + hidden_states
        outputs = (hidden_states,)
        if more:
            outputs += (residual,)
        return outputs


class TupleModel(small_models.Model):
    def forward(self, input_ids):
        hidden_states = self.embed_tokens(input_ids)
        angles = self.rotary_emb(hidden_states, torch.arange(input_ids.shape[1])[None])
        every = ()
        for layer in self.layers[: len(self.layers)]:
            every += (hidden_states,)
            layer_outputs = layer(hidden_states, angles, more=True)
            hidden_states = layer_outputs[0]
        hidden_states = self.norm(hidden_states)
        self.every = every + (hidden_states,)
        return self.lm_head(hidden_states)


class ScaledLayer(small_models.DecoderLayer):
    """What it gives is no sum."""

    def forward(self, hidden_states, position_embeddings=None):
        return 0.5 * super().forward(hidden_states, position_embeddings)


class ClampedLayer(TupleLayer):
    def forward(self, hidden_states, position_embeddings=None, more=False):
        residual = hidden_states
        hidden_states = residual + self.self_attn(self.input_layernorm(hidden_states), position_embeddings)
        residual = hidden_states
        hidden_states = self.post_attention_layernorm(hidden_states)
        hidden_states = residual + self.mlp(hidden_states)
        if hidden_states.dtype is torch.bfloat16:
            hidden_states = hidden_states.clamp(-2, 2)
        return hidden_states


class SkippingModel(small_models.Model):
    """Its loop is none that is known."""

    def forward(self, input_ids):
        hidden_states = self.embed_tokens(input_ids)
        angles, at = self.rotary_emb(hidden_states, torch.arange(input_ids.shape[1])[None]), 0
        while at < len(self.layers):
            hidden_states, at = self.layers[at](hidden_states, angles), at + 1
        return self.lm_head(self.norm(hidden_states))


class NextNormTest(unittest.TestCase):
    """The sum at the end of a layer and the norm of what comes behind it as one operator."""

    JOINED, APART = {"add_norm": 4, "norm": 1}, {"add_norm": 2, "norm": 3}

    def model(self, layer=None, whole=None, **options):
        model = small_models.model(**options)
        model.__class__ = whole or type(model)
        for one in model.layers:
            one.__class__ = layer or type(one)
        return model

    def patched(self, model):
        return ops().patch(model, kinds=("norm", "residual_norm"))

    def compared(self, model, change=lambda model: None, run=logits):
        """Calls of a patched model that computes what it did; change is made before and after."""
        with Computed() as library:
            self.patched(model)
            change(model)
            got = run(model)
            calls = library.count()
            ops().unpatch(model)
            want = run(model)
        self.assertLess((got.double() - want.double()).abs().max(), 0.03 * want.double().abs().max())
        return calls

    def test_what_layers_give_may_be_the_first_of_several(self) -> None:
        self.assertEqual(self.compared(self.model()), self.JOINED)
        model = self.model(TupleLayer, TupleModel)
        self.assertEqual(self.compared(model), self.JOINED)
        with Computed() as library:
            logits(model)
            want = model.every
            self.patched(model)
            logits(model)
            self.assertEqual(library.count(), self.JOINED)
            for got, one in zip(model.every, want):  # sums, and not their norms
                self.assertLess((got - one).double().abs().max(), 0.03 * one.double().abs().max())

    def test_where_it_is_not_known_what_comes_behind_a_layer_its_sum_stays(self) -> None:
        self.assertEqual(self.compared(self.model(whole=SkippingModel)), self.APART)
        self.assertEqual(self.compared(self.model(ScaledLayer)), {"norm": 5})
        self.assertEqual(self.compared(self.model(ClampedLayer)), self.APART)
        model = self.model()
        model.norm = torch.nn.LayerNorm(small_models.WIDTH).bfloat16()
        self.assertEqual(self.compared(model), {"add_mean_norm": 1, "add_norm": 3, "norm": 1})
        model.norm = torch.nn.Identity()
        self.assertEqual(self.compared(model), {"add_norm": 3, "norm": 1})

    def test_hooks_of_layers_and_norms_see_and_change_what_they_always_do(self) -> None:
        def twice(*given):
            return 2 * given[-1]

        def in_place(*given):
            given[-1].mul_(2)

        def norms(model):
            model.layers[1].input_layernorm.register_forward_hook(twice)
            model.norm.register_forward_pre_hook(lambda module, given: (2 * given[0],))

        for hook, calls in ((twice, {"add_norm": 4, "norm": 3}), (in_place, {"add_norm": 4, "norm": 3})):
            for guard in (torch.no_grad, torch.inference_mode):
                def changed(model):
                    for layer in model.layers:
                        layer.register_forward_hook(hook)

                def run(model):
                    with guard():
                        return model(TOKENS)

                with self.subTest(hook=hook.__name__, guard=guard.__name__):
                    self.assertEqual(self.compared(self.model(), changed, run), calls)
        self.assertEqual(self.compared(self.model(), norms), {"add_norm": 4, "norm": 2})
        seen = []
        with Computed():
            model = self.model()
            self.patched(model)
            model.layers[1].input_layernorm.register_forward_hook(lambda module, given, y: seen.append((given[0], y)))
            logits(model)
            (total, normed), = seen
            self.assertLess((normed - type(model.norm).forward(model.layers[1].input_layernorm, total)).abs().max(), 0.05)

    def test_in_inference_mode_norms_are_made_ahead_too(self) -> None:
        def run(model):
            with torch.inference_mode():
                return model(TOKENS)

        for norm in (small_models.RMSNorm, small_models.GemmaRMSNorm):
            self.assertEqual(self.compared(self.model(norm=norm), run=run), self.JOINED)

    def test_a_norm_is_made_ahead_for_the_call_that_follows_alone(self) -> None:
        model = self.model()
        x = torch.randn(2, 12, small_models.WIDTH).bfloat16()
        with Computed() as library, torch.no_grad():
            self.patched(model)
            angles = model.rotary_emb(x, torch.arange(12)[None])
            norm = model.layers[1].input_layernorm

            def total():
                made = model.layers[0](x, angles)
                library.calls.clear()
                return made

            def own(change):
                """Whether the norm computes itself after a change."""
                made = total()
                change(made)
                norm(made)
                return library.calls == ["norm"]

            self.assertFalse(own(lambda made: None))
            self.assertTrue(own(norm))  # the second time
            self.assertTrue(own(lambda made: made.add_(0)))
            self.assertTrue(own(lambda made: norm.weight.mul_(1)))
            norm(total().clone())
            self.assertEqual(library.calls, ["norm"])
            made = total()
            model.norm(made)
            self.assertEqual(library.calls, ["norm"])
            self.assertIsNotNone(ops()._library.ahead._kept)
            del made
            self.assertIsNone(ops()._library.ahead._kept)
            made = total()
            with torch.enable_grad():
                self.assertTrue(type(norm).forward(norm, made).requires_grad)
                norm(made)
            self.assertEqual(library.calls, ["norm"])

    def test_a_capture_that_nobody_can_number_is_like_no_other(self) -> None:
        capture_of = importlib.import_module(f"{ops().__name__}._patch")._capture_of
        self.assertNotEqual(capture_of(0), capture_of(0))

    def test_a_norm_that_is_replaced_later_or_does_not_fit_is_not_made_ahead(self) -> None:
        def replaced(model):
            model.layers[1].input_layernorm.forward = lambda x: x * 2

        def gone(model):
            model.layers[1] = torch.nn.Identity()
            model.layers[1].forward = lambda x, angles: x

        self.assertEqual(self.compared(self.model(), replaced), {"add_norm": 3, "norm": 1})
        self.assertEqual(self.compared(self.model(), gone)["norm"], 2)
        for weight in (torch.ones(2 * small_models.WIDTH), torch.ones(small_models.WIDTH, device="meta")):
            with Computed() as library:
                model = self.model()
                self.patched(model)
                model.layers[1].input_layernorm.weight = torch.nn.Parameter(weight.bfloat16())
                x = torch.randn(2, 12, small_models.WIDTH).bfloat16()
                with torch.no_grad():
                    model.layers[0](x, model.rotary_emb(x, torch.arange(12)[None]))
                self.assertEqual(library.count(), {"add_norm": 1, "norm": 1})

    def test_copies_have_norms_of_their_own(self) -> None:
        with Computed() as library:
            model = self.model()
            self.patched(model)
            other = copy.deepcopy(model)
            self.assertIs(other.layers[0]._alphakernel["next"], other.layers[1].input_layernorm)
            self.assertIs(other.layers[1]._alphakernel["next"], other.norm)
            logits(other)
            self.assertEqual(library.count(), self.JOINED)

    def test_without_an_operator_for_norms_alone_those_behind_sums_are_joined(self) -> None:
        with Computed() as library:
            model = self.model()
            answer = ops().patch(model, kinds="residual_norm")
            self.assertEqual(answer["served"], {f"layers.{i}": ["residual_norm"] for i in range(2)})
            logits(model)
            self.assertEqual(library.count(), {"add_norm": 4})

    def test_a_graph_does_not_take_what_was_made_outside_of_it(self) -> None:
        model = self.model()
        x = torch.randn(2, 12, small_models.WIDTH).bfloat16()
        with Computed() as library, torch.no_grad():
            self.patched(model)
            made = model.layers[0](x, model.rotary_emb(x, torch.arange(12)[None]))
            library.calls.clear()
            facts = ops()._library.ahead._facts(model.layers[1].input_layernorm, made)
            with unittest.mock.patch.object(type(ops()._library.ahead), "_facts", lambda *given: [*facts, 0, True]):
                model.layers[1].input_layernorm(made)
            self.assertEqual(library.calls, ["norm"])


def texts_of_a_cache(model, cache, tokens=(12, 1, 1, 3, 9)):
    """Logits of texts that are read one behind the other."""
    got = []
    with torch.no_grad():
        for number in tokens:
            got.append(model((torch.arange(2 * number) * 7 % 100).view(2, number), past_key_values=cache).logits)
    return got


class ActivationTest(unittest.TestCase):
    """A product and the activation behind it as one operator."""

    def setUp(self):
        self.x = torch.randn((2, 3, 64), generator=torch.Generator().manual_seed(3)).bfloat16()

    def patched(self, module):
        return ops().patch(module, every_shape=True, kinds=("linear_activation",))

    def compared(self, module):
        """The operators that a patched module calls, which computes what it did; and what is left of it."""
        module = module.bfloat16().eval()
        with Computed() as library, torch.no_grad():
            want = module(self.x)
            left = self.patched(module)["left"]
            got = module(self.x)
        self.assertLess((got - want).double().abs().max(), 0.02 * want.double().abs().max())
        return library.calls, left

    def test_one_product_and_two_are_known_by_what_they_have(self) -> None:
        class Wide(torch.nn.Module):
            def __init__(self, activation, second=True):
                super().__init__()
                self.c_fc, self.function = torch.nn.Linear(64, 96), activation
                if second:
                    self.c_proj = torch.nn.Linear(96, 64, bias=False)

            def forward(self, hidden_states):
                y = self.function(self.c_fc(hidden_states))
                return self.c_proj(y) if hasattr(self, "c_proj") else y

        gelu = torch.nn.functional.gelu
        for module in (Wide(gelu), Wide(torch.nn.GELU(), second=False), Wide(lambda x: x * 0.5 * (1 + torch.erf(x / 2 ** 0.5))),
                       torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.GELU(), torch.nn.Dropout(0.5))):
            self.assertEqual(self.compared(module), (["biased_gelu"], {}))
        for function, word in ((torch.nn.Tanh(), "their activation"), (torch.nn.GELU(approximate="tanh"), "gelu_tanh"),
                               (torch.nn.ReLU(), "relu")):
            self.assertEqual(self.compared(Wide(function)), ([], {"": f"the library has no linear of torch.bfloat16 with {word}"}))

    def test_what_computes_something_else_is_left(self) -> None:
        class Clipped(encoder_models.Intermediate):
            def forward(self, hidden_states):
                return self.intermediate_act_fn(self.dense(hidden_states)).clamp(max=20)

        class First(encoder_models.Intermediate):
            def forward(self, hidden_states):
                return self.intermediate_act_fn(self.dense(hidden_states[:, 0]))

        for kind in (Clipped, First):
            left = self.patched(kind(torch.nn.functional.gelu).bfloat16())["left"]
            self.assertEqual(left, {"": "they compute something else than the activation of a product"})
        bare = encoder_models.Intermediate(torch.nn.functional.gelu)
        bare.dense.bias = None
        self.assertEqual(self.patched(bare.bfloat16()), {"served": {}, "left": {}})

    def test_a_model_that_trains_is_tried_without_dropout_and_goes_on_training(self) -> None:
        module = encoder_models.FFN(torch.nn.GELU()).bfloat16()
        module.lin2.eval()
        state = torch.get_rng_state()
        self.assertEqual(self.patched(module), {"served": {"": ["linear_activation"]}, "left": {}})
        self.assertTrue(torch.equal(torch.get_rng_state(), state))
        self.assertEqual((module.training, module.lin1.training, module.lin2.training), (True, True, False))

    def test_who_listens_to_all_modules_hears_parts_too(self) -> None:
        module, heard = encoder_models.FFN(torch.nn.GELU()).bfloat16().eval(), []
        with Computed() as library, torch.no_grad():
            self.patched(module)
            hook = torch.nn.modules.module.register_module_forward_hook(lambda one, given, made: heard.append(one))
            module(self.x.repeat(1, 1, 2))
            hook.remove()
            self.assertIn(module.lin1, heard)
            self.assertEqual(library.calls, [])

    def test_parts_that_change_later_and_dropout_are_the_models_own(self) -> None:
        def relu(module):
            module.activation = torch.nn.ReLU()

        def heard(module):
            module.activation.register_forward_hook(lambda *given: -given[2])

        def trained(module):
            module.train()

        self.x = self.x.repeat(1, 1, 2)
        for change, calls in ((lambda module: None, 1), (relu, 0), (heard, 0), (trained, 0)):
            with Computed() as library, torch.no_grad():
                module = encoder_models.FFN(torch.nn.GELU()).bfloat16().eval()
                self.assertEqual(self.patched(module)["served"], {"": ["linear_activation"]})
                module = copy.deepcopy(module)
                change(module)
                torch.manual_seed(1)
                got = module(self.x)
                self.assertEqual(len(library.calls), calls)
                ops().unpatch(module)
                torch.manual_seed(1)
                self.assertTrue(torch.allclose(got, module(self.x), rtol=0.05, atol=0.01))

    def test_on_a_device_kernels_are_launched(self) -> None:
        made_up_driver()
        code = "import torch, encoder_models, patch_ops\npatch_ops._library.assume_device(0)\nfor activation in ('none', 'tanh'):\n" \
            "    model = encoder_models.bert(torch.nn.GELU(approximate=activation))\n" \
            "    patch_ops.patch(model, every_shape=True)\n    with torch.no_grad(): model(torch.zeros(2, 12).long())\n" \
            "    print(sorted({name for name, _ in patch_ops.served}))"
        names = ["add_mean_norm", "biased", "biased_gelu", "mean_norm", "whole_text"]
        self.assertEqual(launched(code), f"{names}\n{sorted(names + ['tanh_gelu'])}\n")


class PlanTest(unittest.TestCase):
    """A library of a plan's operators serves the modules of the model that the plan is for, and has no other operators."""

    DECODER = {"hidden_size": cached_models.WIDTH, "num_hidden_layers": 2, "num_attention_heads": cached_models.HEADS,
               "num_key_value_heads": cached_models.KV_HEADS, "head_dim": 64, "intermediate_size": cached_models.INNER,
               "vocab_size": 100, "rms_norm_eps": 1e-6}
    ENCODER = {"hidden_size": encoder_models.WIDTH, "num_attention_heads": encoder_models.HEADS, "num_hidden_layers": 2,
               "intermediate_size": encoder_models.INNER, "vocab_size": encoder_models.WORDS,
               "max_position_embeddings": encoder_models.PLACES, "layer_norm_eps": 1e-12}
    ROWS = (torch.nn.Linear, torch.nn.LayerNorm, torch.nn.Embedding, small_models.RMSNorm)

    def planned(self, config, prompt=12, context=32, *flags):
        """The rows of a plan of 2 sequences."""
        path = os.path.join(WORK.name, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**config, "dtype": "bfloat16"}, file)
        run = subprocess.run([PROGRAM, "library", "plan", path, "--batch", "2", "--prompt", str(prompt), "--context", str(context),
                              "--json", *flags], stdout=subprocess.PIPE, check=True, text=True, env=ENVIRONMENT)
        return json.loads(run.stdout)["operators"]

    @contextlib.contextmanager
    def library_of(self, rows):
        """Of all operators those that the plan has, made for its shapes; {place of a row: operator}."""
        every, found = ops()._library.operators, {}
        for number, row in enumerate(rows):
            same = [one for one in every if (one.description["algorithm"], one.description["params"]) == (row["algorithm"], row["params"])]
            self.assertEqual(len(same), 1, f"KERNELS has no {row['algorithm']} of {row['params']}")
            found[number] = same[0]
        with contextlib.ExitStack() as stack, Computed() as library:
            for one in found.values():
                shapes = [row["axes"] for number, row in enumerate(rows) if found[number] is one]
                stack.enter_context(unittest.mock.patch.dict(one.description, {"plan_shapes": shapes, "shapes": []}))
            stack.enter_context(unittest.mock.patch.object(ops()._library, "operators", list(set(found.values()))))
            yield library, found

    def unserved(self, model, answer):
        """Modules whose work no operator does: products, norms, tables, attention, and products with an activation."""
        served, modules = answer["served"], dict(model.named_modules())
        joined = [path for path, kinds in served.items() if {"swiglu", "linear_activation"} & set(kinds)]
        rows = [path for path, one in modules.items() if type(one) in self.ROWS and path not in served]
        rest = [path for path in rows if path.rpartition(".")[0] not in joined]
        for path, one in modules.items():
            name = type(one).__name__
            if name.endswith("Attention") and hasattr(one, "config") and "attention" not in served.get(path, ()):
                rest.append(path)
            if name in ("MLP", "MergedMLP", "FFN", "Intermediate") and path not in joined:
                rest.append(path)
            if name in ("DecoderLayer", "DropoutLayer", "NormedLayer", "DistilLayer", "Output") and "residual_norm" not in served.get(path, ()):
                rest.append(path)
        return rest

    def calls(self, library, found, rows):
        """{operator and sizes: (calls that the plan has, calls that there were)}"""
        expected = {}
        for number, row in enumerate(rows):
            # A table of angles is as long as the caller makes it.
            key = found[number].name, *sorted((axis, size) for axis, size in row["axes"].items() if axis != "P")
            expected[key] = expected.get(key, 0) + row["count"]
        return {(name, *axes): (count, sum(one == name and all(sizes[axis] == size for axis, size in axes)
                                           for one, sizes in zip(library.calls, library.sizes)))
                for (name, *axes), count in expected.items()}

    def agree(self, config, model, run, *lengths):
        rows = self.planned(config, *lengths)
        with self.library_of(rows) as (library, found), torch.no_grad():
            want = run(model)
            answer = ops().patch(model, kinds=all_kinds())
            self.assertEqual(self.unserved(model, answer), [])
            self.assertEqual(answer["left"], {})
            got = run(model)
            for one, other in zip(got, want):
                self.assertLess((one - other).double().abs().max(), 0.05 * other.double().abs().max())
            self.assertEqual({key: two for key, two in self.calls(library, found, rows).items() if two[0] != two[1]}, {})

    def test_under_torch_compile_models_call_what_a_plan_for_it_has(self) -> None:
        def decoded(model):
            cache = cached_models.StaticCache(model.config, 32)
            return [model(tokens, past_key_values=cache, logits_to_keep=1).logits for tokens in (TOKENS, TOKENS[:, :1])]

        kinds = [one for one in all_kinds() if one not in ("rope", "attention")]
        for kind, config, model, run in (
                ("llama", self.DECODER, cached_models.model(), decoded),
                ("phi3", self.DECODER, cached_models.model(merged=True), decoded),
                ("bert", {**self.ENCODER, "type_vocab_size": 2}, encoder_models.bert(), lambda model: model(TOKENS))):
            rows = self.planned({"model_type": kind, **config}, 12, 32, "--compiled")
            other = {row["operator"] for row in rows if row["algorithm"] == "other"}
            self.assertEqual(other, {"attention"} if kind == "bert" else {"attention", "rope"})
            rows = [row for row in rows if row["algorithm"] != "other"]
            # This PyTorch may have no torch.compile: the test says that it traces.
            with self.subTest(kind), self.library_of(rows) as (library, found), torch.no_grad(), \
                    unittest.mock.patch.object(ops()._library, "compiling", lambda: True):
                self.assertEqual(ops().patch(model, kinds=kinds)["left"], {})
                run(model)
                self.assertEqual({key: two for key, two in self.calls(library, found, rows).items() if two[0] != two[1]}, {})

    def test_decoders_call_what_their_plan_has(self) -> None:
        def run(model):
            cache = cached_models.StaticCache(model.config, 32)
            return [model(tokens, past_key_values=cache, logits_to_keep=1).logits for tokens in (TOKENS, TOKENS[:, :1])]

        for kind, options in (("llama", {}), ("qwen2", {"bias": True}), ("qwen3", {"qk_norm": True}), ("phi3", {"merged": True})):
            with self.subTest(kind):
                self.agree({"model_type": kind, **self.DECODER}, cached_models.model(**options), run)

    def test_layers_with_a_window_call_what_their_plan_has(self) -> None:
        tokens = torch.arange(48).view(2, 24) * 7 % 100
        for cache, room in ((lambda config: cached_models.StaticCache(config, 32), 32), (cached_models.DynamicCache, 25)):
            for kind, options in (("mistral", {}), ("phi3", {"merged": True}), ("gemma2", {"full_layers": (1,), "post_norms": True})):
                def run(model):
                    kept = cache(model.config)
                    return [model(one, past_key_values=kept, logits_to_keep=1).logits for one in (tokens, tokens[:, :1])]

                with self.subTest(kind):
                    act = {"hidden_activation": "gelu_pytorch_tanh"} if kind == "gemma2" else {}
                    self.agree({"model_type": kind, "sliding_window": 16, **self.DECODER, **act},
                               cached_models.model(sliding_window=16, **options), run, 24, room)

    def test_encoders_call_what_their_plan_has(self) -> None:
        for kind, model in (("bert", encoder_models.bert()), ("distilbert", encoder_models.distilbert())):
            with self.subTest(kind):
                types = {"type_vocab_size": 2} if kind == "bert" else {}
                self.agree({"model_type": kind, **self.ENCODER, **types}, model, lambda model: [model(TOKENS)])

    def test_an_activation_that_no_product_takes_is_an_operator_of_its_own(self) -> None:
        rows = self.planned({"model_type": "bert", **self.ENCODER, "hidden_act": "gelu_new"})
        self.assertIn("mlp_activation", [row["operator"] for row in rows])
        model = encoder_models.bert(torch.nn.GELU(approximate="tanh"))
        with self.library_of(rows) as (library, found), torch.no_grad():
            answer = ops().patch(model, kinds=all_kinds())
            model(TOKENS)
            self.assertEqual(answer["left"], {f"layer.{i}.intermediate": "the library has no linear of torch.bfloat16 with gelu_tanh"
                                              for i in range(2)})
            self.assertEqual([key for key, two in self.calls(library, found, rows).items() if two[0] != two[1]], [])


class OutsideTest(unittest.TestCase):
    """Operators that no module calls, as docs/kernel_library.md says that programs call them."""

    def test_means_of_a_models_tokens_are_embeddings_of_sentences(self) -> None:
        mask = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1], [1, 0, 0, 0]])
        x = torch.randn((3, 4, 64), generator=torch.Generator().manual_seed(1)).bfloat16()
        mean = (x.float() * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        got = ops().sentences(x, mask.sum(1, dtype=torch.int32))
        self.assertLess((got.float() - torch.nn.functional.normalize(mean)).abs().max(), 0.01)

    def test_tokens_are_drawn_from_those_that_make_up_the_mass(self) -> None:
        generator = torch.Generator().manual_seed(1)
        probabilities = torch.tensor([0.05, 0.5, 0.0, 0.3, 0.15]).expand(4000, 5).contiguous()
        random = torch.randint(-2 ** 31, 2 ** 31, (4000,), generator=generator).int()
        drawn = ops().draw(probabilities, torch.full((4000,), 0.7), random)
        share = torch.bincount(drawn.long(), minlength=5) / 4000
        for got, want in zip(share.tolist(), (0, 0.625, 0, 0.375, 0)):
            self.assertAlmostEqual(got, want, delta=0.05 if want else 0)

    def test_a_cache_in_pages_gets_new_tokens_in_its_own_memory(self) -> None:
        k, v = torch.randn(2, 3, 2, 64).bfloat16()
        caches = torch.randn(2, 4, 16, 2, 64).bfloat16()
        want, slots = caches.clone(), torch.tensor([5, 40, -1], dtype=torch.int32)
        for cache, new in zip(want, (k, v)):
            cache.view(64, 2, 64)[[5, 40]] = new[:2]
        self.assertTrue(all(map(torch.equal, ops().append(k, v, *caches, slots, 1), want)))
        self.assertFalse(torch.equal(caches, want))
        self.assertIsNone(ops().append_(k, v, *caches, slots, 1))
        self.assertTrue(torch.equal(caches, want))


LEARNS = unittest.skipUnless(hasattr(torch.library, "register_autograd"), "this PyTorch has no operators that learn")


class AttentionTest(unittest.TestCase):
    def close(self, got, want):
        for one, other in zip(got, want):
            self.assertLess(((one.double() - other.double()).square().mean() / other.double().square().mean()).sqrt(), 0.02)

    def attention(self, **options):
        model = cached_models.model(**options)
        return model, ops().patch(model, kinds=("attention",))

    def compared(self, cache, tokens=(12, 1, 1, 3, 9), **options):
        """Calls of a patched model, whose logits are those of its own code; cache makes one for a configuration."""
        with Computed() as library:
            model, _ = self.attention(**options)
            got = texts_of_a_cache(model, cache(model.config), tokens)
            calls = library.calls[:]
            ops().unpatch(model)
            self.close(got, texts_of_a_cache(model, cache(model.config), tokens))
        return calls

    def test_texts_and_tokens_behind_them_are_computed_by_kernels(self) -> None:
        calls = self.compared(lambda config: cached_models.StaticCache(config, 32))
        # The last text is longer than what the decode operator takes, and the cache's length is on the GPU.
        self.assertEqual(calls, ["whole_prompt"] * 2 + ["next_token"] * 6)
        calls = self.compared(cached_models.DynamicCache)
        self.assertEqual(calls, ["whole_prompt"] * 2 + ["next_token"] * 6 + ["learned_prompt"] * 2)

    def trained(self, model, call=lambda model: model(TOKENS).logits):
        """Gradients of all weights."""
        model.zero_grad(set_to_none=True)
        call(model).float().square().mean().backward()
        return [one.grad for one in model.parameters()]

    def test_gradients_are_computed_by_kernels_where_the_library_has_them(self) -> None:
        with Computed() as library:
            model, _ = self.attention()
            for deterministic, name in ((False, "any_prompt_back"), (True, "whole_prompt_back")):
                torch.use_deterministic_algorithms(deterministic)
                try:
                    got = self.trained(model)
                finally:
                    torch.use_deterministic_algorithms(False)
                self.assertEqual(library.calls, ["learned_prompt"] * 2 + [name] * 2)
                library.calls.clear()
            ops().unpatch(model)
            want = self.trained(model)
            self.assertTrue(all(one.abs().sum() > 0 for one in want))
            self.close(got, want)

    def test_without_kernels_for_gradients_the_models_own_code_computes_both_ways(self) -> None:
        every = ops()._library.operators
        try:
            ops()._library.operators = [one for one in every if one.description["algorithm"] != "attention_backward"]
            with Computed() as library:
                self.computes_itself(library)
        finally:
            ops()._library.operators = every
        with Computed() as library:
            library.refusals = {"any_prompt_back": "S is too small"}
            self.computes_itself(library)

    def computes_itself(self, library):
        model, _ = self.attention()
        got = self.trained(model)
        self.assertEqual(library.calls, [])
        ops().unpatch(model)
        self.assertTrue(all(map(torch.equal, got, self.trained(model))))

    def test_a_gradient_that_no_kernel_takes_is_pytorchs(self) -> None:
        with Computed() as library:
            model, _ = self.attention()
            attend = ops()._library.attention()
            q, k, v = (torch.randn(2, heads, 12, 64, dtype=torch.bfloat16, requires_grad=True) for heads in (4, 2, 2))
            plain = [one.detach().requires_grad_() for one in (q, k, v)]
            attend.backward = {kind: unittest.mock.Mock(return_value=None, operator=one.operator)
                               for kind, one in attend.backward.items()}
            made = attend.prefilled(q, k, v, True)
            seed = torch.randn_like(made)
            got = torch.autograd.grad(made, (q, k, v), seed)
            keys, values = (one.double().repeat_interleave(2, 1) for one in plain[1:])
            scores = plain[0].double() @ keys.transpose(2, 3) / 8
            scores = scores.masked_fill(torch.ones(12, 12, dtype=torch.bool).triu(1), -float("inf"))
            want = torch.autograd.grad((scores.softmax(-1) @ values).transpose(1, 2), plain, seed.double())
            self.close(got, want)
            self.assertEqual(library.calls, ["learned_prompt"])

    def layer(self):
        """A layer, and a function that gives the gradients of its input and weights, or of another function in its place."""
        model = cached_models.model()
        layer = model.model.layers[0]
        x = torch.randn(2, 12, cached_models.WIDTH, dtype=torch.bfloat16)
        given = {"position_embeddings": model.model.rotary_emb(x, torch.arange(12)[None]), "attention_mask": None}

        def learned(call):
            own = x.clone().requires_grad_()
            layer.zero_grad(set_to_none=True)
            call(own, **given).float().square().mean().backward()
            return [own.grad, *[one.grad for one in layer.parameters()]]

        return layer, learned, x, given

    @LEARNS
    def test_under_torch_compile_a_layer_learns_with_kernels_where_it_has_no_mask(self) -> None:
        layer, learned, x, given = self.layer()
        want = learned(layer)
        ops().patch(layer, kinds=("attention",))
        for deterministic, back in ((False, "any_prompt_back"), (True, "whole_prompt_back")):
            with self.asked() as calls:
                torch.use_deterministic_algorithms(deterministic)
                try:
                    got = learned(torch.compile(layer, backend="aot_eager", fullgraph=True))
                finally:
                    torch.use_deterministic_algorithms(False)
            self.assertEqual(calls, ["learned_prompt", back])
            self.close(got, want)
        with self.asked() as calls, torch.no_grad():
            torch.compile(layer, backend="aot_eager", fullgraph=True)(x, **given)
            hidden = torch.ones(1, 1, 12, 12, dtype=torch.bool).tril()
            torch.compile(layer, backend="aot_eager")(x, **{**given, "attention_mask": hidden})
        self.assertEqual(calls, ["whole_prompt"])

    @LEARNS
    def test_under_torch_compile_pytorch_computes_a_shape_that_no_kernel_takes(self) -> None:
        layer, learned, x, given = self.layer()
        want = learned(layer)
        ops().patch(layer, kinds=("attention",))
        for refused in ("learned_prompt", "any_prompt_back"):
            for strict in (False, True):
                mode = unittest.mock.patch.object(ops()._library, "strict", strict)
                with mode, self.asked(**{refused: "S is too small"}) as calls:
                    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
                    if strict:
                        with self.assertRaisesRegex(Exception, "does not take the shape: S is too small"):
                            learned(compiled)
                    else:
                        self.close(learned(compiled), want)
                self.assertEqual(calls, [])
        with self.asked(any_prompt_back="S is too small") as calls, torch.no_grad():
            torch.compile(layer, backend="aot_eager", fullgraph=True)(x, **given)
        self.assertEqual(calls, ["whole_prompt"])
        with self.asked(learned_prompt="S is too small") as calls:  # a size that is known later alone is not asked about
            got = learned(torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=True))
        self.assertEqual(calls, ["learned_prompt", "any_prompt_back"])
        self.close(got, want)

    @LEARNS
    def test_under_torch_compile_transforms_are_of_the_models_own_code(self) -> None:
        layer, _, x, given = self.layer()

        def loss(x):
            return layer(x, **given).float().square().mean()

        def transformed():
            return [torch.func.grad(loss)(x), torch.func.vjp(loss, x)[1](torch.ones(()))[0], torch.vmap(loss)(x[:, None])]

        want = transformed()
        ops().patch(layer)
        with self.asked() as calls:
            got = torch.compile(transformed, backend="aot_eager")()
            self.assertEqual(calls, [])
            torch.compile(loss, backend="aot_eager")(x)  # another graph
        self.assertEqual(calls.count("learned_prompt"), 1)
        self.close(got, want)

    @LEARNS
    def test_forward_mode_derivatives_are_of_the_models_own_code(self) -> None:
        layer, _, x, given = self.layer()
        forward_ad, tangent = torch.autograd.forward_ad, torch.randn_like(x)
        layer.requires_grad_(False)  # compiled graphs with gradients have no forward-mode derivatives

        def derived(call):
            with forward_ad.dual_level():
                return [forward_ad.unpack_dual(call(forward_ad.make_dual(x, tangent), **given)).tangent]

        want = derived(layer)
        ops().patch(layer, kinds=("attention",))
        with self.asked() as calls:
            self.close(derived(layer), want)
            compiled = torch.compile(layer, backend="aot_eager")
            compiled(x, **given)
            calls.clear()
            self.close(derived(compiled), want)
            self.assertEqual(calls, [])

    @LEARNS
    def test_a_traced_call_without_operators_for_it_is_pytorchs(self) -> None:
        """As of a program that was exported and is called with another type, or with gradients."""
        traced, (q, k, v) = ops()._library.whole_texts.traced, self.heads()

        def wanted(q, k, v):
            keys, values = (one.repeat_interleave(2, 1) for one in (k, v))
            made = torch.nn.functional.scaled_dot_product_attention(q, keys, values, is_causal=causal)
            return made.transpose(1, 2)

        for causal, given in ((True, [one.detach().double() for one in (q, k, v)]), (False, [q, k, v])):
            with self.asked() as calls:
                self.close([traced(*given, causal)], [wanted(*given)])
                self.assertEqual(calls, [])

    def test_what_lies_as_an_operator_takes_it_is_not_copied_for_attention(self) -> None:
        with Computed() as library:
            attend, own = ops()._library.attention(), [torch.randn(2, 12, heads, 64).bfloat16() for heads in (4, 2, 2)]
            by_tokens = [one.transpose(1, 2) for one in own]  # as linear layers leave them
            q, k, v = (one.contiguous() for one in by_tokens)
            made = [attend.prefilled(*by_tokens, True), attend.prefilled(by_tokens[0], k, v, True), attend.prefilled(q, k, v, True),
                    attend.prefilled(by_tokens[0][:, :, -3:], k, v, True)]  # behind a cache, which keeps heads
            self.assertEqual(library.calls, ["whole_prompt"] * 2 + ["learned_prompt"] * 2)
            self.assertEqual({(one.is_contiguous(), *one.shape[::2]) for one in made}, {(True, 2, 4)})
            self.close([made[1], made[2], made[3]], [made[0], made[0], made[0][:, -3:]])

    def test_the_other_layout_is_tried_where_one_is_refused(self) -> None:
        q, k, v = (torch.randn(1, heads, 12, 64).bfloat16() for heads in (4, 2, 2))
        with Computed() as library:
            attend = ops()._library.attention()
            want = attend.prefilled(q, k, v, True)
            attend.prefill["heads"] = dict.fromkeys(attend.prefill["heads"], lambda *given: None)
            self.close([attend.prefilled(q, k, v, True)], [want])
            self.assertEqual(library.calls, ["learned_prompt", "whole_prompt"])

    def heads(self):
        """Queries, keys and values, of 4 and 2 heads."""
        return [torch.randn(1, heads, 12, 64, dtype=torch.bfloat16, requires_grad=True) for heads in (4, 2, 2)]

    @LEARNS
    def test_the_operators_of_pytorch_have_gradients_before_a_model_is_patched(self) -> None:
        code = "import gc, torch, patch_ops\n" \
            "q = torch.randn(1, 2, 12, 64).bfloat16().requires_grad_()\n" \
            "torch.ops.patch_ops.learned_prompt(q, q, q)[0].float().square().sum().backward()\n" \
            "patch_ops._library.attention()\n" \
            "print(bool(q.grad.abs().sum() > 0), any(isinstance(one, patch_ops._attention.Attention) for one in gc.get_objects()))\n"
        self.assertEqual(launched(code), "True False\n")

    @LEARNS
    def test_both_results_of_an_operator_have_gradients(self) -> None:
        function = getattr(torch.ops, ops()._library.name).learned_prompt
        q, k, v = self.heads()
        weights = torch.randn(1, 4, 12, 64).bfloat16(), torch.randn(1, 4, 12)

        def wanted(*parts):
            keys, values = (one.double().repeat_interleave(2, 1) for one in (k, v))
            scores = q.double() @ keys.transpose(2, 3) / 8
            scores = scores.masked_fill(torch.ones(12, 12, dtype=torch.bool).triu(1), -float("inf"))
            made = scores.softmax(-1) @ values, scores.logsumexp(-1)
            return torch.autograd.grad(sum((made[i] * weights[i]).sum() for i in parts), (q, k, v)[:2 + (0 in parts)])

        def got(call, *parts):
            made = call(q, k, v)
            return torch.autograd.grad(sum((made[i].double() * weights[i]).sum() for i in parts), (q, k, v)[:2 + (0 in parts)])

        for parts in ((0,), (1,), (0, 1)):
            with self.subTest(parts), self.asked() as calls:
                self.close(got(function, *parts), wanted(*parts))
                self.assertEqual(calls, ["learned_prompt"] + ["any_prompt_back"] * (parts == (0,)))
                self.close(got(torch.compile(lambda q, k, v: function(q, k, v), backend="aot_eager"), *parts), wanted(*parts))

    @LEARNS
    def test_a_gradient_that_no_operator_has_is_refused_and_not_zero(self) -> None:
        function = getattr(torch.ops, ops()._library.name).learned_prompt
        q, k, v = self.heads()
        with self.assertRaisesRegex(RuntimeError, "12 queries and 8 keys"):
            function(q, k[:, :, :8], v[:, :, :8])[0].float().sum().backward()

    def test_gradients_have_gradients(self) -> None:
        q, k, v = self.heads()
        weight = torch.randn(64, dtype=torch.bfloat16, requires_grad=True)

        def own(q, k, v):
            return cached_models.sdpa(types.SimpleNamespace(num_key_value_groups=2), q, k, v, None)[0].transpose(1, 2)

        def second(call, v):
            """Of a penalty on a gradient, which reaches a weight past attention and through it."""
            asked.clear()
            first = torch.autograd.grad(call(q * weight, k, v).float().square().sum(), q, create_graph=True)
            self.assertNotIn("any_prompt_back", asked)  # what a kernel gives has no gradient
            return torch.autograd.grad(first[0].float().square().sum(), [one for one in (q, k, v, weight) if one.requires_grad])

        with Computed(), self.asked() as asked:
            attend = ops()._library.attention()
            calls = [lambda q, k, v: attend.prefilled(q, k, v, True).transpose(1, 2)]
            if "learned_prompt" in ops()._library.learned:
                calls.append(lambda q, k, v: getattr(torch.ops, ops()._library.name).learned_prompt(q, k, v)[0])
            for call in calls:
                for values in (v, v.detach()):
                    self.close(second(call, values), second(own, values))

    @LEARNS
    def test_a_result_that_nothing_depends_on_has_no_gradient(self) -> None:
        class Constant(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, gradient):
                return None

        q, k, v = self.heads()
        Constant.apply(getattr(torch.ops, ops()._library.name).learned_prompt(q, k, v)[0]).sum().backward()
        self.assertEqual([q.grad, k.grad, v.grad], [None] * 3)

    def test_causal_texts_without_a_cache_are_computed_by_kernels_where_a_mask_is_made_that_says_nothing(self) -> None:
        positions = {"none": None, "one text": torch.arange(12)[None].repeat(2, 1), "two": (torch.arange(12) % 7)[None].repeat(2, 1)}
        for captured in (False, True):
            for name, given in positions.items():
                with self.subTest(name, captured=captured), Computed() as library, torch.no_grad():
                    model, _ = self.attention(positioned=True, captured=captured)
                    calls = [{}, {"position_ids": given}] if given is None else [{"position_ids": given}]
                    got = [model(TOKENS, **named).logits for named in calls]
                    served = given is None or name == "one text" and not captured
                    self.assertEqual(library.calls, ["whole_prompt"] * 2 * len(calls) * served)
                    ops().unpatch(model)
                    self.close(torch.stack(got), torch.stack([model(TOKENS, **named).logits for named in calls]))
        with Computed() as library, torch.no_grad():
            model, _ = self.attention(positioned=True, captured=True)
            padding = torch.ones(2, 12, dtype=torch.long)
            padding[0, 7:] = 0
            got = [model(TOKENS, attention_mask=padding).logits, model.model(TOKENS, None, positions["two"])]
            self.assertEqual(library.calls, [])
            ops().unpatch(model)
            want = [model(TOKENS, attention_mask=padding).logits, model.model(TOKENS, None, positions["two"])]
            self.assertTrue(all(map(torch.equal, got, want)))

    def compare_positioned(self, change, served=0, run=lambda model: [model(TOKENS).logits]):
        """A model that counts positions, in a graph, with a change: its results patched are those of its own code."""
        with Computed() as library, torch.no_grad():
            model = cached_models.model(positioned=True, captured=True)
            change(model)
            want = run(model)
            ops().patch(model, kinds=("attention",))
            self.close(run(model), want)
            self.assertEqual(library.count(), {"whole_prompt": served} if served else {})

    def test_masks_are_made_where_their_maker_or_a_layers_attention_is_another(self) -> None:
        def eager(model):
            own = model.model.layers[1].self_attn
            own.config = cached_models.config(_attn_implementation="masked")

        def masked(module, query, key, value, attention_mask, **named):
            return cached_models.sdpa(module, query, key, value, attention_mask, is_causal=False)

        def banded(seen, at, window=None):
            return (seen <= at) & (seen > at - 3)

        with unittest.mock.patch.dict(cached_models.ALL_ATTENTION_FUNCTIONS, masked=masked):
            self.compare_positioned(eager)
        with unittest.mock.patch.dict(cached_models.ALL_MASK_ATTENTION_FUNCTIONS, sdpa=banded):
            self.compare_positioned(lambda model: None)
            self.compare_positioned(lambda model: None, run=lambda model: texts_of_a_cache(
                model, cached_models.StaticCache(model.config, 32), (12, 1)))
        make = cached_models.create_causal_mask

        def narrow(config, inputs_embeds, *given, **named):
            tokens = torch.arange(inputs_embeds.shape[1])
            return banded(tokens[None, :], tokens[:, None])[None, None].repeat(inputs_embeds.shape[0], 1, 1, 1)

        for maker in (narrow, functools.wraps(make)(narrow)):
            with unittest.mock.patch.object(cached_models, "create_causal_mask", maker):
                self.compare_positioned(lambda model: None)
        self.compare_positioned(lambda model: None, served=2)

    def test_what_torch_jit_trace_follows_has_its_mask(self) -> None:
        def run(model):
            inner = torch.jit.trace(model.model, (TOKENS[:, :1],), check_trace=False)
            return [inner(TOKENS)]

        self.compare_positioned(lambda model: None, run=run)

    def test_decorators_find_parameters_of_a_forward_that_counts_positions(self) -> None:
        def cached(function):
            """Says use_cache where the caller does not, as transformers does."""
            @functools.wraps(function)
            def wrapper(self, *given, **named):
                names = function.__code__.co_varnames
                at = names.index("use_cache") - 1 if "use_cache" in names else len(given)
                if at >= len(given):
                    named["use_cache"] = True
                return function(self, *given, **named)

            return wrapper

        two = (torch.arange(12) % 7)[None].repeat(2, 1)
        with unittest.mock.patch.object(cached_models.PositionedModel, "forward", cached(cached_models.PositionedModel.forward)):
            self.compare_positioned(lambda model: None, served=4, run=lambda model: [
                model.model(TOKENS), model.model(TOKENS, None, None, None, False), model.model(TOKENS, None, two, None, True),
                model.model(input_ids=TOKENS, position_ids=two)])

    def test_a_forward_that_counts_positions_has_the_signature_of_its_own(self) -> None:
        model, _ = self.attention(positioned=True)
        own = cached_models.PositionedModel(model.config).forward
        self.assertEqual(inspect.signature(model.model.forward, follow_wrapped=False).parameters.keys(),
                         inspect.signature(own).parameters.keys())

    def test_a_model_that_counts_positions_is_copied_and_pickled(self) -> None:
        with Computed() as library, torch.no_grad():
            model, _ = self.attention(positioned=True, captured=True)
            want = model(TOKENS).logits
            self.close([copy.deepcopy(model)(TOKENS).logits], [want])
            self.assertEqual(library.calls, ["whole_prompt"] * 4)
        ops().patch(model, kinds=("attention",))
        other = pickle.loads(pickle.dumps(model))
        ops().unpatch(model)
        with torch.no_grad():
            self.assertTrue(torch.equal(other(TOKENS).logits, model(TOKENS).logits))

    def test_only_a_forward_that_counts_its_positions_is_known_to(self) -> None:
        counts = ("position_ids = torch.arange(x.shape[1], device=x.device)",
                  "cache_position: torch.Tensor = torch.arange(past, past + 5, device=x.device)\nposition_ids = cache_position[None]",
                  "n = 0 if c is None else c.get_seq_length()\nposition_ids = (torch.arange(5) + n).unsqueeze(0)",
                  "position_ids = torch.arange(5)[None, :]")
        other = ("pass", "x = torch.arange(5)", "position_ids = x.cumsum(0)", "position_ids = torch.arange(5) * 2",
                 "position_ids = torch.arange(0, 10, 2)", "position_ids = torch.arange(5)[order]", "position_ids = torch.arange(5).unsqueeze(1)",
                 "position_ids = torch.arange(5) + offsets", "n = starts\nposition_ids = torch.arange(5) + n",
                 "position_ids = torch.arange(5)\nposition_ids = position_ids % 3", "position_ids = torch.arange(5)\nposition_ids += 1 + x",
                 "position_ids, y = pair", "for position_ids in x: pass", "position_ids = other.arange(5)",
                 "position_ids = torch.arange(5)\nposition_ids[0] = 3", "(position_ids := torch.arange(5))",
                 "position_ids = torch.arange(5)\nposition_ids.mul_(2)",
                 "n = c.get_seq_length()\nn += starts\nposition_ids = torch.arange(5) + n",
                 "position_ids = torch.arange(5)\nwith near() as position_ids: pass")
        either = "make = create_causal_mask if c else create_sliding_window_causal_mask\n"
        given = "given = {'config': c, 'position_ids': position_ids}\n"
        counts += tuple("position_ids = torch.arange(5)\n" + one for one in (
            "mask = create_causal_mask(config=c, position_ids=position_ids, cache_position=None)",
            either + "mask = make(position_ids=position_ids)", given + "masks = {'full': create_causal_mask(**given)}",
            given + "given['or_mask_function'] = x\nmask = create_causal_mask(**given)",
            given + "near = given.copy()\nnear['or_mask_function'] = x\nmask = create_causal_mask(**given)"))
        other += tuple("position_ids = torch.arange(5)\n" + one for one in (
            "mask = create_causal_mask(config=c, position_ids=texts)", "mask = create_causal_mask(cache_position=position_ids % 3)",
            "mask = create_causal_mask(position_ids=position_ids)\nnear = create_causal_mask(position_ids=texts)",
            either + "mask = make(position_ids=texts)", "mask = masks_of(create_causal_mask, texts)", "mask = create_causal_mask(**c.given)",
            "given = {'position_ids': texts}\nmask = create_causal_mask(**given)", given + "given |= c\nmask = create_causal_mask(**given)",
            given + "given['position_ids'] = texts\nmask = create_causal_mask(**given)",
            given + "given.update(position_ids=texts)\nmask = create_causal_mask(**given)",
            given + "given = {**given, 'or_mask_function': x}\nmask = create_causal_mask(**given)",
            given + "same = given\nsame['position_ids'] = texts\nmask = create_causal_mask(**given)",
            "if c: options = {'position_ids': position_ids}\nmask = create_causal_mask(**options)",
            "mask = (lambda position_ids: create_causal_mask(position_ids=position_ids))(texts)"))
        for wanted, bodies in ((True, counts), (False, other)):
            for body in bodies:
                with self.subTest(body):
                    definition = ast.parse("def forward(self, position_ids=None, options=None):\n" + textwrap.indent(body, "    ")).body[0]
                    self.assertIs(ops()._attention.counts_positions(definition), wanted)

    @LEARNS
    def test_under_torch_compile_a_model_that_counts_positions_learns_with_kernels(self) -> None:
        model = cached_models.model(positioned=True, captured=True).model
        want = self.trained(model, lambda model: model(TOKENS))
        ops().patch(model, kinds=("attention",))
        with self.asked() as calls:
            got = self.trained(torch.compile(model, backend="aot_eager", fullgraph=True), lambda model: model(TOKENS))
        self.assertEqual(calls, ["learned_prompt"] * 2 + ["any_prompt_back"] * 2)
        self.close(got, want)

    @contextlib.contextmanager
    def asked(self, **refusals):
        """Names of operators that the dispatcher is asked for, in their order, on a device whose kernels take every shape but for
        those that are refused."""
        calls, library = [], ops()._library
        if hasattr(torch, "compile"):
            torch._dynamo.reset()
        with contextlib.ExitStack() as stack:
            stack.enter_context(unittest.mock.patch.object(library, "assumed", True))
            stack.enter_context(unittest.mock.patch.object(library, "choice", lambda name, **sizes: (0, refusals.get(name, ""))))
            for one in library.operators:
                def reference(operator=one, own=one.reference):
                    calls.append(operator.name)
                    return own()
                stack.enter_context(unittest.mock.patch.object(one, "reference", reference))
            yield calls

    def test_a_cache_in_pages_is_taken_where_pages_fill_it(self) -> None:
        every = ops()._library.operators
        try:
            ops()._library.operators = [one for one in every if one.name != "next_token"]
            for room, tokens in ((32, 6), (33, 0)):
                calls = self.compared(lambda config: cached_models.StaticCache(config, room))
                self.assertEqual(calls, ["whole_prompt"] * 2 + ["in_pages"] * tokens)
        finally:
            ops()._library.operators = every

    def test_an_encoder_sees_every_key(self) -> None:
        for captured in (False, True):  # without a mask, and with one that hides nothing
            calls = self.compared(lambda config: None, (12,), is_causal=False, captured=captured)
            self.assertEqual(calls, ["whole_text"] * 2)
        hidden = {"or_mask_function": lambda tokens: torch.arange(tokens) < 9}
        self.assertEqual(self.compared(lambda config: None, (12,), is_causal=False, mask=hidden), [])
        with Computed() as library:
            model, _ = self.attention(is_causal=False)
            with torch.no_grad():
                model(TOKENS, attention_mask=torch.arange(24).view(2, 12) % 5 > 0)
            self.assertEqual(library.calls, [])

    def test_other_masks_and_scales_are_the_models_own(self) -> None:
        def static(config):
            return cached_models.StaticCache(config, 32)

        self.assertEqual(self.compared(static, mask={"window": 4}), [])
        self.assertEqual(self.compared(static, scaling=0.25), [])
        with Computed() as library:
            model, _ = self.attention()
            mask = torch.ones(2, 12)
            mask[0, 9:] = 0
            padded = {"attention_mask": mask, "past_key_values": static(model.config)}
            with torch.no_grad():
                got = model(TOKENS, **padded).logits
                self.assertEqual(library.calls, [])
                ops().unpatch(model)
                padded["past_key_values"] = static(model.config)
                self.assertTrue(torch.equal(got, model(TOKENS, **padded).logits))

    def test_windows_of_layers_are_seen(self) -> None:
        def static(config):
            return cached_models.StaticCache(config, 64)

        prompt, token, window = ["whole_prompt"] * 2, ["next_token"] * 2, ["windowed_prompt"] * 2
        # Within the window; beyond it, where several tokens behind a full cache each see others.
        for cache in (static, cached_models.DynamicCache):
            self.assertEqual(self.compared(cache, (12, 1, 1), sliding_window=16), prompt + 2 * token)
            self.assertEqual(self.compared(cache, (20, 1, 1, 3), sliding_window=16), window + 2 * token)
            self.assertEqual(self.compared(cache, (14, 1, 1, 1, 1), sliding_window=16), prompt + 4 * token)
            mixed = self.compared(cache, (20, 1), sliding_window=16, full_layers=(1,))
            self.assertEqual(mixed, ["windowed_prompt", "whole_prompt"] + token)
        # How many keys lie in a static cache is known on the GPU alone.
        self.assertEqual(self.compared(cached_models.DynamicCache, (12, 9, 11), sliding_window=16), prompt + window + window)
        self.assertEqual(self.compared(static, (12, 9), sliding_window=16), prompt)
        # No kernel has this window, and a cache without windows has keys that it hides.
        self.assertEqual(self.compared(static, (20, 1), sliding_window=18), token)

        def every_key(config):
            cache = cached_models.DynamicCache(config)
            cache.layers = [cached_models.DynamicLayer() for _ in cache.layers]
            return cache

        self.assertEqual(self.compared(every_key, (12, 1, 9, 1), sliding_window=16), prompt + token + window)

        def windowed(config):
            return cached_models.StaticCache(cached_models.config(sliding_window=16), 64)

        self.assertEqual(self.compared(windowed, (20, 1), sliding_window=16, full_layers=(0, 1)), [])

    def test_caches_that_nobody_knows_are_the_models_own(self) -> None:
        class RollingLayer(cached_models.StaticLayer):
            pass

        def rolling(config):
            cache = cached_models.StaticCache(config, 32)
            cache.layers = [RollingLayer(32) for _ in cache.layers]
            return cache

        self.assertEqual(self.compared(rolling), [])

    def test_a_mask_that_was_changed_is_no_longer_known(self) -> None:
        class Changed(cached_models.DecoderLayer):
            def forward(self, hidden_states, attention_mask=None, **named):
                attention_mask.logical_and_(torch.ones_like(attention_mask).tril(-1).logical_not_())  # itself alone
                return super().forward(hidden_states, attention_mask=attention_mask, **named)

        with Computed() as library:
            model = cached_models.model()
            model.model.layers[1].__class__ = Changed
            ops().patch(model, kinds=("attention",))
            texts_of_a_cache(model, cached_models.StaticCache(model.config, 32), (5,))
            self.assertEqual(library.calls, ["next_token"])

    def test_what_is_no_such_attention_is_left_with_a_reason(self) -> None:
        _, answer = self.attention(_attn_implementation="eager")
        self.assertEqual(answer, {"served": {}, "left": {f"model.layers.{i}.self_attn": "their attention is eager, not sdpa"
                                                         for i in range(2)}})
        original = cached_models.ALL_ATTENTION_FUNCTIONS["sdpa"]
        try:
            cached_models.ALL_ATTENTION_FUNCTIONS["sdpa"] = lambda *given, **named: (original(*given, **named)[0] * 2, None)
            _, answer = self.attention()
            self.assertEqual(answer["left"]["model.layers.1.self_attn"], "their sdpa computes something else than attention")
        finally:
            cached_models.ALL_ATTENTION_FUNCTIONS["sdpa"] = original
        model = cached_models.model().float()
        self.assertIn("the library has no attention of torch.float32 and heads of 64",
                      ops().patch(model, kinds=("attention",))["left"].values())

    def test_with_everything_else_patched_it_is_the_same_model_copied_and_pickled_too(self) -> None:
        def static(model):
            return cached_models.StaticCache(model.config, 32)

        with Computed() as library:
            model = cached_models.model()
            before = {path: set(module.__dict__) for path, module in model.named_modules()}
            want = texts_of_a_cache(model, static(model))
            self.assertEqual(ops().patch(model, every_shape=True)["left"], {})
            self.close(texts_of_a_cache(model, static(model)), want)
            self.assertEqual(library.count()["next_token"], 6)
            other = copy.deepcopy(model)
            library.calls.clear()
            self.close(texts_of_a_cache(other, static(other)), want)
            self.assertEqual(library.count()["next_token"], 6)
            ops().unpatch(model)
            self.assertEqual({path: set(module.__dict__) for path, module in model.named_modules()}, before)
        model = cached_models.model()
        ops().patch(model)
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        for got, one in zip(texts_of_a_cache(torch.load(file, weights_only=False), static(model)), want):
            self.assertTrue(torch.equal(got, one))

    def test_on_a_device_kernels_are_launched_and_nothing_is_read_from_it(self) -> None:
        code = """
patch_ops.patch(model, every_shape=True)
cache = cached_models.StaticCache(model.config, 32)
def refused(*given):
    raise AssertionError("a value is read")
with torch.no_grad():
    model(torch.zeros(2, 12).long(), past_key_values=cache)
    for name in ("item", "tolist", "__bool__", "__int__", "__float__", "__index__"):
        setattr(torch.Tensor, name, refused)
    model(torch.zeros(2, 1).long(), past_key_values=cache)
print(sorted({name for name, _ in patch_ops.served}))
"""
        self.assertEqual(launched_of_a_model(code), "['add_norm', 'mlp', 'next_token', 'norm', 'product', 'rope', 'whole_prompt']\n")

    def test_on_a_device_forward_mode_derivatives_are_of_the_models_own_code(self) -> None:
        code = """
patch_ops.patch(model, every_shape=True)
forward_ad, x = torch.autograd.forward_ad, torch.randn(2, 12, cached_models.WIDTH).bfloat16()
with torch.no_grad():
    for tangents in (True, False):
        with forward_ad.dual_level():
            given = forward_ad.make_dual(x, torch.ones_like(x)) if tangents else x
            print(forward_ad.unpack_dual(model.model.norm(given)).tangent is not None, len(patch_ops.served))
    model.model.norm(x)
    print(len(patch_ops.served))
"""
        self.assertEqual(launched_of_a_model(code), "True 0\nFalse 0\n1\n")

    def test_on_a_device_kernels_for_gradients_are_launched(self) -> None:
        code = """
patch_ops.patch(model)
model(torch.zeros(2, 12).long()).logits.float().sum().backward()
print(sorted({name for name, _ in patch_ops.served}))
"""
        self.assertEqual(launched_of_a_model(code), "['any_prompt_back', 'learned_prompt']\n")


def example(folder, name):
    """A file of docs/examples as a module of its own."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(SOURCE, "docs", "examples", folder, name + ".py"))
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


class QuantisedTest(unittest.TestCase):
    """Layers of quantised weights: by PyTorch on the CPU, and what a made-up driver launches."""

    def off(self, got, want):
        return ((got.double() - want.double()).square().mean() / want.double().square().mean()).sqrt().item()

    def weights(self, rows=24, length=200):
        generator = torch.Generator().manual_seed(1)
        return torch.randn(rows, length, generator=generator).to(torch.bfloat16)

    def test_numbers_of_four_bits_lie_as_the_operator_takes_them(self) -> None:
        for zero_points, most in ((False, 0.12), (True, 0.11)):
            weight = self.weights()
            parts = ops().quantize_from_float(weight, "int4", zero_points)
            self.assertEqual([(name, one.dtype, tuple(one.shape)) for name, one in parts.items()],
                             [("weight", torch.uint8, (24, 100)), ("scale", torch.bfloat16, (24, 2))]
                             + [("zero", torch.uint8, (24, 2))] * zero_points)
            for n, k in ((0, 0), (3, 1), (7, 127), (7, 128), (23, 199)):  # as the definition says it
                code = int(parts["weight"][n, k // 2]) >> k % 2 * 4 & 15
                zero = int(parts["zero"][n, k // 128]) if zero_points else 8
                self.assertLess(abs((code - zero) * float(parts["scale"][n, k // 128]) - float(weight[n, k])),
                                0.51 * float(parts["scale"][n, k // 128]) + 0.02)
            layer = torch.nn.Linear(200, 24, bias=False, dtype=torch.bfloat16)
            layer.weight.data = weight
            model = torch.nn.Sequential(layer)
            ops().replace_linear(model, "int4", zero_points)
            self.assertLess(self.off(model[0](torch.eye(200).to(torch.bfloat16)), weight.t()), most)

    def test_odd_lengths_zeros_and_groups_of_one_sign_are_quantised(self) -> None:
        weight = self.weights(5, 131)
        weight[1], weight[2], weight[3, :128] = 0, weight[2].abs() + 3, 0
        for to, zero_points, most in (("int4", False, 0.2), ("int4", True, 0.12), ("int8_weights", False, 0.01), ("int8", False, 0.01)):
            layer = torch.nn.Linear(131, 5, dtype=torch.bfloat16)
            layer.weight.data = weight.clone()
            model, x = torch.nn.Sequential(copy.deepcopy(layer)), torch.randn(2, 3, 131).to(torch.bfloat16)
            answer = ops().replace_linear(model, to, zero_points)
            self.assertEqual(answer, {"replaced": ["0"], "left": {}})
            with torch.no_grad():
                self.assertLess(self.off(model(x), layer(x)), most + 0.01)
                self.assertTrue(torch.isfinite(model(x)).all())

    def test_a_models_layers_are_replaced_but_those_that_are_kept(self) -> None:
        model = small_models.llama()
        want = logits(small_models.llama())
        answer = ops().replace_linear(model, "int8_weights")
        self.assertEqual(answer["left"], {"lm_head": "its name is kept"})
        self.assertEqual(len(answer["replaced"]), sum(type(one) is torch.nn.Linear for one in small_models.llama().modules()) - 1)
        self.assertLess(self.off(logits(model), want), 0.03)
        again = pickle.loads(pickle.dumps(model))
        self.assertTrue(torch.equal(logits(again), logits(model)))
        other = small_models.llama()
        ops().replace_linear(other, "int8_weights")
        other.load_state_dict(model.state_dict())
        self.assertTrue(torch.equal(logits(other), logits(model)))
        ops().patch(model)
        self.assertLess(self.off(logits(model), want), 0.03)

    def test_layers_with_one_input_are_one_product_for_few_rows(self) -> None:
        class Asked:
            def __init__(self):
                self.sizes = []

            def __call__(self, x, weight, scale):
                self.sizes.append((len(x), len(weight)))
                return (x.float() @ (weight.float() * scale.float()[:, None]).t()).to(x.dtype)

        model, asked = small_models.llama(), Asked()
        with unittest.mock.patch.object(ops()._library, "attempt", lambda operator: asked):
            ops().replace_linear(model, "int8_weights")
        layer = model.layers[0]
        attention, heads = layer.self_attn, [layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj]
        x, other = (torch.randn(2, 3, heads[0].in_features).to(torch.bfloat16) for _ in range(2))
        widths = [one.out_features for one in heads]
        with torch.no_grad():
            got = [one(x) for one in heads]
            self.assertEqual(asked.sizes, [(6, sum(widths))])
            apart = [one._whole[0].rows_of(x, one.begin, one.end) for one in heads]
            self.assertTrue(all(map(torch.equal, got, apart)))
            asked.sizes.clear()
            first = heads[0](x)
            x.mul_(2)  # another input now
            self.assertLess(self.off(heads[1](x), 2 * apart[1]), 0.01)
            self.assertTrue(torch.equal(first, apart[0]))
            self.assertLess(self.off(heads[0](other), heads[0]._whole[0].rows_of(other, 0, widths[0])), 1e-6)
            asked.sizes.clear()
            wide = torch.randn(65, heads[0].in_features).to(torch.bfloat16)
            for one in heads:
                one(wide)
            self.assertEqual(asked.sizes, [(65, width) for width in widths])
            kept = heads[1]._whole[0]._parts(heads[1].begin, heads[1].end)["weight"]
            self.assertIs(heads[1]._whole[0]._parts(heads[1].begin, heads[1].end)["weight"], kept)
        self.assertEqual(sum("self_attn" in name and "whole.codes" in name for name, _ in model.named_buffers()), 2)
        twin = copy.deepcopy(model)
        self.assertIsNot(twin.layers[0].self_attn.k_proj._whole[0], attention.k_proj._whole[0])
        self.assertIs(twin.layers[0].self_attn.k_proj._whole[0], twin.layers[0].self_attn.q_proj.whole)

    def test_gated_products_of_quantised_weights_call_the_librarys_gate(self) -> None:
        model = small_models.llama()
        ops().replace_linear(model, "int8_weights")
        want = logits(model)
        with Computed() as library:
            answer = ops().patch(model, kinds=("swiglu",))
            self.assertEqual(list(answer["served"].values()), [["swiglu"]] * 2)
            self.assertLess(self.off(logits(model), want), 0.02)
            self.assertEqual(library.calls, ["gated"] * 2)

    def replaced(self, to, rows=16, length=64):
        model = torch.nn.Sequential(torch.nn.Linear(length, rows, dtype=torch.bfloat16))
        ops().replace_linear(model, to)
        return model

    def test_layers_that_something_hangs_on_stay_and_nothing_is_replaced_by_half(self) -> None:
        model = torch.nn.Sequential(*(torch.nn.Linear(64, 64, dtype=torch.bfloat16) for _ in range(6)))
        model[0].register_full_backward_hook(lambda *given: None)
        model[1].forward = model[1].forward
        model[2].weight.data[3, 5] = float("inf")
        model[3] = torch.nn.Linear(64, 64, dtype=torch.bfloat16, device="meta")
        answer = ops().replace_linear(model, "int8_weights", keep="5")
        self.assertEqual(answer, {"replaced": ["4"], "left": {
            "0": "somebody listens to it", "1": "its forward is replaced already", "2": "its weights have infinities or NaN",
            "3": "its weights are on the meta device", "5": "its name is kept"}})
        adapted = torch.nn.Sequential(*(torch.nn.Linear(64, 64, dtype=torch.bfloat16) for _ in range(2)))
        adapted[0].requires_grad_(False)
        self.assertEqual(ops().replace_linear(adapted, "int8_weights")["left"], {"1": "it learns, and others of the model do not"})

    def test_casts_move_what_a_layer_is_made_of_and_leave_its_types(self) -> None:
        for to in ("int4", "int8_weights", "int8"):
            model, x = self.replaced(to), torch.randn(2, 64).to(torch.bfloat16)
            before, want = dict(model[0].named_buffers()), model(x)
            model.float().half().bfloat16()
            self.assertEqual({name: one.dtype for name, one in model[0].named_buffers()},
                             {name: one.dtype for name, one in before.items()})
            self.assertTrue(torch.equal(model(x).detach(), want.detach()))

    def test_a_result_of_other_weights_or_inputs_is_not_taken(self) -> None:
        model = small_models.llama()
        ops().replace_linear(model, "int8_weights")
        attention = model.layers[0].self_attn
        whole = attention.q_proj.whole
        x, other = (torch.randn(2, attention.q_proj.in_features).to(torch.bfloat16) for _ in range(2))
        with torch.no_grad():
            attention.q_proj(x)
            whole.scale.mul_(3)
            self.assertTrue(torch.equal(attention.k_proj(x), whole.rows_of(x, attention.k_proj.begin, attention.k_proj.end)))
            attention.v_proj(x), attention.q_proj(x)  # all have taken theirs
            attention.q_proj(x)
            attention.k_proj(other)  # cross attention
            self.assertTrue(attention.q_proj._group.apart)
            self.assertTrue(torch.equal(attention.v_proj(other), whole.rows_of(other, attention.v_proj.begin, attention.v_proj.end)))

    def test_attention_of_a_replaced_model_is_patched(self) -> None:
        model = cached_models.model()
        ops().replace_linear(model, "int8_weights")
        served = ops().patch(model, kinds=("attention", "rope"))["served"]
        self.assertEqual(sum("attention" in kinds for kinds in served.values()), 2)

    def test_gradients_reach_the_input(self) -> None:
        layer = torch.nn.Linear(64, 16, dtype=torch.bfloat16)
        for to in ("int4", "int8_weights", "int8"):
            model, x = torch.nn.Sequential(copy.deepcopy(layer)), torch.randn(3, 64).to(torch.bfloat16).requires_grad_()
            ops().replace_linear(model, to)
            (got,) = torch.autograd.grad(model(x).float().sum(), x)
            self.assertLess(self.off(got, layer.weight.sum(0).expand(3, 64)), 0.2)

    def test_what_cannot_be_quantised_is_refused_or_stays(self) -> None:
        layer = torch.nn.Linear(64, 16)
        self.assertEqual(ops().replace_linear(torch.nn.Sequential(layer))["left"], {"0": "it is of torch.float32"})
        tied = torch.nn.Sequential(torch.nn.Linear(64, 16, dtype=torch.bfloat16), torch.nn.Linear(64, 16, dtype=torch.bfloat16))
        tied[1].weight = tied[0].weight
        self.assertEqual(set(ops().replace_linear(tied)["left"].values()), {"other modules have its weights, too"})
        for wrong, words in ((lambda: ops().quantize_from_float(self.weights(), "int3"), "no format 'int3'; expected fp8, int4"),
                             (lambda: ops().quantize_from_float(self.weights().float()), "of float16 or bfloat16"),
                             (lambda: ops().quantize_from_float(self.weights() * float("inf")), "infinities or NaN"),
                             (lambda: ops().replace_linear(torch.nn.Sequential(torch.nn.Linear(8, 8, dtype=torch.float16)), "int4"),
                              "patch_ops has no linear_w4a16 [(]dtype float16, zero_points 0[)]"),
                             (lambda: self.replaced("int4")(torch.zeros(2, 64, dtype=torch.uint8)), "with torch.uint8; expected"),
                             (lambda: ops().replace_linear(5), "expected a torch.nn.Module")):
            with self.assertRaisesRegex((ValueError, TypeError), words):
                wrong()

    def test_on_a_device_kernels_are_launched(self) -> None:
        made_up_driver()
        code = """
import torch, patch_ops
patch_ops._library.assume_device(0)
x = torch.randn(2, 3, 256).to(torch.bfloat16)
for to, zero_points in (("int4", False), ("int4", True), ("int8_weights", False), ("int8", False)):
    model = torch.nn.Sequential(torch.nn.Linear(256, 64, dtype=torch.bfloat16))
    patch_ops.replace_linear(model, to, zero_points)
    with torch.no_grad():
        assert model(x).shape == (2, 3, 64)
print(sorted({name for name, _ in patch_ops.served}))
"""
        self.assertEqual(launched(code), "['codes', 'codes_product', 'eight_bits', 'four_bits', 'four_bits_and_zeros']\n")


class RegistrationTest(unittest.TestCase):
    """docs/examples with the interfaces that others publish; on the CPU the library's operators are their references."""

    def close(self, got, want):
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
        self.assertLess((got.float() - want.float()).abs().max().item(), 0.05)

    def by_library(self, call):
        """What it returns, and the operators that were asked."""
        ops()._library._said.clear()
        with self.assertLogs("patch_ops", "INFO") as log:
            ops()._library.log.info("-")
            made = call()
        return made, [line.split(": ")[1] for line in log.output if "PyTorch, as" in line]

    def test_layers_of_vllm_call_the_library(self) -> None:
        published_interfaces.vllm()
        plugin = example("vllm", "alphakernel_vllm")
        with unittest.mock.patch.dict(os.environ, {"ALPHAKERNEL_PACKAGE": "patch_ops"}), torch.no_grad():
            plugin.register()
            plugin.register()  # vLLM may ask again
            norm = published_interfaces.RMSNorm(64, eps=0.5).bfloat16()
            norm.weight.copy_(torch.rand(64))
            gate, own = published_interfaces.SiluAndMul(), published_interfaces.RMSNorm.forward_cuda
            x, residual = torch.randn(5, 64).bfloat16(), torch.randn(5, 64).bfloat16()
            y, asked = self.by_library(lambda: norm(x))
            self.close(y, own(norm, x))
            self.assertEqual(len(asked), 1)
            (y, total), asked = self.by_library(lambda: norm(x, residual))
            self.close(y, own(norm, x, residual)[0])
            self.close(total, x + residual)
            self.assertEqual(len(asked), 1)
            y, asked = self.by_library(lambda: gate(x.view(1, 5, 64)))
            self.close(y, published_interfaces.SiluAndMul.forward_cuda(gate, x.view(1, 5, 64)))
            self.assertEqual(len(asked), 1)

    def test_what_vllm_computes_in_another_way_is_its_own_code(self) -> None:
        published_interfaces.vllm()
        plugin = example("vllm", "alphakernel_vllm")
        with unittest.mock.patch.dict(os.environ, {"ALPHAKERNEL_PACKAGE": "patch_ops"}), torch.no_grad():
            plugin.register()
            x = torch.randn(5, 64)
            for norm in (published_interfaces.RMSNorm(64), published_interfaces.RMSNorm(64, var_hidden_size=32).bfloat16()):
                y, asked = self.by_library(lambda: norm(x.to(norm.weight.dtype)))
                self.assertTrue(torch.equal(y, published_interfaces.RMSNorm.forward_cuda(norm, x.to(norm.weight.dtype))))
                self.assertEqual(asked, [])

    def test_a_norm_by_apply_of_flashinfer_bench_is_given_what_the_definition_takes(self) -> None:
        applied = published_interfaces.flashinfer_bench()
        module = example("flashinfer_bench", "apply_kernels")
        norm = next(one for one in ops()._library.operators if one.name == "norm")
        applied.solutions[norm.description["definition"]] = ops().norm
        with unittest.mock.patch.object(sys, "argv", ["apply_kernels.py", "dataset/"]), \
                contextlib.redirect_stdout(io.StringIO()) as shown:
            module.main()
        (name, given), = applied.calls
        self.assertEqual(name, norm.description["definition"])
        self.assertEqual(len(given), len(norm.inputs))
        self.assertRegex(shown.getvalue(), r"largest difference 0\.0\d+")
        # What it has by default leaves out all results of 16 bits: their roundings are larger.
        self.assertGreater(module.CONFIG.max_rtol, torch.finfo(torch.bfloat16).eps)


def causal_loss(logits, labels, vocab_size, num_items_in_batch=None, ignore_index=-100, shift_labels=None, **others):
    """As Hugging Face's ForCausalLMLoss."""
    targets = torch.nn.functional.pad(labels, (0, 1), value=ignore_index)[..., 1:] if shift_labels is None else shift_labels
    total = torch.nn.functional.cross_entropy(logits.float().view(-1, vocab_size), targets.reshape(-1), ignore_index=ignore_index,
                                              reduction="mean" if num_items_in_batch is None else "sum")
    return total if num_items_in_batch is None else total / num_items_in_batch


class Losing(torch.nn.Module):
    """A model of one product whose loss is behind a property, as in transformers."""

    def __init__(self, loss=causal_loss):
        super().__init__()
        torch.manual_seed(1)
        self._own, self.head = loss, torch.nn.Linear(16, 50, bias=False).bfloat16()

    @property
    def loss_function(self):
        return self.__dict__.get("_loss_function", self._own)

    @loss_function.setter
    def loss_function(self, value):
        self._loss_function = value

    def forward(self, x, labels, **named):
        return self.loss_function(logits=self.head(x), labels=labels, vocab_size=50, **named)


class LossTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(2)
        self.x, self.labels = torch.randn(2, 7, 16).bfloat16(), torch.randint(0, 50, (2, 7))
        self.labels[0, 4] = -100

    def outcomes(self, model, **named):
        model.zero_grad()
        loss = model(self.x, self.labels, **named)
        loss.backward()
        return loss.detach(), model.head.weight.grad.clone()

    def test_the_loss_of_next_tokens_and_its_gradient_are_the_models_own(self) -> None:
        model = Losing()
        cases = [{}, {"num_items_in_batch": 5}, {"num_items_in_batch": torch.tensor(5)}, {"shift_labels": self.labels.roll(1, 1)}]
        wanted = [self.outcomes(model, **case) for case in cases]
        with Computed() as computed:
            self.assertEqual(ops().patch(model, kinds="cross_entropy")["served"], {"": ["cross_entropy"]})
            for case, (loss, gradient) in zip(cases, wanted):
                computed.calls.clear()
                got = self.outcomes(model, **case)
                self.assertEqual(computed.calls, ["crossed", "crossed_back"])
                torch.testing.assert_close(got[0], loss)
                torch.testing.assert_close(got[1], gradient, rtol=2e-2, atol=1e-4)
            with torch.no_grad():
                torch.testing.assert_close(model(self.x, self.labels), wanted[0][0])
            computed.calls.clear()
            torch.testing.assert_close(self.outcomes(copy.deepcopy(model))[0], wanted[0][0])
            self.assertEqual(computed.calls, ["crossed", "crossed_back"])
            ops().unpatch(model)
            computed.calls.clear()
            torch.testing.assert_close(self.outcomes(model)[0], wanted[0][0])
            self.assertEqual(computed.calls, [])
        self.assertIs(model.loss_function, causal_loss)
        ops().patch(model, kinds="cross_entropy")  # and without a device
        copied = pickle.loads(pickle.dumps(model))
        torch.testing.assert_close(self.outcomes(copied)[0], wanted[0][0])
        self.assertEqual(type(copied.loss_function).__name__, "Loss")

    def test_what_the_operator_does_not_take_is_the_models_own(self) -> None:
        model, asked = Losing(), []
        with Computed() as computed:
            ops().patch(model, kinds="cross_entropy")
            model.loss_function.original = lambda **named: asked.append(sorted(named)) or causal_loss(**named)
            for named in ({"label_smoothing": 0.1}, {"vocab_size": 25}):
                logits = model.head(self.x)
                given = {"logits": logits, "labels": self.labels.repeat(1, 2) % 25 if "vocab_size" in named else self.labels, "vocab_size": 50}
                model.loss_function(**{**given, **named})
            self.assertEqual((computed.calls, len(asked)), ([], 2))
            # A gradient of the gradient.
            weight = model.head.weight
            first, = torch.autograd.grad(model(self.x, self.labels), weight, create_graph=True)
            self.assertIsNotNone(torch.autograd.grad(first.float().square().sum(), weight)[0])

    def test_it_is_replaced_where_it_is_asked_for_and_known(self) -> None:
        with Computed():
            self.assertNotIn("", ops().patch(Losing())["served"])
            other = Losing(lambda logits, labels, vocab_size, **others: causal_loss(logits, labels, vocab_size) * 2)
            self.assertIn("another loss", ops().patch(other, kinds="cross_entropy")["left"][""])
            failing = Losing(lambda logits: logits)
            self.assertIn("could not be tried", ops().patch(failing, kinds="cross_entropy")["left"][""])
            doubled = Losing().double()
            self.assertIn("no cross_entropy of torch.float64", ops().patch(doubled, kinds="cross_entropy")["left"][""])


class MeasuringTest(unittest.TestCase):
    def test_the_measuring_program_compares_a_patched_model_with_the_plain_one(self) -> None:
        out = os.path.join(WORK.name, "model.json")
        run = subprocess.run([sys.executable, "-B", os.path.join(SOURCE, "scripts", "measure", "measure_model.py"), out, "--package", DIST,
                              "--small", "--every-shape", "--seconds", "0.1", "--batch", "2", "--deadline", "100"],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)
        with open(out, encoding="utf-8") as file:
            record = json.load(file)
        self.assertEqual([row["part"] for row in record["rows"]], ["accuracy", "decode", "prefill", "train", "accuracy", "encoder"])
        accuracy, decode = record["rows"][:2]
        self.assertTrue(accuracy["right"])
        self.assertEqual(accuracy["greedy_of_plain"]["share"], 1)
        self.assertEqual(record["patched"][0]["served"], {"attention": 2, "linear": 15, "norm": 5, "residual_norm": 2, "rope": 3,
                                                          "swiglu": 2})
        for row in (row for row in record["rows"] if row["part"] != "accuracy"):
            self.assertGreater(row["variants"]["patched"]["tokens_per_s"], 0)
            self.assertIn(("patched", "eager"), [(one["of"], one["over"]) for one in row["ratios"]])
            for one in row["ratios"]:
                self.assertTrue(one["low"] <= one["faster"] <= one["high"])
        if not torch.cuda.is_available():
            self.assertEqual(decode["variants"]["patched_graph"], {"step_ms": None, "reason": "there is no CUDA device"})

    def test_random_mixes_of_batches_and_lengths_see_a_wrong_token_and_memory_that_nobody_wrote(self) -> None:
        sys.path.append(os.path.join(SOURCE, "scripts", "check"))
        import check_random_mixes

        with Computed() as computed:
            family, = check_random_mixes.of_the_tests(ops())
            draw = random.Random(1)
            drawn = [check_random_mixes.mix_of(draw, [family])[1] for _ in range(60)]
            mixes = [{**one, "batch": min(one["batch"], 3)} for one in drawn if sum(one["pieces"]) < 60]
            self.assertEqual({one["call"] for one in mixes}, {"prompt", "static", "growing"})
            self.assertTrue(all(check_random_mixes.tried(family, one, 2)[1] for one in mixes))
            self.assertTrue({"product", "next_token", "norm", "add_norm", "rope"} <= set(computed.calls))

            def planted(what):
                """Whether each mix is right when the last row of every sum's norm is changed."""
                def change(function):
                    def changed(*arguments):
                        y, total = function(*arguments)
                        y.view(-1)[-y.shape[-1]:] *= what
                        return y, total
                    return changed

                norm, = (one for one in ops()._library.operators if one.name == "add_norm")
                made = change(norm.reference())
                with unittest.mock.patch.object(norm, "reference", lambda: made):
                    return [check_random_mixes.tried(family, mix, 2)[1] for mix in mixes]

            self.assertNotIn(True, planted(1.5))
            self.assertNotIn(True, planted(float("nan")))


unittest.main(argv=sys.argv[:1] + sys.argv[3:])
