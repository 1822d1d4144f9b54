"""How integer inputs of a FlashInfer-Bench definition are drawn: by what their names say they index."""

import re

import torch

# `A == B[-1].item()`: the last of the offsets B is the size of the axis A.
LAST_OFFSET = re.compile(r"^\s*(\w+)\s*==\s*(\w+)\[-1\](?:\.item\(\))?\s*$")
OFFSETS = re.compile(r"(indptr|_ptr|offsets?|cu_seq_?lens?\w*|start_locs?)$")
LAST_PAGE = re.compile(r"last_page_lens?$")
INDICES = re.compile(r"(indices|index|idx|_ids|block_tables?|page_tables?|slot_mapping)$")
LENGTHS = re.compile(r"(seq_?lens?|lengths?|_lens?)$")


class Draw:
    """kind: as problem.json has it, with bounds over axes. bound: the expression in its parentheses."""

    def __init__(self, kind, bound):
        self.kind = kind
        self.bound = bound
        self.text = "integers(1, %s)" % bound if kind == "integers" else "%s(%s)" % (kind, bound)

    def values(self, shape, dtype, bound):
        if self.kind == "offsets":
            inner = torch.randint(0, bound + 1, shape).sort(-1).values
            inner[..., 0], inner[..., -1] = 0, bound
            return inner.to(dtype)
        low = 0 if self.kind == "index" else 1
        return torch.randint(low, max(bound, 1) + low, shape).to(dtype)


def of(definition):
    """Input -> Draw, of those whose names say what they index."""
    inputs = definition["inputs"]
    integers = {name: tensor for name, tensor in inputs.items() if tensor["shape"] and "int" in tensor["dtype"]}
    last = {}
    for constraint in definition.get("constraints") or []:
        found = LAST_OFFSET.match(constraint)
        if found:
            last[found.group(2)] = found.group(1)
    draws = {}
    for name, tensor in integers.items():
        for pattern, kind, bound_of in RULES:
            if pattern.search(name):
                bound = bound_of(definition, name, tensor, last)
                if bound:
                    draws[name] = Draw(kind, bound)
                break
    return draws


def _offsets_bound(definition, name, tensor, last):
    """The axis of what the offsets cut into parts."""
    inputs = definition["inputs"]
    if name in last:
        return last[name]
    prefix = OFFSETS.sub("", name).strip("_")
    for other, candidate in inputs.items():
        if other != name and candidate["shape"] and prefix and other.startswith(prefix) and INDICES.search(other):
            return candidate["shape"][0]
    names = [prefix, prefix[:1], "q", "k", "x"]
    for other in [one for one in names if one in inputs] + list(inputs):
        shape = inputs[other]["shape"]
        if shape and len(shape) > 1 and _varies(definition, shape[0]) and shape[0] not in tensor["shape"]:
            return shape[0]
    return None


def _pages_bound(definition, name, tensor, last):
    """The axis of what the indices select from: pages of a cache, or rows of a table."""
    for other, candidate in definition["inputs"].items():
        if candidate["shape"] and len(candidate["shape"]) > 1 and re.search(r"cache|pool|table|embed|weight", other) \
                and "int" not in candidate["dtype"]:
            return candidate["shape"][0]
    return None


def _page_bound(definition, name, tensor, last):
    return next((axis for axis in definition["axes"] if axis in ("page_size", "block_size")), None)


def _length_bound(definition, name, tensor, last):
    """The places that the longest sequence has: those of a row of a table of pages, or of an axis for them."""
    page = _page_bound(definition, name, tensor, last)
    for other, candidate in definition["inputs"].items():
        if candidate["shape"] and len(candidate["shape"]) == 2 and INDICES.search(other):
            return candidate["shape"][1] + (" * " + page if page else "")
    return next((axis for axis in definition["axes"] if re.search(r"max_?(seq|kv|len)|^(seq|kv)_?len", axis)), None)


def _varies(definition, axis):
    return definition["axes"].get(axis, {}).get("type") == "var"


RULES = ((LAST_PAGE, "integers", _page_bound), (OFFSETS, "offsets", _offsets_bound),
         (INDICES, "index", _pages_bound), (LENGTHS, "lengths", _length_bound))
