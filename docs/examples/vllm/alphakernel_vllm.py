# SPDX-License-Identifier: Apache-2.0
"""vLLM calls the operators of a kernel library: `pip install .` here, beside vLLM and the library.

vLLM calls register() in each of its processes (the entry point is in pyproject.toml), and makes objects of these classes where
its models ask for its own. What the library has no operator of, and what vLLM computes in another way, is vLLM's own code.

    vllm serve MODEL --compilation-config '{"custom_ops": ["+RMSNorm", "+SiluAndMul"]}'

ALPHAKERNEL_PACKAGE names the library where it is not called alphakernel_ops; its own log (ALPHAKERNEL_OPS_LOG=1) says which
kernel serves which shape.
"""
import importlib
import os

_registered = False


def operators(package, algorithm, **params):
    """{dtype: function} of a package's operators of a problem with these params."""
    import torch

    found = {}
    for one in package.description["operators"]:
        given = one["params"]
        if one["algorithm"] == algorithm and all(given.get(name) == value for name, value in params.items()):
            found.setdefault(getattr(torch, given["dtype"]), getattr(package, one["name"]))
    return found


def rows(x):
    return x.reshape(-1, x.shape[-1])


def register():
    """Once a process, however often it is called."""
    global _registered
    if _registered:
        return
    _registered = True
    from vllm.model_executor.custom_op import CustomOp
    from vllm.model_executor.layers.activation import SiluAndMul
    from vllm.model_executor.layers.layernorm import RMSNorm

    package = importlib.import_module(os.environ.get("ALPHAKERNEL_PACKAGE", "alphakernel_ops"))
    norms = operators(package, "rmsnorm", any_epsilon=1)
    norms_of_sums = operators(package, "residual_norm", kind="rmsnorm", store="same")
    gates = operators(package, "swiglu", function="silu", layout="halves")

    class LibraryRMSNorm(RMSNorm):
        def forward_cuda(self, x, residual=None):
            found = (norms if residual is None else norms_of_sums).get(x.dtype)
            plain = self.variance_size_override is None and getattr(self, "has_weight", True)
            if found is None or not plain or self.weight.dtype is not x.dtype:
                return super().forward_cuda(x, residual)
            weight = self.weight.data
            if residual is None:
                return found(rows(x), weight, self.variance_epsilon).view(x.shape)
            y, total = found(rows(x), rows(residual), weight, self.variance_epsilon)
            return y.view(x.shape), total.view(x.shape)

    class LibrarySiluAndMul(SiluAndMul):
        def forward_cuda(self, x):
            found, width = gates.get(x.dtype), x.shape[-1] // 2
            if found is None:
                return super().forward_cuda(x)
            return found(rows(x), width).view(*x.shape[:-1], width)

    # Under the name of the class whose place they take.
    if norms or norms_of_sums:
        CustomOp.register_oot(name="RMSNorm")(LibraryRMSNorm)
    if gates:
        CustomOp.register_oot(name="SiluAndMul")(LibrarySiluAndMul)
