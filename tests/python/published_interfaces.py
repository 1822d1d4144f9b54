# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for what vLLM (0.10 to 0.16) and FlashInfer-Bench publish, as far as docs/examples use it."""
import contextlib
import sys
import types

import torch
from torch import nn


class CustomOp(nn.Module):
    """vllm.model_executor.custom_op: an object of a class is one of the class that was registered under its name."""

    registered = {}

    def __new__(cls, *given, **named):
        return super().__new__(CustomOp.registered.get(cls.__name__, cls))

    def __init__(self):
        super().__init__()
        self._forward_method = self.forward_cuda

    def forward(self, *given, **named):
        return self._forward_method(*given, **named)

    @classmethod
    def register_oot(cls, _decorated_op_cls=None, name=None):
        def decorator(one):
            assert name not in CustomOp.registered, f"Duplicate op name: {name}"
            one.name = name
            CustomOp.registered[name] = one
            return one

        return decorator if _decorated_op_cls is None else decorator(_decorated_op_cls)


class RMSNorm(CustomOp):
    def __init__(self, hidden_size, eps=1e-6, var_hidden_size=None):
        super().__init__()
        self.weight, self.variance_epsilon = nn.Parameter(torch.ones(hidden_size)), eps
        self.variance_size_override = None if var_hidden_size == hidden_size else var_hidden_size

    def forward_cuda(self, x, residual=None):
        x32 = x.float() if residual is None else x.float() + residual.float()
        seen = x32[..., :self.variance_size_override]
        y = (x32 * torch.rsqrt(seen.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)).to(x.dtype) * self.weight
        return y if residual is None else (y, x32.to(x.dtype))


class SiluAndMul(CustomOp):
    def forward_cuda(self, x):
        gate, up = x.chunk(2, -1)
        return nn.functional.silu(gate) * up


class ApplyConfig:
    def __init__(self, max_atol=1e-2, max_rtol=1e-5, aot_ratio=1.0, on_miss_policy="fallback_only"):
        self.max_atol, self.max_rtol, self.aot_ratio, self.on_miss_policy = max_atol, max_rtol, aot_ratio, on_miss_policy


class Applied:
    """flashinfer_bench.apply: solutions by the name of the definition, as long as it is enabled."""

    def __init__(self):
        self.solutions, self.config, self.calls = {}, None, []

    def apply(self, name):
        def decorator(fallback):
            def routed(*given):
                if self.config is None:
                    return fallback(*given)
                self.calls.append((name, given))
                return self.solutions.get(name, fallback)(*given)

            return routed

        return decorator

    @contextlib.contextmanager
    def enable_apply(self, dataset_path=None, apply_config=None):
        self.config = apply_config
        yield self
        self.config = None


def module(name, **contents):
    made = types.ModuleType(name)
    made.__dict__.update(contents)
    sys.modules[name] = made
    return made


def vllm():
    CustomOp.registered.clear()
    for name in ("vllm", "vllm.model_executor", "vllm.model_executor.layers"):
        module(name)
    module("vllm.model_executor.custom_op", CustomOp=CustomOp)
    module("vllm.model_executor.layers.activation", SiluAndMul=SiluAndMul)
    module("vllm.model_executor.layers.layernorm", RMSNorm=RMSNorm)


def flashinfer_bench():
    applied = Applied()
    module("flashinfer_bench")
    module("flashinfer_bench.apply", ApplyConfig=ApplyConfig, apply=applied.apply, enable_apply=applied.enable_apply)
    return applied
