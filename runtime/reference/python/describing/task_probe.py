"""Runs a task at chosen sizes and says what it meets: shapes, dtypes, operators, attributes of modules."""

import torch

from .. import trace
from ..problems import TaskError
from ..task import on_this_device
from ..values import is_scalar
from . import ties

# Attributes of modules that say how they compute, not how large their tensors are.
STRUCTURAL = ("kernel_size", "stride", "padding", "dilation", "groups", "output_padding", "num_groups", "num_heads",
              "output_size", "dim", "axis", "upscale_factor", "scale_factor", "num_layers")


class Probe:
    """What one run showed. Tensors are name -> (shape, dtype)."""

    def __init__(self, instance, inputs, outputs, steps):
        self.inputs = {name: _shape(value) for name, value in inputs.items()}
        self.weights = {name: _shape(value) for name, value in instance.weights.items()}
        self.outputs = [_shape(value) for value in outputs]
        self.numbers = {name: value for name, value in inputs.items() if is_scalar(value)}
        self.bytes = _bytes_of([*inputs.values(), *instance.weights.values()])
        self.steps = steps
        self.structure = structure_of(instance.module)
        self.indices = [None] * len(outputs)  # what ties.of says of them

    def sizes(self):
        """All sizes in one order, for comparisons between probes: of inputs, weights and outputs."""
        return [size for shape in self.shapes() for size in shape]

    def names(self):
        """Of inputs and weights, and how many outputs there are."""
        return list(self.inputs), list(self.weights), len(self.outputs)

    def shapes(self):
        tensors = list(self.inputs.values()) + list(self.weights.values()) + self.outputs
        return [shape for shape, _ in tensors if shape is not None]

    def data_sizes(self):
        return [shape for shape, _ in list(self.inputs.values()) + list(self.weights.values())]


def _shape(value):
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.dtype
    if is_scalar(value):
        return None, type(value)
    return None, None


def structure_of(module):
    if module is None:
        return ()
    found = []
    for path, part in module.named_modules():
        for attribute in STRUCTURAL:
            value = getattr(part, attribute, None)
            if type(value) is int or isinstance(value, (tuple, list)):
                found.append((path, attribute, str(value)))
    return tuple(found)


def probed(task, sizes, max_bytes, seed=1):
    """A probe of the task at sizes. Raises TaskError where it does not run there, or would fill more memory."""
    if _product(sizes.values()) > max_bytes // 8 and _bytes_of_data(task, sizes) > max_bytes:
        raise TaskError("it needs more than %d bytes for its inputs" % max_bytes)
    instance = task.instance(sizes)
    task.look_for_buffers(instance)
    inputs = instance.inputs(seed)
    steps, outputs = trace.traced(lambda: instance.run(inputs), list(inputs.values()))
    probe = Probe(instance, inputs, outputs, steps)
    probe.indices = ties.of(steps, inputs, outputs)
    return probe


def _product(values):
    product = 1
    for value in values:
        product *= max(value, 1)
    return product


def _bytes_of_data(task, sizes):
    """Bytes of inputs and weights, without making them; 0 where PyTorch cannot say."""
    try:
        with _MetaMode(), on_this_device():
            instance = task.instance(sizes)
            tensors = list(instance.inputs(1).values()) + list(instance.weights.values())
    except (TaskError, RuntimeError, NotImplementedError):
        return 0
    return _bytes_of(tensors)


def _bytes_of(values):
    return sum(value.numel() * value.element_size() for value in values if isinstance(value, torch.Tensor))


class _MetaMode(torch.overrides.TorchFunctionMode):
    """Makes tensors without contents, so that sizes of any scale can be looked at."""

    FACTORIES = frozenset("""rand randn randint zeros ones empty full arange tensor eye linspace randperm normal
                             as_tensor logspace""".split())

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if getattr(function, "__name__", "") in self.FACTORIES:
            kwargs["device"] = "meta"
            kwargs.pop("generator", None)
            kwargs.pop("pin_memory", None)
        return function(*args, **kwargs)


def shapes_without_contents(task, sizes):
    """A probe at sizes of any scale that neither fills memory nor computes; None where PyTorch cannot."""
    try:
        with _MetaMode(), on_this_device():
            instance = task.instance(sizes)
            inputs = instance.inputs(1)
            outputs = instance.run(inputs)
        return Probe(instance, inputs, outputs, [])
    except (TaskError, RuntimeError, NotImplementedError):
        return None
