# SPDX-License-Identifier: Apache-2.0
"""Python that draws values like those of an example: of its shape and dtype, and within what it shows of its range.

Nothing here needs PyTorch or NumPy: arrays are asked for their own lists of numbers.
"""

from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence, Tuple

from .errors import UsageError

_MOST_LOOKED_AT = 65536  # elements of a tensor from which its range and shape of distribution are taken (chosen)
_FEW = 8  # so many different values are a choice among them
_KEPT = 4096  # elements of an example that is written down, as no rule fits it
# Excess of these: the kurtosis of uniform values is 1.8, of normal ones 3; half-way, and a third more.
_UNIFORM_BELOW, _NORMAL_BELOW = 2.3, 4.5
_SPREAD = 8  # how many mean distances from the end of a range its smallest value may be (3 in 10000 are beyond)


def drawn_like(values: Sequence[Any]) -> List[str]:
    """An expression for each: it makes a value like it, with `torch` in scope."""
    return [_drawn(value) for value in values]


def _drawn(value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return _number(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_drawn(part) for part in value) + "]"
    dtype = str(getattr(value, "dtype", "")).replace("torch.", "")
    if not dtype or not hasattr(value, "shape"):
        raise UsageError(f"inputs: expected tensors and numbers, got {type(value).__name__}")
    if "complex" in dtype:
        raise UsageError("inputs: complex numbers cannot be inputs of a problem; give real and imaginary parts")
    shape = [int(size) for size in value.shape]
    if 0 in shape:
        raise UsageError(f"inputs: a tensor of shape {shape} has no element; sizes are at least 1")
    return _tensor(_Example(value, shape, dtype))


def _number(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value)


class _Example:
    """A tensor, and the numbers that are looked at."""

    def __init__(self, value: Any, shape: List[int], dtype: str) -> None:
        self.value, self.shape, self.dtype = value, shape, dtype
        self.floating = dtype.startswith(("float", "bfloat"))
        self.rows = _rows(value, shape)
        self.numbers = [number for row in self.rows for number in row]

    def of(self, expression: str) -> str:
        """With the dtype of the example."""
        return expression if self.dtype == "float32" and self.floating else f"{expression}.to(torch.{self.dtype})"

    @property
    def complete(self) -> bool:
        return len(self.numbers) == math.prod(self.shape)


def _rows(value: Any, shape: List[int]) -> List[List[float]]:
    """Its last axis, row by row, as far as it is looked at; none where it does not show its values."""
    if not hasattr(value, "reshape"):
        return []
    value = value.detach() if hasattr(value, "detach") else value
    length = shape[-1] if shape else 1
    rows = value.reshape((-1, length))
    rows = rows[:: max(1, -(-math.prod(shape) // _MOST_LOOKED_AT))] if length <= _MOST_LOOKED_AT else rows[:1]
    return [[float(number) for number in row[:_MOST_LOOKED_AT]] for row in rows.tolist()]


def _tensor(example: _Example) -> str:
    if not example.numbers:
        return _unseen(example)
    for rule in (_constant, _counting, _triangle, _choice, _ordered, _whole, _uniform, _normal, _one_sided):
        found = rule(example)
        if found is not None:
            return found
    return _given(example)


def _unseen(example: _Example) -> str:
    if example.dtype == "bool":
        return f"torch.rand({example.shape}) < 0.5"
    if not example.floating:
        return f"torch.randint(0, 2, {example.shape}, dtype=torch.{example.dtype})"
    return f"torch.randn({example.shape}).to(torch.{example.dtype})"


def _constant(example: _Example) -> Optional[str]:
    if len(set(example.numbers)) != 1 or len(example.numbers) == 1 and example.floating:
        return None
    return f"torch.full({example.shape}, {_literal(example, example.numbers[0])}, dtype=torch.{example.dtype})"


def _literal(example: _Example, number: float) -> str:
    return _number(number) if example.floating else repr(bool(number) if example.dtype == "bool" else int(number))


def _counting(example: _Example) -> Optional[str]:
    """0, 1, 2, ... in order, or each of them once."""
    count = len(example.numbers)
    if len(example.shape) != 1 or count < 3 or not example.complete or example.dtype == "bool":
        return None
    if sorted(example.numbers) != list(range(count)):
        return None
    kind = "arange" if example.numbers == sorted(example.numbers) else "randperm"
    return f"torch.{kind}({count}).to(torch.{example.dtype})"


def _triangle(example: _Example) -> Optional[str]:
    """Matrices that are zero on one side of their diagonal."""
    shape = example.shape
    if len(shape) < 2 or shape[-2] < 3 or shape[-1] < 3 or len(example.rows) < shape[-2] or not example.complete:
        return None
    for name, beyond in (("tril", lambda row, column: column > row), ("triu", lambda row, column: column < row)):
        outside = [number for index, row in enumerate(example.rows) for column, number in enumerate(row)
                   if beyond(index % shape[-2], column)]
        inside = [number for index, row in enumerate(example.rows) for column, number in enumerate(row)
                  if not beyond(index % shape[-2], column)]
        if len(set(outside)) == len(set(inside)) == 1 and outside[0] != inside[0] and outside[0] != 0:
            hidden = f"torch.ones({shape}, dtype=torch.bool).{'triu(1)' if name == 'tril' else 'tril(-1)'}"
            seen = f"torch.full({shape}, {_literal(example, inside[0])}, dtype=torch.{example.dtype})"
            return f"{seen}.masked_fill({hidden}, {_literal(example, outside[0])})"
        if any(outside) or sum(number != 0 for number in inside) < 0.9 * len(inside):
            continue
        part = _Example(example.value, example.shape, "float32" if example.floating else example.dtype)
        part.rows, part.numbers = [inside], inside
        filled = _tensor(part)
        return example.of(f"torch.{name}({filled})") if example.floating else f"torch.{name}({filled})"
    return None


def _choice(example: _Example) -> Optional[str]:
    different = sorted(set(example.numbers))
    if len(different) > _FEW or len(example.numbers) < 4 * len(different):
        return None
    if not all(math.isfinite(number) for number in different):
        return None  # a mask: a row of infinities alone would have no result
    if set(different) == {0.0, 1.0}:
        share = sum(example.numbers) / len(example.numbers)
        hit = f"(torch.rand({example.shape}) < {share:.2g})"
        return hit if example.dtype == "bool" else f"{hit}.to(torch.{example.dtype})"
    if example.dtype == "bool" or not example.floating and different == list(range(int(different[0]),
                                                                                  int(different[-1]) + 1)):
        return None
    values = ", ".join(_literal(example, number) for number in different)
    return f"_one_of([{values}], {example.shape}, torch.{example.dtype})"


def _ordered(example: _Example) -> Optional[str]:
    """Rows that rise: of floating numbers sorted ones; what rising integers count, only they themselves say."""
    rising = all(a <= b for row in example.rows for a, b in zip(row, row[1:])) and len(example.rows[0]) >= 8
    if not rising:
        return None
    if not example.floating:
        return _given(example) if example.complete and len(example.numbers) <= _KEPT else None
    spread = _between(*_range(example.numbers), example.shape)
    return example.of(f"torch.sort({spread}, -1).values")


def _whole(example: _Example) -> Optional[str]:
    if example.dtype == "bool":
        return f"torch.rand({example.shape}) < 0.5"
    numbers = example.numbers
    if any(not math.isfinite(number) or number != math.floor(number) for number in numbers):
        return None
    low, high = _extremes(example)
    if not example.floating:
        return f"torch.randint({low}, {high + 1}, {example.shape}, dtype=torch.{example.dtype})"
    if high - low > 1 << 16:
        return None
    return f"torch.randint({low}, {high + 1}, {example.shape}).to(torch.{example.dtype})"


def _extremes(example: _Example) -> Tuple[int, int]:
    """Of the whole tensor: an index that was not looked at may be the largest."""
    if hasattr(example.value, "min") and not example.complete:
        return int(example.value.min()), int(example.value.max())
    return int(min(example.numbers)), int(max(example.numbers))


def _moments(numbers: Sequence[float]) -> Tuple[float, float, float]:
    """Mean, standard deviation, kurtosis."""
    mean = math.fsum(numbers) / len(numbers)
    second = math.fsum((number - mean) ** 2 for number in numbers) / len(numbers)
    fourth = math.fsum((number - mean) ** 4 for number in numbers) / len(numbers)
    return mean, math.sqrt(second), fourth / (second * second) if second > 0 else 0.0


def _range(numbers: Sequence[float]) -> Tuple[float, float]:
    """Ends of the range, as round as the numbers allow: those of 0.0003 to 0.9998 are 0 and 1."""
    low, high = min(numbers), max(numbers)
    gap = _SPREAD * (high - low) / len(numbers)
    return _round_within(low - gap, low, high - low), _round_within(high, high + gap, high - low)


def _round_within(low: float, high: float, scale: float) -> float:
    """The roundest number from low to high, both included; the end of the values where there is none."""
    if scale <= 0 or not math.isfinite(scale):
        return low
    if low <= 0 <= high:
        return 0.0
    for digits in range(3):
        step = 10.0 ** (math.floor(math.log10(max(abs(low), abs(high)))) - digits)
        candidate = math.ceil(low / step) * step
        if candidate <= high:
            return float(f"{candidate:.12g}")
    return float(f"{(low + high) / 2:.6g}")


def _between(low: float, high: float, shape: List[int]) -> str:
    width = float(f"{high - low:.6g}")
    scaled = f"torch.rand({shape})" + ("" if width == 1 else f" * {width!r}")
    return f"({scaled} {'+' if low > 0 else '-'} {abs(low)!r})" if low != 0 else f"({scaled})"


def _finite(example: _Example) -> bool:
    return example.floating and len(example.numbers) > 1 and all(math.isfinite(number) for number in example.numbers)


def _uniform(example: _Example) -> Optional[str]:
    if not _finite(example) or len(example.numbers) >= 16 and _moments(example.numbers)[2] > _UNIFORM_BELOW:
        return None
    if len(example.numbers) < 16 and min(example.numbers) < 0:
        return None  # too few to tell; negative ones are allowed, so that normal values do no harm
    return example.of(_between(*_range(example.numbers), example.shape))


def _normal(example: _Example) -> Optional[str]:
    if not _finite(example):
        return None
    mean, deviation, kurtosis = _moments(example.numbers)
    # Where no value is negative none may become so: a logarithm or a root would not be a number.
    if len(example.numbers) >= 16 and kurtosis > _NORMAL_BELOW or min(example.numbers) >= 0 and mean < 8 * deviation:
        return None
    error = 4 * deviation / math.sqrt(len(example.numbers))
    mean = _round_within(mean - error, mean + error, deviation)
    deviation = _round_within(max(deviation - error, deviation / 2), deviation + error, deviation)
    text = f"torch.randn({example.shape})" + ("" if deviation == 1 else f" * {deviation!r}")
    return example.of(f"({text} {'+' if mean > 0 else '-'} {abs(mean)!r})" if mean else f"({text})")


def _one_sided(example: _Example) -> Optional[str]:
    """Positive values with a tail, of their smallest value and mean square."""
    if not _finite(example) or min(example.numbers) < 0:
        return None
    low = float(f"{min(example.numbers) * 0.999:.6g}")
    size = math.sqrt(math.fsum((number - low) ** 2 for number in example.numbers) / len(example.numbers))
    return example.of(f"(torch.randn({example.shape}).abs() * {float(f'{size:.6g}')!r} + {low!r})")


def _given(example: _Example) -> str:
    """Its own values: all of them where they are few, else drawn from some of them."""
    few = example.complete and len(example.numbers) <= _KEPT
    step = 1 if few else max(1, -(-len(example.numbers) // _KEPT))
    values = ", ".join(_literal(example, number) for number in example.numbers[::step])
    if few:
        return f"torch.tensor([{values}], dtype=torch.{example.dtype}).reshape({example.shape})"
    return f"_one_of([{values}], {example.shape}, torch.{example.dtype})"


ONE_OF = '''def _one_of(values, shape, dtype):
    return torch.tensor(values, dtype=dtype)[torch.randint(0, len(values), shape)]
'''
