# SPDX-License-Identifier: Apache-2.0
"""The arguments of a kernel: its parameters as the source declares them, with the values that the caller has."""

from __future__ import annotations

import array
import re
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple

from ..errors import UsageError

# What a parameter's type is called in CUDA -> dtype of problem folders, letter of the module array.
_DTYPES = {
    "float": ("float32", "f"), "double": ("float64", "d"), "int": ("int32", "i"), "int32_t": ("int32", "i"),
    "unsigned int": ("uint32", "I"), "unsigned": ("uint32", "I"), "uint32_t": ("uint32", "I"),
    "long long": ("int64", "q"), "long long int": ("int64", "q"), "int64_t": ("int64", "q"), "long": ("int64", "q"),
    "short": ("int16", "h"), "int16_t": ("int16", "h"), "signed char": ("int8", "b"), "char": ("int8", "b"),
    "int8_t": ("int8", "b"), "unsigned char": ("uint8", "B"), "uint8_t": ("uint8", "B"), "bool": ("bool", "B"),
    "half": ("float16", ""), "__half": ("float16", ""), "__nv_bfloat16": ("bfloat16", ""),
}
# Vectors of a type are passed as pointers to it.
_VECTOR = re.compile(r"(float|double|int|short|char|half|__half|__nv_bfloat16)[1-4]")
_SCALARS = {"int32": "i32", "uint32": "i32", "int64": "i64", "float32": "f32", "float64": "f64"}


