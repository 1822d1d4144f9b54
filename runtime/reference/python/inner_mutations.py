"""Mistakes inside what is one call for Python: recurrent layers, attention, scripted functions.

They are made in the operators that PyTorch's dispatcher meets, by names such as `without_aten_sigmoid_2`.
"""

import torch

from . import trace
from .modes import Mode
from .precision import operator_name, written_back

PREFIX = "aten_"
# They choose or combine elements, although they do no arithmetic.
CHOOSING = frozenset("""embedding where masked_fill index_select gather roll flip triu tril cat stack index repeat
constant_pad_nd max_pool1d_with_indices""".split())
ARRANGING = trace.FREE - CHOOSING | frozenset("""item _local_scalar_dense is_same_size new_empty_strided empty_strided
unsafe_split unsafe_chunk split_with_sizes chunk lift fill normal_ uniform_ _has_compatible_shallow_copy_type
size numel resolve_conj _conj""".split())


def tensors_of(arguments):
    for part in arguments:
        if isinstance(part, torch.Tensor):
            yield part
        elif isinstance(part, (list, tuple)):
            yield from tensors_of(part)


class Operators(Mode):
    """Counts the computing operators that have run, by names such as `sigmoid_2`."""

    def __init__(self):
        super().__init__()
        self.counts = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        operator = operator_name(function)
        if operator in ARRANGING or operator.rstrip("_") in ARRANGING or not any(True for _ in tensors_of(args)):
            return function(*args, **kwargs)
        count = self.counts.get(operator, 0) + 1
        result = self.operator(operator, "%s_%d" % (operator, count), function, args, kwargs)
        self.counts[operator] = count  # one that fails is called again in another precision
        return result

    def operator(self, operator, name, function, args, kwargs):
        raise NotImplementedError


class InnerList(Operators):
    """calls: (the call of Python that it is in, or None; operator; name; may it stand for its result; is it cut)."""

    def __init__(self, outer, stand_in, cut):
        super().__init__()
        self.outer, self.stand_in, self.cut = outer, stand_in, cut
        self.calls = []

    def operator(self, operator, name, function, args, kwargs):
        sources = list(tensors_of(args))
        stands = _in_place(function)
        is_cut = self.cut(sources[0]) is not None
        result = function(*args, **kwargs)
        if isinstance(result, torch.Tensor):
            stands = stands or self.stand_in(sources, result) is not None
        self.calls.append((self.outer(), operator, name, stands, is_cut))
        return result

    def mutations(self):
        """Of each operator in a call of several the first and the last one; those of single operators are known."""
        groups, several = {}, {}
        for outer, operator, name, stands, is_cut in self.calls:
            groups.setdefault((outer, operator), []).append((name, stands, is_cut))
            several[outer] = several.get(outer, 0) + 1
        found = []
        for (outer, operator), calls in groups.items():
            if outer is not None and several[outer] < 2:
                continue
            for name, stands, is_cut in calls[:1] + calls[1:][-1:]:
                found.extend(_described(outer, operator, name, stands, is_cut))
        return found


def _described(outer, operator, name, stands, is_cut):
    plain, where = operator.strip("_"), " in " + outer if outer else ""
    call = PREFIX + name
    if stands:
        yield {"name": "without_" + call, "operator": plain, "what": "leaves out %s%s" % (plain, where), "call": call}
    if is_cut:
        yield {"name": "cut_" + call, "operator": plain, "call": call,
               "what": "%s%s does not read the end of its input" % (plain, where)}


class InnerApply(Operators):
    """Makes one mistake. with_first_cut: arguments -> those with the end of the first tensor replaced."""

    def __init__(self, kind, target, stand_in, with_first_cut):
        super().__init__()
        self.kind, self.target = kind, target
        self.stand_in, self.with_first_cut = stand_in, with_first_cut
        self.applied = False

    def operator(self, operator, name, function, args, kwargs):
        if name != self.target:
            return function(*args, **kwargs)
        if self.kind == "without" and _in_place(function):
            self.applied = True
            return args[0]
        if self.kind == "without":
            result = function(*args, **kwargs)
            stand_in = self.stand_in(list(tensors_of(args)), result)
            result = result if stand_in is None else stand_in.clone()
        else:
            changed = self.with_first_cut(args)
            result = written_back(function, args, changed, function(*changed, **kwargs))
        self.applied = True
        return result


def _in_place(function):
    return operator_name(function).endswith("_")
