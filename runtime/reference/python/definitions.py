"""FlashInfer-Bench definitions: a JSON file with axes, inputs, outputs and the source of `run`."""

import ast
import json

import torch

from .problems import TaskError

REQUIRED = ("name", "axes", "inputs", "outputs", "reference")
# Integers of random inputs, as FlashInfer-Bench draws them; int8 has its whole range.
INTEGER_BOUND = 1024


def read(path, text):
    try:
        definition = json.loads(text)
    except ValueError as error:
        raise TaskError("%s is not JSON: %s" % (path, error))
    missing = [key for key in REQUIRED if not isinstance(definition, dict) or key not in definition]
    if missing:
        raise TaskError("%s is not a definition: it has no %s" % (path, ", ".join(missing)))
    for name, tensor in definition["inputs"].items():
        dtype_of(name, tensor.get("dtype"))
    return definition


def dtype_of(name, text):
    dtype = getattr(torch, str(text), None)
    if not isinstance(dtype, torch.dtype):
        raise TaskError("%s has dtype %s, which PyTorch %s does not have" % (name, text, torch.__version__))
    return dtype


def sizes(definition):
    """Varying axes with a starting size: 16, or the smallest multiple of it that the constraints accept."""
    names = [name for name, axis in definition["axes"].items() if axis.get("type") == "var"]
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
    return known


def evaluated(expression, known):
    """An arithmetic expression over axes."""
    tree = ast.parse(expression, mode="eval")
    allowed = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Name, ast.Load, ast.Constant, ast.operator, ast.unaryop,
               ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop)
    if not all(isinstance(node, allowed) for node in ast.walk(tree)):
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


def inputs(definition, values):
    """Random inputs as the benchmark draws them: normal, integers within a bound."""
    known = axes(definition, values)
    return {name: _drawn(name, tensor, known) for name, tensor in definition["inputs"].items()}


def _drawn(name, tensor, known):
    dtype = dtype_of(name, tensor["dtype"])
    if tensor["shape"] is None:
        return 1.0 if dtype.is_floating_point else 1
    shape = [known[axis] for axis in tensor["shape"]]
    if dtype is torch.bool:
        return torch.rand(shape) < 0.5
    if dtype is torch.int8:
        return torch.randint(-128, 128, shape, dtype=dtype)
    if not dtype.is_floating_point:
        return torch.randint(-INTEGER_BOUND, INTEGER_BOUND + 1, shape, dtype=dtype)
    drawn = torch.randn(shape)
    return drawn.clamp(-2, 2).to(dtype) if torch.empty((), dtype=dtype).element_size() == 1 else drawn.to(dtype)
