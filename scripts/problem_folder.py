# SPDX-License-Identifier: Apache-2.0
"""Problem folders (docs/problem.md) for Python tools: params, expressions, tensors, workloads. Needs no package."""
import ast
import json
import math
import operator
import os
import pathlib
from dataclasses import dataclass, field

DTYPE_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1,
               "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint32": 4,
               "uint8": 1, "bool": 1, "uint4x2": 1, "int4x2": 1}
DRAWN = ("sum_", "max_", "used_", "distinct_")  # of an input's values, in formulas
DTYPE_ALIASES = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "int64": "i64",
                 "int32": "i32", "int16": "i16", "int8": "i8", "uint32": "u32", "uint8": "u8", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}


def _exact_division(a, b):
    if a % b:
        raise ValueError(f"{a} / {b} is not exact")
    return a // b


_BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: _exact_division,
           ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow}
_COMPARE = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
            ast.Gt: operator.gt, ast.GtE: operator.ge, ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b}
_FUNCTIONS = {"ceil_div": lambda a, b: -(-a // b), "round_up": lambda a, b: -(-a // b) * b, "min": min, "max": max,
              "abs": abs, "is_pow2": lambda a: int(a > 0 and a & (a - 1) == 0), "ilog2": lambda a: a.bit_length() - 1}


def evaluate(text, names):
    """Value of an expression of docs/candidate.md: an integer or a string. Nothing but the grammar there is run."""
    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, str)):
            return int(node.value) if isinstance(node.value, bool) else node.value
        if isinstance(node, ast.Name):
            if node.id not in names:
                raise ValueError(f"'{text}': unknown name '{node.id}'")
            return names[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return _BINARY[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp):
            operand = value(node.operand)
            return {ast.USub: lambda: -operand, ast.UAdd: lambda: operand,
                    ast.Not: lambda: int(not operand)}[type(node.op)]()
        if isinstance(node, ast.BoolOp):
            result = value(node.values[0])
            for other in node.values[1:]:
                if bool(result) == isinstance(node.op, ast.Or):
                    break
                result = value(other)
            return result
        if isinstance(node, ast.Compare):
            left = value(node.left)
            for op, right_node in zip(node.ops, node.comparators):
                right = value(right_node)
                if not _COMPARE[type(op)](left, right):
                    return 0
                left = right
            return 1
        if isinstance(node, ast.IfExp):
            return value(node.body) if value(node.test) else value(node.orelse)
        if isinstance(node, (ast.List, ast.Tuple)):
            return [value(item) for item in node.elts]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            return _FUNCTIONS[node.func.id](*[value(argument) for argument in node.args])
        raise ValueError(f"'{text}': {type(node).__name__} is not part of the expression language")

    return value(ast.parse(str(text), mode="eval").body)


@dataclass
class Tensor:
    name: str
    dtype: str
    axes: list  # names, outermost first


@dataclass
class Workload:
    name: str
    sizes: dict  # every axis, fixed ones included
    roles: list
    tier: str
    weight: float
    row: dict = field(repr=False, default_factory=dict)


@dataclass
class Instance:
    """A problem with its params chosen."""
    name: str
    definition: str
    params: dict
    inputs: list
    outputs: list
    workloads: list
    reference: str  # Python source with a top-level run
    json: dict = field(repr=False, default_factory=dict)

    def shape(self, tensor, workload):
        names = dict(self.params, **workload.sizes)
        # An expression over params may name an axis, or none.
        named = [axis for axis in (evaluate(text, names) for text in tensor.axes) if axis != ""]
        return [workload.sizes[axis] if isinstance(axis, str) else axis for axis in named]

    def amount(self, key, workload):
        """Value of flops, bytes_read or bytes_written; NaN where it depends on what is drawn (docs/problem.md)."""
        names = dict(self.params, **workload.sizes)
        names.update({prefix + t.name: math.nan for prefix in DRAWN for t in self.inputs})
        names.update({f"sizeof_{t.name}": DTYPE_BYTES[t.dtype] for t in self.inputs + self.outputs})
        return evaluate(self.json[key], names)


def template_folders(root):
    return sorted(path.parent for path in pathlib.Path(root).glob("*/problem.json"))


def default_root():
    return os.environ.get("ALPHAKERNEL_TEMPLATES") or pathlib.Path(__file__).resolve().parent.parent / "templates"


def tried_values(spec):
    """What a param is tried at, as by an audit: its choices, or of a range its default, what it names and its ends."""
    if spec["type"] == "boolean":
        return [False, True]
    ends = [spec[end] for end in ("minimum", "maximum") if end in spec]
    return spec.get("choices") or list(dict.fromkeys([spec["default"], *spec.get("tried", []), *ends]))


def choose_params(problem, given):
    specs = problem.get("params", {})
    unknown = set(given) - set(specs)
    if unknown:
        raise ValueError(f"{problem['name']} has no param {', '.join(sorted(unknown))}; it has {', '.join(specs)}")
    chosen = {}
    for name, spec in specs.items():
        value = given.get(name, spec["default"])
        if spec["type"] == "boolean":
            value = int(str(value).lower() in ("true", "1", "yes"))
        elif spec["type"] == "integer" or isinstance(spec["default"], int):
            value = int(value)
        else:
            value = {alias: full for full, alias in DTYPE_ALIASES.items()}.get(value, value)
        choices = spec.get("choices")
        if choices and spec["type"] != "boolean" and value not in choices:
            raise ValueError(f"{name}={value}: expected one of {choices}")
        if "minimum" in spec and value < spec["minimum"] or "maximum" in spec and value > spec["maximum"]:
            raise ValueError(f"{name}={value}: expected {spec.get('minimum', '')} to {spec.get('maximum', '')}")
        chosen[name] = value
    return chosen


def _definition_name(problem, params):
    name = problem["definition"]["name"]
    for param, spec in problem.get("params", {}).items():
        value = params[param]
        part = DTYPE_ALIASES.get(value, str(value))
        if spec["type"] == "boolean":
            part = param if value else "no_" + param
        name = name.replace("{" + param + "}", part)
        optional = "" if value == spec["default"] else f"_{param}_{part}" if spec["type"] != "boolean" else "_" + part
        name = name.replace("{?" + param + "}", optional)
    return name


def _tensors(specs, params):
    tensors = []
    for name, spec in specs.items():
        if "when" in spec and not evaluate(spec["when"], params):
            continue
        axes = list(spec["shape"] or [])
        if "transposed" in spec and evaluate(spec["transposed"], params):
            axes.reverse()
        dtype = params.get(spec["dtype"], spec["dtype"])
        tensors.append(Tensor(name, dtype if dtype in DTYPE_BYTES else evaluate(dtype, params), axes))
    return tensors


def load(folder, given=None):
    """Instance of the problem in `folder`; `given` maps params to values. ValueError says what is wrong."""
    folder = pathlib.Path(folder)
    problem = json.loads((folder / "problem.json").read_text())
    params = choose_params(problem, given or {})
    definition = problem["definition"]
    fixed = {name: evaluate(axis["value"], params)
             for name, axis in definition["axes"].items() if axis["type"] == "const"}
    workloads = []
    for line in (folder / "workloads.jsonl").read_text().splitlines():
        row = json.loads(line) if line.strip() else None
        if row is None or row["role"] == "held_out" or ("when" in row and not evaluate(row["when"], params)):
            continue
        roles = row["role"] if isinstance(row["role"], list) else [row["role"]]
        sizes = dict(row["axes"], **fixed)
        for name, axis in definition["axes"].items():
            if axis["type"] == "derived" and evaluate(axis.get("when", "True"), params):
                sizes[name] = evaluate(axis["value"], dict(params, **sizes))
        workloads.append(Workload(row["name"], sizes, roles, row.get("tier", "gpu"),
                                  row.get("weight", 1), row))
    reference = problem["reference"]
    if reference.endswith(".py") and "\n" not in reference:
        reference = (folder / reference).read_text()
    return Instance(problem["name"], _definition_name(problem, params), params,
                    _tensors(definition["inputs"], params), _tensors(definition["outputs"], params), workloads,
                    reference, problem)


def call_reference(instance, inputs):
    """Runs the problem's Python reference on {name: tensor}; a list of outputs."""
    import inspect
    scope = {}
    exec(compile(instance.reference, f"{instance.name}/reference", "exec"), scope)  # the problem's own code
    run = scope["run"]
    accepted = inspect.signature(run).parameters
    extra = {name: value for name, value in instance.params.items() if name in accepted and name not in inputs}
    # A boolean param may share its name with the tensor that it switches off.
    extra = {name: value for name, value in extra.items()
             if name not in instance.json["definition"]["inputs"]}
    result = run(**inputs, **extra)
    return list(result) if isinstance(result, (tuple, list)) else [result]
