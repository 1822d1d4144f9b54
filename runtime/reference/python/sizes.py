"""The integers of a Python file that may be replaced: literals at its top level.

`N = 2048 * 2`, `height = width = 128`, `d, h = 16, 64` and `shape = (64, 128)` define sizes
(`shape_0`, `shape_1` for the elements of a tuple); what is computed from them follows.
Functions that make inputs may define sizes too: their local `N = 64`, and plain literals,
which are one size `size_64` wherever the same number is written.
"""

import ast

INPUT_FUNCTIONS = ("get_inputs", "get_init_inputs", "example_inputs", "example_args")


class Size:
    """One integer of the file: its value, and where it is written ((line, column) of expressions)."""

    def __init__(self, value):
        self.value = value
        self.places = []


def integer_of(node):
    """The value of an expression that has only integers in it, or None."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = integer_of(node.operand)
        if value is None:
            return None
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        left, right = integer_of(node.left), integer_of(node.right)
        return None if left is None or right is None else _combined(node.op, left, right)
    return None


def _combined(op, left, right):
    if isinstance(op, ast.Add):
        return left + right
    if isinstance(op, ast.Sub):
        return left - right
    if isinstance(op, ast.Mult):
        return left * right
    if isinstance(op, ast.FloorDiv) and right != 0:
        return left // right
    if isinstance(op, ast.Pow) and 0 <= right <= 64:
        return left ** right
    if isinstance(op, ast.LShift) and 0 <= right <= 64:
        return left << right
    return None


def _place(node):
    return (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


class _Collector:
    def __init__(self):
        self.sizes = {}
        self.rejected = set()

    def add(self, name, node):
        value = integer_of(node)
        if value is None:
            return False
        if name in self.sizes:
            # Two values of one name: which one counts where, only running the file could say.
            self.rejected.add(name)
            return True
        size = self.sizes[name] = Size(value)
        size.places.append(_place(node))
        return True

    def assignment(self, targets, value):
        for target in targets:
            if isinstance(target, ast.Name):
                self._to_name(target.id, value)
            elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                for part, part_value in zip(target.elts, value.elts):
                    if isinstance(part, ast.Name):
                        self._to_name(part.id, part_value)

    def _to_name(self, name, value):
        if isinstance(value, (ast.Tuple, ast.List)):
            for index, element in enumerate(value.elts):
                self.add("%s_%d" % (name, index), element)
        elif not self.add(name, value) and name in self.sizes:
            self.rejected.add(name)

    def statements(self, body):
        for statement in body:
            if isinstance(statement, ast.Assign):
                self.assignment(_one_place(statement), statement.value)
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                self.assignment([statement.target], statement.value)

    def literals(self, function, named):
        for node in ast.walk(function):
            if type(getattr(node, "value", None)) is int and isinstance(node, ast.Constant):
                if node.value < 2 or _place(node) in named:
                    continue
                size = self.sizes.setdefault("size_%d" % node.value, Size(node.value))
                size.places.append(_place(node))


def _one_place(statement):
    """`height = width = 128`: one literal, so one size. The first name stands for both."""
    return statement.targets[:1]


def collect(tree):
    """The sizes of a parsed file, in its order: dict of name -> Size."""
    collector = _Collector()
    collector.statements(tree.body)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in INPUT_FUNCTIONS]
    for function in functions:
        collector.statements(function.body)
    named = {place for size in collector.sizes.values() for place in size.places}
    for function in functions:
        collector.literals(function, named | _inside(function, named))
    return {name: size for name, size in collector.sizes.items() if name not in collector.rejected}


def _inside(function, named):
    """Places of literals within named expressions: the 2048 of `N = 2048 * 2`."""
    inner = set()
    for node in ast.walk(function):
        if hasattr(node, "lineno") and _place(node) in named:
            inner.update(_place(part) for part in ast.walk(node) if hasattr(part, "lineno"))
    return inner


class _Replacer(ast.NodeTransformer):
    def __init__(self, values):
        self.values = values

    def visit(self, node):
        if hasattr(node, "lineno") and isinstance(node, ast.expr) and _place(node) in self.values:
            return ast.copy_location(ast.Constant(self.values[_place(node)]), node)
        return self.generic_visit(node)


def replaced(tree, found, values):
    """The tree with the sizes named in `values` replaced (the tree itself is changed)."""
    places = {place: value for name, value in values.items() for place in found[name].places}
    return ast.fix_missing_locations(_Replacer(places).visit(tree)) if places else tree
