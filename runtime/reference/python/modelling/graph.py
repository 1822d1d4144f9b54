"""The graph of what a model runs: one node for each operator of PyTorch, with what it takes and gives."""

import torch

from ..modes import Mode
from ..precision import operator_name
from ..trace import FREE, _cost, _flat

# Operators that only say how elements lie, or of which type they are: what they give is what they take.
TRANSPARENT = frozenset("""view _unsafe_view reshape _reshape_alias t transpose permute expand squeeze unsqueeze clone
contiguous detach alias _to_copy to lift_fresh view_as expand_as flatten unflatten movedim""".split())


class Place:
    """A tensor of a node's arguments, instead of the tensor."""

    def __init__(self, value):
        self.value = value


def _may_be_mask(tensor):
    """Whole numbers, truths, and small squares: what they hold decides what operators do with them."""
    square = tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2]
    return tensor.numel() <= 1 << 20 and (not tensor.dtype.is_floating_point or square)


class Value:
    """A tensor of the graph. node: what made it; None for an input or a weight. uses: the nodes that take it."""

    def __init__(self, tensor, node=None):
        self.shape, self.dtype, self.node = tuple(tensor.shape), tensor.dtype, node
        self.uses = []
        self.returned = False
        self.contents = tensor if _may_be_mask(tensor) else None

    @property
    def bytes(self):
        return self.count * torch.empty((), dtype=self.dtype).element_size()

    @property
    def count(self):
        return torch.Size(self.shape).numel()


class Node:
    def __init__(self, function, args, kwargs):
        self.function, self.args, self.kwargs = function, args, kwargs
        self.name = operator_name(function)
        self.outputs = []
        self.flops = 0

    @property
    def inputs(self):
        """Its tensors, in the order of its arguments."""
        return [part.value for part in _flat(list(self.args) + list(self.kwargs.values())) if isinstance(part, Place)]

    def moves_nothing(self):
        return self.name in TRANSPARENT

    def is_free(self):
        """A view that no kernel runs for, or a constant."""
        return self.name in FREE and self.name not in ("embedding", "index_select", "cat", "copy_", "clone", "index",
                                                       "gather", "where", "masked_fill", "stack", "roll", "flip")


class Recorder(Mode):
    """Records a node for every operator of a run."""

    def __init__(self):
        super().__init__()
        self.nodes, self.values, self._alive = [], {}, []

    def value(self, tensor):
        if id(tensor) not in self.values:
            self.values[id(tensor)] = Value(tensor)
            self._alive.append(tensor)  # its id is its own as long as it lives
        return self.values[id(tensor)]

    def placed(self, part):
        if isinstance(part, torch.Tensor):
            return Place(self.value(part))
        if isinstance(part, (list, tuple)):
            return type(part)(self.placed(one) for one in part) if not hasattr(part, "_fields") else part
        return part

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        node = Node(function, self.placed(tuple(args)), {name: self.placed(part) for name, part in kwargs.items()})
        result = function(*args, **kwargs)
        tensors = [part for part in _flat(list(args)) if isinstance(part, torch.Tensor)]
        outputs = [part for part in _flat([result]) if isinstance(part, torch.Tensor)]
        factor, sizes = _cost(node.name, args, tensors, outputs)
        node.flops = factor
        for size in sizes:
            node.flops *= size
        for value in node.inputs:
            value.uses.append(node)
        for output in outputs:
            made = Value(output, node)
            # What is changed in place is another value from here on; the old one stays with those who took it.
            self.values[id(output)] = made
            self._alive.append(output)
            node.outputs.append(made)
        self.nodes.append(node)
        return result


def recorded(run):
    """The nodes of what `run` computes, in its order."""
    recorder = Recorder()
    with torch.no_grad(), recorder:
        results = run()
    for result in _flat([results]):
        if isinstance(result, torch.Tensor) and id(result) in recorder.values:
            recorder.values[id(result)].returned = True
    return recorder.nodes


def through(value):
    """The value behind views and casts, and those on the way, the last one first."""
    way = [value]
    while value.node is not None and value.node.moves_nothing() and value.node.inputs:
        value = value.node.inputs[0]
        way.append(value)
    return way


def replayed(nodes, known):
    """What nodes compute from other contents. known: value -> tensor, of all that they take from elsewhere."""
    known = dict(known)

    def taken(part):
        if isinstance(part, Place):
            return known[part.value]
        if isinstance(part, (list, tuple)):
            return type(part)(taken(one) for one in part)
        return part

    for node in nodes:
        result = node.function(*taken(node.args), **{name: taken(part) for name, part in node.kwargs.items()})
        for value, tensor in zip(node.outputs, [one for one in _flat([result]) if isinstance(one, torch.Tensor)]):
            known[value] = tensor
    return known
