"""The arguments and results of a user's function as named, flat values."""

import copy
import dataclasses
import keyword

import torch

# Words that a tensor of a kernel cannot have as its name: C++ and the kernel contract.
RESERVED = frozenset("""alignas alignof and asm auto bool break case catch char class const constexpr continue
decltype default delete do double else enum explicit export extern false float for friend goto if inline int long
mutable namespace new noexcept not nullptr operator or private protected public register return short signed sizeof
static struct switch template this throw true try typedef typeid typename union unsigned using virtual void volatile
while xor half accum_t out_t""".split())


def identifier(name, taken):
    """`name` as a tensor of a problem may be called, different from all in `taken`."""
    name = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name) or "value"
    if name[0].isdigit():
        name = "t" + name
    base = name + "_in" if name in RESERVED or keyword.iskeyword(name) else name
    candidate, count = base, 1
    while candidate in taken:
        count += 1
        candidate = base + ("_in" if count == 2 and not base.endswith("_in") else "_%d" % count)
    return candidate


def is_scalar(value):
    return isinstance(value, (bool, int, float))


def is_leaf(value):
    return value is None or is_scalar(value) or isinstance(value, torch.Tensor)


def _record(value):
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _parts(value):
    """Pairs of key and part of what holds values; None for a leaf."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(value._fields, value))
    if isinstance(value, (list, tuple)):
        return list(enumerate(value))
    if _record(value):
        # What a record says in words, such as a dtype, is no input and stays as it is.
        named = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
        return [pair for pair in named if not isinstance(pair[1], (str, torch.dtype, torch.device))]
    return None


def flattened(value, path=()):
    """Pairs of path and leaf: tensors, numbers and None in lists, tuples, dicts and records, in order."""
    parts = _parts(value)
    if parts is None:
        return [(path, value)]
    return [pair for key, part in parts for pair in flattened(part, path + (key,))]


def mapped_leaves(template, change, path=()):
    """`template` with change(path) in the place of every leaf."""
    parts = _parts(template)
    if parts is None:
        return change(path)
    made = {key: mapped_leaves(part, change, path + (key,)) for key, part in parts}
    if isinstance(template, dict):
        return made
    if _record(template):
        record = copy.copy(template)
        for name, part in made.items():
            object.__setattr__(record, name, part)  # frozen ones, too
        return record
    return type(template)(*made.values()) if hasattr(template, "_fields") else type(template)(made.values())


def rebuilt(template, leaves):
    """`template` with its leaves taken from `leaves` (by path)."""
    return mapped_leaves(template, lambda path: leaves[path])


def results(value):
    """The outputs of a reference in order: tensors, 0-D ones for numbers, None where it gives None."""
    outputs = []
    for path, leaf in flattened(value):
        if is_scalar(leaf):
            leaf = torch.tensor(leaf)
        elif leaf is not None and not isinstance(leaf, torch.Tensor):
            raise TypeError("it returns %s (%s): tensors, numbers and None are understood"
                            % (type(leaf).__name__, "result" + "".join("[%r]" % key for key in path)))
        outputs.append(leaf)
    return outputs
