"""Output buffers among a file's inputs: memory that it is handed to write its results into, and no input."""

import torch

from . import values
from .modes import Mode
from .problems import TaskError
from .precision import operator_name

ALLOCATING = frozenset("empty empty_like empty_strided new_empty new_empty_strided".split())
COPYING = frozenset("clone _to_copy".split())


class _Allocations(Mode):
    """Which tensors have been allocated and not written since."""

    def __init__(self):
        super().__init__()
        self.made = {}  # where its elements are -> a tensor that keeps the place its own

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = operator_name(function)
        if name in ALLOCATING or (name in COPYING and self.holds(args[0])):
            self.made[storage(result)] = result
        return result

    def holds(self, tensor):
        return storage(tensor) in self.made and tensor._version == 0


def memory(tensor):
    """What its elements are in; other tensors may be, too."""
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


def storage(tensor):
    """Where its elements are; 0 for tensors without contents."""
    return memory(tensor).data_ptr()


def paths(call, make_inputs, seed):
    """Of the buffers among what the file's generator makes.

    One is written, or returned, or allocated without contents; and no result depends on what is in it before, or
    that is zeros. Raises TaskError where results depend on memory that nothing was written to.
    """
    watch = _Allocations()
    with watch:
        drawn = call.draw(make_inputs, seed)
    leaves = {path: leaf for path, leaf in values.flattened(drawn)
              if isinstance(leaf, torch.Tensor) and leaf.numel()}
    empty = [path for path, leaf in leaves.items() if watch.holds(leaf)]
    for path in empty:
        leaves[path].zero_()
    before, written = _run(call, drawn, leaves, None)
    found = []
    for path in [path for path in leaves if path in written or path in empty]:
        again, _ = _run(call, drawn, leaves, path)
        ignored = len(before) == len(again) and all(_same(one, other) for one, other in zip(before, again))
        if not ignored and path in empty:
            raise TaskError("its results depend on what is in input %s, which is memory that nothing was written to"
                            % "_".join(str(key) for key in path))
        if ignored or not bool(leaves[path].any()):
            found.append(path)
    return found


def _same(one, other):
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and bool(((one == other) | ((one != one) & (other != other))).all())


def _run(call, drawn, leaves, filled):
    """(results, paths of tensors that were changed or returned). filled: path of a tensor that holds ones, or None."""
    copies = {path: torch.ones_like(leaf) if path == filled else leaf.clone() for path, leaf in leaves.items()}
    versions = {path: copy._version for path, copy in copies.items()}
    every = dict(values.flattened(drawn))
    every.update(copies)
    outputs = values.results(call.run(values.rebuilt(drawn, every)))
    returned = {storage(output) for output in outputs if output is not None and output.numel()}
    written = [path for path, copy in copies.items()
               if copy._version != versions[path] or storage(copy) in returned]
    if all(output is None for output in outputs):
        return [copies[path] for path in written], written
    return outputs, written


def results(outputs, buffers):
    """The results as the buffers hold them: their shapes and dtypes, and the buffers where nothing is returned."""
    if not [output for output in outputs if output is not None]:
        return list(buffers)
    if len(outputs) != len(buffers) or not all(output is not None and output.numel() == buffer.numel()
                                               for output, buffer in zip(outputs, buffers)):
        return outputs
    return [output.reshape(buffer.shape).to(buffer.dtype) for output, buffer in zip(outputs, buffers)]
