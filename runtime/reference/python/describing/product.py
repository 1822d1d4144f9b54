"""Modules that are one product of matrices, perhaps with a bias for each column."""

from .elementwise import Unknown
from .rows import SAME_ELEMENTS

ARRANGING = SAME_ELEMENTS | {"t", "transpose", "permute"}
PRODUCTS = {"mm": 0, "bmm": 0, "addmm": 1}  # where the factors are among the arguments


class Factor:
    """A matrix in memory, or a batch of them: its tensor, and whether it is stored by columns."""

    def __init__(self, argument, leaves):
        found = leaves(argument.tensor)
        if found is None:
            raise Unknown
        self.name, self.axes, _ = found
        rows, columns = argument.tensor.shape[-2:]
        strides = argument.tensor.stride()[-2:]
        batch = argument.tensor.shape[0] if argument.tensor.dim() == 3 else 1
        if argument.tensor.dim() == 3 and batch > 1 and argument.tensor.stride(0) != rows * columns:
            raise Unknown
        self.transposed = strides == (1, rows) and rows > 1 and columns > 1
        if not self.transposed and strides != (columns, 1):
            raise Unknown
        self.rows, self.columns, self.batch = rows, columns, batch

    def index(self, row, columns, column, rows):
        """The place of an element within its matrix; columns and rows are names of sizes."""
        return "%s * %s + %s" % ((column, rows, row) if self.transposed else (row, columns, column))


class Product:
    """The product of recorded calls: c = a b + bias. Raises Unknown where they are not one."""

    def __init__(self, calls, leaves):
        self.leaves = leaves
        products = [call for call in calls if call.name in PRODUCTS]
        if len(products) != 1 or any(call.name not in ARRANGING for call in calls if call not in products):
            raise Unknown
        call = products[0]
        first = PRODUCTS[call.name]
        if call.kwargs or len(call.args) != first + 2:
            raise Unknown
        self.a, self.b = (Factor(argument, leaves) for argument in call.args[first:first + 2])
        self.bias = self._bias(call.args[0]) if first else None
        if self.a.batch != self.b.batch:
            raise Unknown
        self._check_order(calls, call)

    def _bias(self, argument):
        found = self.leaves(argument.tensor)
        if found is None or tuple(argument.tensor.shape) != (self.b.columns,) or argument.tensor.stride() != (1,):
            raise Unknown
        return found[0]

    @staticmethod
    def _check_order(calls, product):
        """What follows the product only renames its axes."""
        after = calls[calls.index(product) + 1:]
        if any(not call.result.is_contiguous() for call in after):
            raise Unknown

    def used(self):
        return [self.a.name, self.b.name] + ([self.bias] if self.bias else [])
