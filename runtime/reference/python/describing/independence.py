"""What a file draws depends on our seed alone, and its results on its inputs and weights alone."""

import torch

from .. import trace
from ..problems import TaskError
from ..values import is_scalar
from .judging import same

SEEDS = (1, 2, 3)
MAX_NAMED = 6


def refuse_unseeded(task, sizes):
    """Raises TaskError where one seed gives other inputs or weights the next time."""
    first, again = [_drawn(task, sizes, SEEDS[0]) for _ in range(2)]
    for name, value in first.items():
        if isinstance(value, torch.Tensor) and not same(value, again[name]):
            raise TaskError("%s differs between two draws of one seed: it is drawn by a generator that no seed "
                            "reaches, or that the file seeds anew each time, such as by the clock" % name)


def unmoved_inputs(task, sizes):
    """Names of inputs that are the same under every seed, though they are not constant.

    Raises TaskError where they are drawn at random all the same, or where a number is drawn.
    """
    instance = task.instance(sizes)
    if not instance.draws_inputs:
        return []
    draws = [instance.inputs(seed) for seed in SEEDS]
    for name, value in draws[0].items():
        if is_scalar(value) and any(other[name] != value for other in draws):
            raise TaskError("input %s is a number that differs from seed to seed: make it a tensor, or a constant"
                            % name)
    varied = [name for name, value in draws[0].items() if isinstance(value, torch.Tensor) and _varied(value)]
    unmoved = [name for name in varied if all(same(draws[0][name], other[name]) for other in draws)]
    if unmoved and len(unmoved) == len(varied) and _draws_at_random(instance):
        raise TaskError("%s is drawn at random, but is the same under every seed: draw it with torch, random or "
                        "numpy.random" % ", ".join(unmoved))
    return unmoved


def refuse_hidden_values(task, sizes):
    """Raises TaskError where two instances with the same inputs and weights give different results."""
    instance = task.instance(sizes)
    if not instance.draws_inputs:
        return
    for seed in SEEDS[:2]:
        other = task.instance(sizes, seed)
        inputs = other.inputs(seed)
        if all(same(a, b) for a, b in zip(instance.run(inputs, other.weights), other.run(inputs))):
            continue
        names = _differing(instance, other)
        raise TaskError("its results depend on random values that are no parameter or buffer%s: no kernel can know "
                        "them. Register them (self.register_buffer), or make them inputs; what is computed from "
                        "weights has to be computed in forward" % (" (%s)" % ", ".join(names) if names else ""))


def _drawn(task, sizes, seed):
    instance = task.instance(sizes, seed)
    weights = dict(instance.weights)
    return dict(instance.inputs(seed) if instance.draws_inputs else {}, **weights)


def _varied(tensor):
    values = tensor.double() if tensor.is_floating_point() else tensor
    return values.numel() > 1 and not bool((values == values.flatten()[0]).all())


def _draws_at_random(instance):
    tracer = trace.Tracer()
    with tracer:
        instance.inputs(SEEDS[0])
    return any(step.operator in trace.RANDOM for step in tracer.steps)


def _differing(instance, other):
    """Names of what differs between two instances and is no weight."""
    pairs = list(zip(_values(instance), _values(other)))
    return [name for (name, value), (_, its) in pairs if not _alike(value, its)][:MAX_NAMED]


def _alike(value, other):
    if isinstance(value, torch.Tensor):
        return isinstance(other, torch.Tensor) and same(value, other)
    return value == other


def _values(instance):
    """(name, value) of the tensors and numbers that modules have as attributes, or the file at its top level."""
    function = instance.call.function if instance.module is None else type(instance.module).forward
    for name, value in getattr(function, "__globals__", {}).items():
        if isinstance(value, torch.Tensor) or is_scalar(value):
            yield name, value
        elif isinstance(value, torch.nn.Module):
            yield from ((name + "." + path, tensor) for path, tensor in value.state_dict().items())
    for path, module in (instance.module.named_modules() if instance.module is not None else ()):
        for name, value in list(vars(module).items()):
            if isinstance(value, torch.Tensor) or is_scalar(value):
                yield "self." + (path + "." if path else "") + name, value