@dataclass
class Argument:
    """A parameter with its value. letter: of the module array; empty where that has none for the dtype."""

    name: str
    dtype: str
    letter: str
    pointer: bool
    const: bool
    value: Any
    shape: Tuple[int, ...] = ()

    @property
    def elements(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    def plan_scalar(self) -> Any:
        """As an argument of a launch plan."""
        kind = _SCALARS.get(self.dtype)
        if kind is None:
            raise UsageError(f"arguments: {self.name}: a scalar of type {self.dtype} is not supported; "
                             f"expected one of {', '.join(_SCALARS)}")
        return {kind: int(self.value) if kind[0] == "i" else float(self.value)}

    def bytes(self, value: Any) -> bytes:
        """The elements of `value` in this type, row-major and little-endian."""
        if hasattr(value, "astype"):
            return bytes(value.astype(self.dtype).tobytes())
        return array.array(self.letter, flattened(value)).tobytes()


def flattened(value: Any) -> List[Any]:
    """The elements of an array, or of lists within lists."""
    if hasattr(value, "ravel"):
        return list(value.ravel().tolist())
    found: List[Any] = []
    for each in value:
        found.extend(flattened(each) if isinstance(each, (list, tuple)) else [each])
    return found


def shape_of(value: Any) -> Tuple[int, ...]:
    """() of a scalar; (4, 8) of an array with 4 rows of 8, or of lists within a list."""
    if hasattr(value, "shape"):
        return tuple(int(size) for size in value.shape)
    if isinstance(value, (list, tuple)):
        inner = {shape_of(each) for each in value}
        if len(inner) != 1:
            raise UsageError("arguments: expected lists of equal lengths, and not empty")
        return (len(value), *inner.pop())
    return (len(value),) if isinstance(value, array.array) else ()


def without_comments(source: str) -> str:
    """The text with blanks for comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found.group()), source, flags=re.S)


def _parameters(kernel: str, source: str) -> List[str]:
    name = re.escape(kernel.split("<")[0])
    found = re.search(r"__global__[^;{}]*?\b" + name + r"\s*\(([^{};]*)\)\s*\{", without_comments(source))
    if found is None:
        raise UsageError(f"kernel_name: there is no __global__ function {kernel!r} in the source")
    text = " ".join(found.group(1).split())
    return [part.strip() for part in text.split(",")] if text else []


def _argument(declaration: str, value: Any) -> Argument:
    found = re.fullmatch(r"(.*?)([A-Za-z_]\w*)\s*(\[\s*\])?", declaration)
    if found is None:
        raise UsageError(f"the parameter {declaration!r} is not understood")
    pointer = "*" in found.group(1) or found.group(3) is not None
    words = re.sub(r"\b(__restrict__|__restrict|restrict|volatile)\b|\*", " ", found.group(1)).split()
    const = "const" in words
    kind = " ".join(word for word in words if word != "const")
    if pointer and _VECTOR.fullmatch(kind):
        kind = kind[:-1]
    if kind not in _DTYPES:
        raise UsageError(f"arguments: {found.group(2)}: the type {kind!r} is not supported; expected one of "
                         f"{', '.join(_DTYPES)}")
    dtype, letter = _DTYPES[kind]
    shape = shape_of(value)
    if pointer != bool(shape):
        raise UsageError(f"arguments: {found.group(2)}: the kernel takes {'a pointer' if pointer else 'a scalar'}, "
                         f"the argument is {'an array' if shape else 'a scalar'}")
    given = str(getattr(value, "dtype", dtype))
    if pointer and given != dtype:
        raise UsageError(f"arguments: {found.group(2)}: the kernel takes {dtype}, the array has {given}")
    return Argument(found.group(2), dtype, letter, pointer, const, value, shape)


def read_arguments(kernel: str, source: str, values: Sequence[Any]) -> List[Argument]:
    """The kernel's parameters with their values. Raises UsageError where they do not go together."""
    declared = _parameters(kernel, source)
    if len(declared) != len(values):
        raise UsageError(f"arguments: {kernel} takes {len(declared)}, got {len(values)}")
    return [_argument(text, value) for text, value in zip(declared, values)]


def body_of(source: str, kernel: str) -> str:
    """What stands in the braces of a kernel."""
    text = without_comments(source)
    start = re.search(r"__global__[^;{}]*?\b" + re.escape(kernel.split("<")[0]) + r"\s*\([^{};]*\)\s*\{", text)
    assert start is not None  # read_arguments() has found it
    depth, at = 1, start.end()
    while depth and at < len(text):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[start.end():at]


def written(argument: Argument, body: str) -> bool:
    """The kernel's body assigns to elements of the array, or takes an address for an atomic function."""
    name = re.escape(argument.name)
    return re.search(rf"\b{name}\s*\[(?:[^\[\]]|\[[^\[\]]*\])*\]\s*([-+*/%&|^]|<<|>>)?=(?!=)|\*\s*{name}\b[^;]*?[^=!<>]=(?!=)"
                     rf"|\batomic\w+\s*\(\s*&?\s*{name}\b", body) is not None


def read_too(argument: Argument, body: str) -> bool:
    """The body uses elements of the array that it writes: what is there before the call matters."""
    name = re.escape(argument.name)
    element = rf"\b{name}\s*\[(?:[^\[\]]|\[[^\[\]]*\])*\]"
    rest = re.sub(rf"{element}\s*=(?!=)", "", body)
    return re.search(rf"\b{name}\b", rest) is not None


def outputs_of(arguments: List[Argument], body: str, answer: Optional[Sequence[Any]]) -> List[Argument]:
    """What the kernel writes: the arrays that `answer` has a value for, else those that its text assigns to."""
    if answer is not None:
        if len(answer) != len(arguments):
            raise UsageError(f"answer: expected a value or None for each of the {len(arguments)} arguments, got "
                             f"{len(answer)}")
        named = [each for each, value in zip(arguments, answer) if value is not None]
        for each, value in zip(arguments, answer):
            if value is not None and (not each.pointer or shape_of(value) != each.shape):
                raise UsageError(f"answer: {each.name}: expected an array of the shape {each.shape}")
    else:
        named = []
    # What is written and has no answer is an output all the same: the harness protects inputs.
    found = [each for each in arguments if each.pointer and not each.const and (each in named or written(each, body))]
    if not found:
        raise UsageError("no array is seen to be written: name the outputs by `answer`, or make the inputs const")
    return found
