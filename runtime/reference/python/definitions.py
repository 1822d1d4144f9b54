"""FlashInfer-Bench definitions: a JSON file with axes, inputs, outputs and the source of `run`."""

import ast
import json
import os

import torch

from . import definition_draws
from .problems import TaskError

REQUIRED = ("name", "axes", "inputs", "outputs", "reference")
# Integers of random inputs, as FlashInfer-Bench draws them; int8 has its whole range.
INTEGER_BOUND = 1024
ARITHMETIC = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Name, ast.Load, ast.Constant, ast.operator, ast.unaryop,
              ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop)


def read(path, text):
    try:
        definition = json.loads(text)
    except ValueError as error:
        raise TaskError("%s is not JSON: %s" % (os.path.basename(path), error))
    missing = [key for key in REQUIRED if not isinstance(definition, dict) or key not in definition]
    if missing:
        raise TaskError("%s is not a definition: it has no %s" % (os.path.basename(path), ", ".join(missing)))
    for name, tensor in definition["inputs"].items():
        dtype_of(name, tensor.get("dtype"))
    return definition


def dtype_of(name, text):
    dtype = getattr(torch, str(text), None)
    if not isinstance(dtype, torch.dtype):
        raise TaskError("%s has dtype %s, which PyTorch %s does not have" % (name, text, torch.__version__))
    return dtype


def derived(definition):
    """Axes that a constraint gives the size of: axis -> expression over others."""
    found = {}
    for constraint in definition.get("constraints") or []:
        name, equals, expression = (part.strip() for part in constraint.partition("=="))
        varies = definition["axes"].get(name, {}).get("type") == "var"
        if equals and varies and _over_axes(definition, expression, name):
            found.setdefault(name, expression)
    return found


def _over_axes(definition, expression, name):
    """Is it arithmetic over other axes? Over the contents of inputs it is not."""
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError:
        return False
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return all(isinstance(node, ARITHMETIC) for node in ast.walk(tree)) and name not in names and all(
        other in definition["axes"] for other in names)


def sizes(definition, rows):
    """Varying axes with a size: that of the last workload; without one 16, or what the constraints accept."""
    follows = derived(definition)
    names = [name for name, axis in definition["axes"].items() if axis.get("type") == "var" and name not in follows]
    if rows:
        missing = [name for name in names if name not in rows[-1][1]]
        if missing:
            raise TaskError("its last workload has no size for %s" % ", ".join(missing))
        return {name: rows[-1][1][name] for name in names}
    for value in (16, 1, 2, 4, 8, 32, 64, 128):
        if _accepted(definition, {name: value for name in names}):
            return {name: value for name in names}
    return {name: 16 for name in names}


def axes(definition, values):
    """All axes with their sizes."""
    known = dict(values)
    for name, axis in definition["axes"].items():
        if axis.get("type") == "const":
            known[name] = axis["value"]
        elif axis.get("type") == "expr":
            known[name] = evaluated(axis["expression"], known)
    for name, expression in derived(definition).items():
        known[name] = evaluated(expression, known)
    return known


def evaluated(expression, known):
    """An arithmetic expression over axes."""
    tree = ast.parse(expression, mode="eval")
    if not all(isinstance(node, ARITHMETIC) for node in ast.walk(tree)):
        raise TaskError("%r is not an expression over axes" % expression)
    return eval(compile(tree, "<axis>", "eval"), {"__builtins__": {}}, dict(known))


def _accepted(definition, values):
    known = axes(definition, values)
    for constraint in definition.get("constraints") or []:
        try:
            if not evaluated(constraint, known):
                return False
        except (TaskError, NameError, TypeError, SyntaxError):
            continue  # a constraint over the contents of inputs, not over sizes
    return True


def inputs(definition, values, scalars):
    """Inputs as the benchmark draws them: normal, integers within a bound; valid offsets and indices.

    scalars: input -> its values, of which this takes the first.
    """
    known, draws = axes(definition, values), definition_draws.of(definition)
    made = {}
    for name, tensor in definition["inputs"].items():
        if name in draws and tensor["shape"]:
            shape = [known[axis] for axis in tensor["shape"]]
            bound = evaluated(draws[name].bound, known)
            made[name] = draws[name].values(shape, dtype_of(name, tensor["dtype"]), bound)
        elif tensor["shape"] is None and scalars.get(name):
            made[name] = _number(name, tensor, scalars[name][0])
        else:
            made[name] = _drawn(name, tensor, known)
    return made


def _number(name, tensor, value):
    dtype = dtype_of(name, tensor["dtype"])
    return bool(value) if dtype is torch.bool else float(value) if dtype.is_floating_point else int(value)


def _drawn(name, tensor, known):
    dtype = dtype_of(name, tensor["dtype"])
    if tensor["shape"] is None:
        return _number(name, tensor, 1)
    shape = [known[axis] for axis in tensor["shape"]]
    if dtype is torch.bool:
        return torch.rand(shape) < 0.5
    if dtype is torch.int8:
        return torch.randint(-128, 128, shape, dtype=dtype)
    if not dtype.is_floating_point:
        return torch.randint(-INTEGER_BOUND, INTEGER_BOUND + 1, shape, dtype=dtype)
    drawn = torch.randn(shape)
    return drawn.clamp(-2, 2).to(dtype) if torch.empty((), dtype=dtype).element_size() == 1 else drawn.to(dtype)
