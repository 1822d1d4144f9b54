"""Finds the patterns of the library's operators in a graph.

A pattern is a tree: a text is a variable (the same text is the same tensor), a number a constant, {"any": "eps"} any
constant, [operator, parts...] a node. {"shared": tree} is a node that others may use, too: a result of the fused operator.
Arguments of a node that a pattern leaves out are those that PyTorch has when nobody gives them. Views and casts between nodes do not matter, nor does the order of what is added or multiplied.
"""

from .graph import Place, through

EITHER_ORDER = frozenset(["add", "mul"])
# Names of one operator: with a number where there may be a tensor, and in place.
SAME = {"add_": "add", "mul_": "mul", "div_": "div", "relu_": "relu", "silu_": "silu", "sub_": "sub", "rsub": "sub"}


class Match:
    def __init__(self, pattern, root):
        self.pattern, self.root = pattern, root
        self.variables, self.constants, self.nodes, self.shared = {}, {}, [], []
        self.places = []  # where variables are taken: the same tensor may be behind several views

    def copy(self):
        other = Match(self.pattern, self.root)
        other.variables, other.constants = dict(self.variables), dict(self.constants)
        other.nodes, other.shared, other.places = list(self.nodes), list(self.shared), list(self.places)
        return other


def _name(node):
    return SAME.get(node.name, node.name)


def _same(a, b):
    return a is b or through(a)[-1] is through(b)[-1]


def _fits(tree, part, match):
    """The ways in which an argument fits a tree."""
    if isinstance(tree, (int, float)):
        if not isinstance(part, Place) and isinstance(part, (int, float)) and float(part) == float(tree):
            yield match
        return
    if isinstance(tree, dict) and "any" in tree:
        if not isinstance(part, Place):
            found = match.copy()
            found.constants[tree["any"]] = part
            yield found
        return
    if not isinstance(part, Place):
        return
    if isinstance(tree, str):
        known = match.variables.get(tree)
        if known is not None and not _same(known, part.value):
            return
        found = match.copy()
        found.variables.setdefault(tree, part.value)
        found.places.append(part.value)
        yield found
        return
    shared = isinstance(tree, dict)
    yield from _fits_node(tree["shared"] if shared else tree, part.value, match, shared)


def _fits_node(tree, value, match, shared=False):
    way = through(value)
    node = way[-1].node
    if node is None or _name(node) != tree[0]:
        return
    found = match.copy()
    found.nodes.append(node)
    found.nodes.extend(one.node for one in way[:-1])
    if shared:
        found.shared.append(node)
    given, wanted = node.parts(), tree[1:]
    while len(given) < len(wanted) and isinstance(wanted[-1], dict) and "any" in wanted[-1]:
        given.append((None, True))  # an argument that this version of PyTorch does not have
    needed = [part for part, usual in given[len(wanted):] if not usual and part is not None]
    if len(given) < len(wanted) or needed:
        return
    parts = [part for part, _ in given[:len(wanted)]]
    orders = [parts]
    if tree[0] in EITHER_ORDER and len(wanted) == 2:
        orders.append([parts[1], parts[0]])
    for order in orders:
        yield from _fits_all(wanted, order, found)


def _fits_all(trees, parts, match):
    if not trees:
        yield match
        return
    for found in _fits(trees[0], parts[0], match):
        yield from _fits_all(trees[1:], parts[1:], found)


def _closed(match):
    """Whether nothing outside uses what is inside: else it has to be computed all the same."""
    inside = set(map(id, match.nodes))
    for node in match.nodes:
        if node is match.root or node in match.shared:
            continue
        for value in node.outputs:
            if value.returned or any(id(use) not in inside and not _leads_inside(use, inside) for use in value.uses):
                return False
    return True


def _leads_inside(node, inside):
    """A view of it that only the match, or nobody, goes on with."""
    return node.moves_nothing() and all(id(use) in inside or _leads_inside(use, inside)
                                        for value in node.outputs for use in value.uses) and \
        not any(value.returned for value in node.outputs)


def matches_at(pattern, node):
    """The ways in which a pattern ends at a node."""
    if not node.outputs or _name(node) != pattern["match"][0]:
        return
    for found in _fits_node(pattern["match"], node.outputs[0], Match(pattern, node)):
        if _closed(found):
            yield found
