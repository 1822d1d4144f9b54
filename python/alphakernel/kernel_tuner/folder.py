# SPDX-License-Identifier: Apache-2.0
"""A problem folder for a kernel with arguments: one shape, and the kernel's own first point as the reference."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence

from .arguments import Argument, body_of, flattened, without_comments

WORKLOAD = "size"  # name of the only shape

# Where no version in float64 measures what rounding costs: sums of some thousand terms in another order (chosen).
_FLOOR_ULPS = 64

_CUDA = {"float32": "float", "float64": "double", "int32": "int", "uint32": "unsigned int", "int64": "long long",
         "int16": "short", "int8": "signed char", "uint8": "unsigned char", "bool": "bool", "float16": "__half",
         "bfloat16": "__nv_bfloat16"}
_FLOATING = ("float64", "float32", "float16", "bfloat16")
_NO_DOUBLE = re.compile(r"\b(float|int|half|double)[1-4]\b|\b__half|\b__nv_bfloat16|\bhalf\b|\bwmma\b|\basm\b|"
                        r"\b__(float|int|uint)_as_|\bunion\b|\breinterpret_cast\b")
# Functions of float -> those that are overloaded for double, too.
_OVERLOADED = {"__expf": "exp", "__logf": "log", "__log2f": "log2", "__log10f": "log10", "__sinf": "sin",
               "__cosf": "cos", "__tanf": "tan", "__powf": "pow", "__fmaf_rn": "fma", "__fsqrt_rn": "sqrt",
               "__frsqrt_rn": "rsqrt", **{name + "f": name for name in (
                   "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh pow sqrt rsqrt "
                   "cbrt fma fmax fmin fabs floor ceil round trunc rint erf erfc fmod hypot").split()}}

# Inputs have their declared type; arithmetic on them is to be in accum_t.
_WIDENED = """template <class T> struct Widened { const T* at; __device__ T operator[](long long i) const { return at[i]; } };
template <> struct Widened<float> {
  const float* at;
  __device__ accum_t operator[](long long i) const { return at[i]; }
};
"""


class ProblemFolder:
    """What stands in the folder. head: text that the kernel's source is compiled behind, such as defines."""

    def __init__(self, kernel: str, source: str, arguments: Sequence[Argument], outputs: Sequence[Argument],
                 in_place: Sequence[Argument]) -> None:
        self.kernel, self.source = kernel, source
        self.arguments, self.outputs, self.in_place = list(arguments), list(outputs), list(in_place)
        self.inputs = [each for each in arguments if each.pointer and each not in self.outputs]

    def input_files(self) -> Dict[str, bytes]:
        """File -> content, of the caller's values (operation run_reference)."""
        named = [(each.name, each) for each in self.inputs] + [(before(each), each) for each in self.in_place]
        return {f"{WORKLOAD}.given.{name}.bin": each.bytes(each.value) for name, each in named}

    def write(self, folder: Path, plan: Mapping[str, Any], defines: str, first_plan: Mapping[str, Any],
              first_defines: str) -> None:
        """Writes all files. `plan` is for the search, `first_plan` for the reference: one launch each."""
        files = {"problem.json": json.dumps(self._problem(), indent=2) + "\n",
                 "workloads.jsonl": json.dumps({"name": WORKLOAD, "axes": {}, "role": ["check", "time"],
                                                "tier": "emulator"}) + "\n",
                 "kernel.cu": _candidate(plan, defines + self.source),
                 "reference.cu": self._reference(first_plan, first_defines)}
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")

    def _name(self) -> str:
        return re.sub(r"[^a-z0-9_]", "_", "tuned_" + self.kernel.lower())

    def _problem(self) -> Dict[str, Any]:
        axes: Dict[str, Any] = {}

        def tensor(argument: Argument) -> Dict[str, Any]:
            for size in argument.shape:
                axes[f"D{size}"] = {"type": "const", "value": size}
            return {"shape": [f"D{size}" for size in argument.shape], "dtype": argument.dtype}

        inputs = {each.name: {**tensor(each), **_draw(each)} for each in self.inputs}
        inputs.update({before(each): {**tensor(each), **_draw(each)} for each in self.in_place})
        outputs = {each.name: tensor(each) for each in self.outputs}
        names = ", ".join(inputs)
        return {
            "name": self._name(), "summary": f"what {self.kernel} computes at its first point",
            "op_type": "tuned_kernel", "params": {},
            "definition": {"name": self._name(), "axes": axes, "inputs": inputs, "outputs": outputs,
                           "description": f"defined by {self.kernel} itself, at the first point of its parameters"},
            "aliases": {each.name: before(each) for each in self.in_place},
            # What a call has to do at least: of a kernel that is not understood, write its outputs.
            "flops": "0", "bytes_read": "0",
            "bytes_written": " + ".join(f"{each.elements} * sizeof_{each.name}" for each in self.outputs),
            "tolerance": {"factor": 4, "floor_ulps": 2 if self.exact_in_double() else _FLOOR_ULPS,
                          "reason": "points may sum in another order than the first one"},
            "distributions": [{"name": "normal", "kind": "normal"}, {"name": "uniform", "kind": "uniform"},
                              {"name": "integers", "kind": "small_integer"}],
            "mutations": [],
            "reference": f"def run({names}):\n    raise NotImplementedError('defined by reference.cu')\n"}

    def exact_in_double(self) -> bool:
        """The source can be compiled with double in place of float: nothing in it depends on the size of float, and
        arrays are only used element by element."""
        body = body_of(self.source, self.kernel)
        return not self.in_place and not _NO_DOUBLE.search(without_comments(self.source)) and all(
            each.dtype == "float32" for each in self.outputs) and not any(
                re.search(rf"&\s*{each.name}\b|\b{each.name}\b(?!\s*\[)", body)
                for each in self.arguments if each.pointer)

    def _reference(self, plan: Mapping[str, Any], defines: str) -> str:
        if self.exact_in_double():
            return _candidate(plan, defines + self._in_accum_t())
        return self._staged(plan, defines)

    def _in_accum_t(self) -> str:
        name = re.escape(self.kernel.split("<")[0])
        found = re.search(r"(__global__[^;{}]*?\b" + name + r"\s*\()([^{};]*)(\)\s*\{)", without_comments(self.source))
        assert found is not None  # its arguments were read from there
        parameters = ", ".join(
            f"out_t* {each.name}" if each in self.outputs else
            f"const {_CUDA[each.dtype]}* {each.name}_given" if each.pointer else f"{_CUDA[each.dtype]} {each.name}"
            for each in self.arguments)
        loads = "".join(f"\n  const Widened<{_CUDA[each.dtype]}> {each.name}{{{each.name}_given}};"
                        for each in self.inputs)
        start, end = found.span(2)
        body = found.end(3)
        return (_WIDENED + _wider(self.source[:start]) + parameters + self.source[end:body] + loads +
                _wider(self.source[body:]))

    def _staged(self, plan: Mapping[str, Any], defines: str) -> str:
        """The kernel as it is, between copies: its outputs are in memory of their own, then become those asked for."""
        launch = dict(plan["launches"][0])
        stage = {each.name: f"staged_{each.name}" for each in self.outputs}
        launch["args"] = [stage.get(each, each) if isinstance(each, str) else each for each in launch["args"]]
        launches: List[Any] = [_copy(before(each), stage[each.name], each, "as_it_is") for each in self.in_place]
        launches.append(launch)
        launches += [_copy(stage[each.name], each.name, each, f"result_{each.name}") for each in self.outputs]
        text = "".join(
            f"#ifdef AK_EXACT\nusing result_{each.name} = {'double' if each.dtype in _FLOATING else 'long long'};\n"
            f"#else\nusing result_{each.name} = {_CUDA[each.dtype]};\n#endif\n" for each in self.outputs)
        text += ("template <class From, class To> __global__ void copy_elements(const From* from, To* to, long long n) {\n"
                 "  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;\n"
                 "  if (i < n) to[i] = static_cast<To>(from[i]);\n}\n")
        workspace = [{"name": stage[each.name], "dtype": each.dtype, "count": each.elements}
                     for each in self.outputs]
        return _candidate({**plan, "workspace": workspace, "launches": launches}, defines + self.source + "\n" + text)


