"""Matrices of which a part is zero by design: what a product with one needs, and which part has to be read."""

import torch

# Operators that multiply matrices: positions of both among the tensors they take.
PRODUCTS = {"mm": (0, 1), "bmm": (0, 1), "matmul": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2)}
TRIANGLES = frozenset(["upper", "lower"])


def triangles(tensor):
    """Which of `upper` and `lower` a square matrix (or each of a batch) is: both where it is diagonal.

    A small matrix may be one by accident: what holds at all sizes and for all draws is by design.
    """
    if tensor.dim() < 2 or tensor.shape[-1] != tensor.shape[-2] or tensor.shape[-1] < 2:
        return TRIANGLES if tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2] else frozenset()
    found = set()
    if not bool(torch.tril(tensor, -1).any()):
        found.add("upper")
    if not bool(torch.triu(tensor, 1).any()):
        found.add("lower")
    return frozenset(found)


def of_product(operator, tensors):
    """The triangles of both factors of a product, or None for other operators."""
    positions = PRODUCTS.get(operator)
    if positions is None or len(tensors) <= max(positions):
        return None
    return tuple(triangles(tensors[position].detach()) for position in positions)


def cost(left, right, out):
    """(factor, divisor, sizes) of the fewest operations of a product, or None where no factor is triangular.

    left, right: triangles of the factors. out: the shape of the result; the triangular factors are square.
    A dense factor next to a triangle of n rows and a result of width p costs p n (n + 1) operations.
    """
    batch, rows, columns = tuple(out[:-2]), out[-2], out[-1]
    if left == TRIANGLES and right == TRIANGLES:
        return 1, 1, batch + (rows,)
    if TRIANGLES in (left, right):
        return 1, 1, tuple(out)
    if left and right:
        # Twice the sum over k of (k + 1) (n - k), or of (k + 1)^2 where the triangles point different ways.
        last = rows + 2 if left == right else 2 * rows + 1
        return 1, 3, batch + (rows, rows + 1, last)
    if left:
        return 1, 1, batch + (columns, rows, rows + 1)
    if right:
        return 1, 1, batch + (rows, columns, columns + 1)
    return None


def elements_to_read(draws, word, shape):
    """A formula for the elements of an input that have to be read, or None: all of them.

    draws: the input under several seeds. word: its structure (structure.py). shape: names of its axes.
    """
    if word == "constant":
        return "1"
    known = TRIANGLES.intersection(*[triangles(tensor) for tensor in draws])
    batch = "".join(axis + " * " for axis in shape[:-2])
    if word == "symmetric" or len(known) == 1:
        return "%s%s * (%s + 1) // 2" % (batch, shape[-1], shape[-1])
    if known:
        return batch + shape[-1]
    masks = [tensor != 0 for tensor in draws]
    if word == "zero-patterned" and all(torch.equal(mask, masks[0]) for mask in masks):
        return "0"  # which elements a kernel needs is known beforehand, and follows no formula here
    return None
