"""The graph of what a model runs: one node for each operator of PyTorch, with what it takes and gives."""

import contextlib

import torch

from ..modes import Mode
from ..precision import operator_name
from ..trace import FREE, _cost, _flat

# Operators that only say how elements lie, or of which type they are: what they give is what they take.
TRANSPARENT = frozenset("""view _unsafe_view reshape _reshape_alias t transpose permute expand squeeze unsqueeze clone
contiguous detach alias _to_copy to lift_fresh view_as expand_as flatten unflatten movedim""".split())
# Arguments that say where and of which type a result is, not what it is.
FORM = frozenset(["dtype", "layout", "device", "pin_memory", "memory_format", "non_blocking"])
ATTENTION = "scaled_dot_product_attention"


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
        self.strides = tensor.stride() if tensor.layout is torch.strided else None
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

    def parts(self):
        """All of its arguments, in the order in which the operator has them, and of each whether it is as it is when nobody gives
        it, or says nothing of the result's numbers."""
        declared = getattr(getattr(self.function, "_schema", None), "arguments", [])
        if len(declared) < len(self.args):
            return [(part, False) for part in self.args]
        found = []
        for at, one in enumerate(declared):
            default = one.default_value if one.has_default_value() else None
            part = self.args[at] if at < len(self.args) else self.kwargs.get(one.name, default)
            usual = one.has_default_value() and not isinstance(part, Place) and part == default
            found.append((part, usual or one.name in FORM))
        return found

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
        self.nodes, self.values, self._alive, self.whole = [], {}, [], False

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
        if self.whole:
            return function(*args, **(kwargs or {}))
        return self.noted(function, args, kwargs or {}, function)

    def as_one(self, function, operator, args, kwargs):
        """The result of a function that is one operator here, whatever it runs."""
        self.whole = True
        try:
            return self.noted(operator, args, kwargs, function)
        finally:
            self.whole = False

    def noted(self, operator, args, kwargs, run):
        node = Node(operator, self.placed(tuple(args)), {name: self.placed(part) for name, part in kwargs.items()})
        result = run(*args, **kwargs)
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


class Functions(torch.overrides.TorchFunctionMode):
    """Attention is one operator, which PyTorch has in many forms, by type, shape, mask and version."""

    def __init__(self, recorder):
        super().__init__()
        self._recorder = recorder
        self._attention = getattr(torch.nn.functional, ATTENTION, None)

    def attend(self, *args, **kwargs):
        if self._recorder.whole:
            return self._attention(*args, **kwargs)
        args += tuple(kwargs.pop(name) for name in ("query", "key", "value")[len(args):])
        return self._recorder.as_one(self._attention, getattr(torch.ops.aten, ATTENTION).default, args, kwargs)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if self._attention is None or function is not self._attention:
            return function(*args, **(kwargs or {}))
        return self.attend(*args, **(kwargs or {}))

    def __enter__(self):
        if self._attention is not None:  # for what PyTorch's own functions call, which no mode sees
            setattr(torch.nn.functional, ATTENTION, self.attend)
        return super().__enter__()

    def __exit__(self, *raised):
        if self._attention is not None:
            setattr(torch.nn.functional, ATTENTION, self._attention)
        return super().__exit__(*raised)


@contextlib.contextmanager
def _in_small_operators():
    """Without operators that are a whole layer, as PyTorch's own modules of attention have them where nothing is learned."""
    switch = getattr(torch.backends, "mha", None)
    if switch is None or not hasattr(switch, "set_fastpath_enabled"):
        yield
        return
    before = switch.get_fastpath_enabled()
    switch.set_fastpath_enabled(False)
    try:
        yield
    finally:
        switch.set_fastpath_enabled(before)


def _without_idle_uses(nodes):
    """A node whose result nobody takes is no use of what it takes: a compiler leaves it out. What writes into its arguments, or
    gives numbers to Python, is one."""
    needed = set()
    for node in reversed(nodes):
        taken = any(value.returned or any(id(use) in needed for use in value.uses) for value in node.outputs)
        if taken or not node.outputs or getattr(getattr(node.function, "_schema", None), "is_mutable", False):
            needed.add(id(node))
    for node in nodes:
        for value in node.inputs:
            value.uses = [use for use in value.uses if id(use) in needed]
    return nodes


def recorded(run):
    """The nodes of what `run` computes, in its order."""
    recorder = Recorder()
    with torch.no_grad(), _in_small_operators(), recorder, Functions(recorder):
        results = run()
    for result in _flat([results]):
        if isinstance(result, torch.Tensor) and id(result) in recorder.values:
            recorder.values[id(result)].returned = True
    return _without_idle_uses(recorder.nodes)


def through(value):
    """The value behind views and casts, and those on the way, the last one first."""
    way = [value]
    while value.node is not None and value.node.moves_nothing() and value.node.inputs:
        value = value.node.inputs[0]
        way.append(value)
    return way


def replayed(nodes, known):
    """What nodes compute from other contents, all in float64. known: value -> tensor, of all that they take from elsewhere."""
    known = dict(known)

    def taken(part):
        if isinstance(part, Place):
            return known[part.value]
        if isinstance(part, torch.dtype) and part.is_floating_point:
            return torch.float64
        if isinstance(part, (list, tuple)):
            return type(part)(taken(one) for one in part)
        return part

    for node in nodes:
        result = node.function(*taken(node.args), **{name: taken(part) for name, part in node.kwargs.items()})
        for value, tensor in zip(node.outputs, [one for one in _flat([result]) if isinstance(one, torch.Tensor)]):
            known[value] = tensor
    return known