def before(argument: Argument) -> str:
    """The input that holds what an output in place is before the call."""
    return argument.name + "_before"


def _draw(argument: Argument) -> Dict[str, str]:
    """Integers lie between the least and the greatest of the caller's, so that indices stay in range."""
    if argument.dtype in _FLOATING or argument.dtype == "bool":
        return {}
    if hasattr(argument.value, "min"):
        low, high = int(argument.value.min()), int(argument.value.max())
    else:
        values = flattened(argument.value)
        low, high = min(values), max(values)
    return {"draw": f"integers({low}, {high})"}


def _copy(source: str, to: str, argument: Argument, kind: str) -> Dict[str, Any]:
    cuda = _CUDA[argument.dtype]
    return {"kernel": f"copy_elements<{cuda}, {cuda if kind == 'as_it_is' else kind}>",
            "grid": [-(-argument.elements // 256)], "block": [256], "args": [source, to, {"i64": argument.elements}]}


def _wider(text: str) -> str:
    text = re.sub(r"\bfloat\b", "accum_t", text)
    return re.sub(r"\b(\w+)(?=\s*\()", lambda found: _OVERLOADED.get(found.group(1), found.group(1)), text)


def _candidate(plan: Mapping[str, Any], source: str) -> str:
    return f"/* alphakernel\n{json.dumps(plan, indent=1)}\n*/\n{source}"
