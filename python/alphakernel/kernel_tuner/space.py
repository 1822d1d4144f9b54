# SPDX-License-Identifier: Apache-2.0
"""Parameters, restrictions and sizes of Kernel Tuner as tunables, constraints and expressions of a launch plan.

Texts in the language of plans (docs/candidate.md) are taken over with other names. Any other text, and every function,
becomes a table: what it gives for each combination of the parameters that it looks at.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple, Union

from ..errors import UsageError

Rule = Union[str, int, Callable[[Mapping[str, Any]], Any]]

_MAX_ENTRIES = 4096  # of a table; the plan that holds it has at most 64 KiB
_MAX_TEXT = 3500  # of one expression of a plan, which has at most 4096 characters
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.And, ast.Or, ast.Not, ast.USub, ast.Eq, ast.NotEq,
              ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_NODES = (ast.Expression, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Name, ast.Load, ast.Constant,
          *_OPERATORS)
_FUNCTIONS = {"min": min, "max": max, "abs": abs, "int": int, "round": round, "ceil": math.ceil, "floor": math.floor,
              "math": math}


class _Seen(Dict[str, Any]):
    """Parameters of a point that notes which of them are read."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.read: Set[str] = set()

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        self.read.add(name)
        return value

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default


class Space:
    """tune_params with the names that plans can have."""

    def __init__(self, tune_params: Mapping[str, Sequence[Any]]) -> None:
        self.values: Dict[str, List[int]] = {}
        self.names: Dict[str, str] = {}
        for name, values in tune_params.items():
            if not re.fullmatch(r"[A-Za-z_]\w*", name):
                raise UsageError(f"tune_params: {name!r} is no identifier")
            self.values[name] = [self._integer(name, value) for value in values]
            if not self.values[name]:
                raise UsageError(f"tune_params: {name} has no values")
            self.names[name] = self._plan_name(name)

    @staticmethod
    def _integer(name: str, value: Any) -> int:
        if isinstance(value, (str, bytes)) or int(value) != value:
            raise UsageError(f"tune_params: {name}: expected integers, got {value!r}")
        return int(value)

    def _plan_name(self, name: str) -> str:
        plan = re.sub(r"^_+", "", name.upper()) or "P"
        while plan in self.names.values():
            plan += "_"
        return plan

    def value(self, rule: Rule, what: str) -> str:
        """An integer over the parameters, as an expression of a plan."""
        if isinstance(rule, str):
            return self._translated(rule) or self._table(self._evaluated(rule, what), what, int)
        if callable(rule):
            return self._table(rule, what, int)
        return str(int(rule))

    def condition(self, rule: Rule, what: str) -> str:
        """A restriction as a constraint of a plan."""
        if isinstance(rule, str):
            return self._translated(rule) or self._table(self._evaluated(rule, what), what, bool)
        if callable(rule):
            return self._table(rule, what, bool)
        raise UsageError(f"{what}: expected texts and functions, got {rule!r}")

    def _translated(self, text: str) -> Optional[str]:
        """The text with the plan's names, where it is in the plan's language."""
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except SyntaxError as error:
            raise UsageError(f"{text!r} is no expression: {error.msg}") from None
        for node in ast.walk(tree):
            known = isinstance(node, _NODES) and not (isinstance(node, ast.Name) and node.id not in self.names)
            if not known or (isinstance(node, ast.Constant) and not isinstance(node.value, int)):
                return None
            if isinstance(node, ast.Name):
                node.id = self.names[node.id]
        translated = ast.unparse(tree)
        return translated if len(translated) <= _MAX_TEXT else None

    def _evaluated(self, text: str, what: str) -> Callable[[Mapping[str, Any]], Any]:
        code = compile(text.strip(), what, "eval")
        unknown = [name for name in code.co_names
                   if name not in self.values and name not in _FUNCTIONS and not hasattr(math, name)]
        if unknown:
            raise UsageError(f"{what}: {text!r}: {unknown[0]!r} is no parameter; known: {', '.join(self.values)}")
        return lambda point: eval(code, {"__builtins__": {}, **_FUNCTIONS},
                                  {name: point[name] for name in code.co_names if name in self.values})

    def _table(self, rule: Callable[[Mapping[str, Any]], Any], what: str, kind: Callable[[Any], Any]) -> str:
        names, entries = self._entries(rule, what, kind)
        terms: List[str] = []  # of the place of a point: values as digits of a number
        size = 1
        for name in reversed(names):
            terms.append(self.names[name] if size == 1 else f"{size} * {self.names[name]}")
            size *= max(self.values[name]) + 1
        index = " + ".join(terms) or "0"
        places: Dict[Any, List[int]] = {}
        for values, result in entries:
            place = 0
            for name, value in zip(names, values):
                place = place * (max(self.values[name]) + 1) + value
            places.setdefault(result, []).append(place)
        text = self._choice(places, index, kind is bool)
        if len(text) > _MAX_TEXT:
            raise UsageError(f"{what}: its {len(entries)} cases over {', '.join(names)} are too many for a launch plan; "
                             "write it as texts such as \"block_size_x == 2 * block_size_y\"")
        return text

    @staticmethod
    def _choice(places: Dict[Any, List[int]], index: str, condition: bool) -> str:
        if condition:
            rare = min((False, True), key=lambda each: len(places.get(each, [])))
            listed = places.get(rare, [])
            return str(not rare) if not listed else f"({index}) {'in' if rare else 'not in'} {listed}"
        common = max(places, key=lambda each: len(places[each]))
        text = str(common)
        for result, listed in places.items():
            if result != common:
                text = f"{result} if ({index}) in {listed} else ({text})"
        return text

    def _entries(self, rule: Callable[[Mapping[str, Any]], Any], what: str,
                 kind: Callable[[Any], Any]) -> Tuple[List[str], List[Tuple[Tuple[int, ...], Any]]]:
        """The parameters that a rule looks at, and what it gives for each combination of their values."""
        first = {name: values[0] for name, values in self.values.items()}
        read: Set[str] = set()
        while True:
            names = [name for name in self.values if name in read]
            if math.prod(len(self.values[name]) for name in names) > _MAX_ENTRIES:
                raise UsageError(f"{what}: a function of {', '.join(names)} has more than {_MAX_ENTRIES} cases; write it "
                                 "as texts such as \"block_size_x == 2 * block_size_y\"")
            if any(min(self.values[name]) < 0 for name in names):
                raise UsageError(f"{what}: functions of parameters with negative values are not supported")
            entries = []
            for values in itertools.product(*(self.values[name] for name in names)):
                seen = _Seen({**first, **dict(zip(names, values))})
                try:
                    entries.append((values, kind(rule(seen))))
                except (KeyError, NameError) as error:
                    raise UsageError(f"{what}: {error} is no parameter; known: {', '.join(self.values)}") from None
                if not seen.read <= read:
                    read |= seen.read
                    break
            else:
                return names, entries
