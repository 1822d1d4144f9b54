"""The arguments and results of a user's function as named, flat values."""

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


def flattened(value, path=()):
    """Pairs of path and leaf: tensors, numbers and None in lists, tuples and dicts, in order."""
    if isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, (list, tuple)):
        parts = list(enumerate(value))
    else:
        return [(path, value)]
    return [pair for key, part in parts for pair in flattened(part, path + (key,))]


def mapped_leaves(template, change, path=()):
    """`template` with change(path) in the place of every leaf."""
    if isinstance(template, dict):
        return {key: mapped_leaves(part, change, path + (key,)) for key, part in template.items()}
    if isinstance(template, (list, tuple)):
        parts = [mapped_leaves(part, change, path + (index,)) for index, part in enumerate(template)]
        return type(template)(*parts) if hasattr(template, "_fields") else type(template)(parts)
    return change(path)


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
