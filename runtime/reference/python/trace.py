"""The operators that a reference runs: their names, the shapes they meet, and what they cost."""

import math

import torch

from . import collapsing, matrices
from .modes import Mode
from .precision import operator_name

try:
    from torch.utils.flop_counter import flop_registry as COUNTERS  # PyTorch 2.1
except ImportError:
    COUNTERS = {}

# Operators that draw random numbers, whatever overload.
RANDOM = frozenset("""bernoulli bernoulli_ native_dropout rand rand_like randn randn_like randint randint_like randperm
normal normal_ uniform_ random_ multinomial exponential_ geometric_ cauchy_ log_normal_ rrelu_with_noise
_fused_dropout dropout dropout_ alpha_dropout alpha_dropout_ feature_dropout poisson""".split())
# Operators that move elements or make constants: no arithmetic.
FREE = frozenset("""view _unsafe_view reshape _reshape_alias t transpose permute expand squeeze unsqueeze slice select
clone copy_ contiguous detach alias lift_fresh _to_copy to empty empty_like zeros ones full zeros_like ones_like
full_like arange scalar_tensor fill_ zero_ as_strided split unbind cat stack flatten unflatten narrow diag diagonal
diag_embed triu tril index index_select gather embedding where masked_fill roll flip repeat constant_pad_nd
max_pool1d_with_indices expand_as unfold resize_ new_zeros new_ones new_empty view_as movedim isnan""".split())
CONVOLUTIONS = frozenset(["convolution", "_convolution", "mkldnn_convolution", "convolution_overrideable",
                          "thnn_conv2d", "slow_conv3d_forward", "cudnn_convolution", "_slow_conv2d_forward"])
MULTIPLYING = CONVOLUTIONS | frozenset(["mm", "bmm", "addmm", "baddbmm", "matmul"])
# Reductions and normalisations: operations per element that they read.
PER_READ = {"sum": 1, "mean": 1, "amax": 1, "amin": 1, "max": 1, "min": 1, "argmax": 1, "argmin": 1, "prod": 1,
            "norm": 2, "linalg_vector_norm": 2, "var": 3, "var_mean": 3, "std": 3, "logsumexp": 3, "cumsum": 1,
            "cumprod": 1, "_softmax": 4, "_log_softmax": 4, "native_layer_norm": 5, "native_group_norm": 5,
            "native_batch_norm": 5, "_native_batch_norm_legit": 5, "cudnn_batch_norm": 5, "sort": 1, "topk": 1,
            "max_pool2d_with_indices": 1, "max_pool3d_with_indices": 1}
POOLS = frozenset(["avg_pool2d", "avg_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices"])


# Operators of which a result may not depend on all that they take.
SELECTING = frozenset("""slice select index index_select gather embedding take masked_select masked_fill where tril triu
diagonal unfold as_strided split split_with_sizes unbind narrow chunk scatter scatter_ index_put index_put_ copy_
_local_scalar_dense nonzero constant_pad_nd upsample_nearest2d grid_sampler_2d topk sort kthvalue im2col""".split())
STRIDED = CONVOLUTIONS | POOLS | frozenset(["avg_pool1d", "max_pool1d_with_indices", "_adaptive_avg_pool2d"])


class Step:
    """One operator: its cost is `factor` times the product of `sizes`; `work` is the number that PyTorch's way takes.

    triangles: of the factors of a product of matrices (matrices.py), else None.
    sources, results: which tensors it takes and gives, by numbers that hold for one trace. returned: those that the
    run returns; following: those that depend on an input. axis: along which it works, where it says one. follows: does it depend on an input? selects: may it leave out a part of what it takes?
    """

    returned = following = frozenset()

    def __init__(self, operator, factor, sizes, inputs, outputs, triangles=None, sources=(), results=()):
        self.operator = operator
        self.triangles = triangles
        self.sources = sources
        self.results = results
        self.factor = factor
        self.work = math.prod((factor,) + tuple(sizes))
        self.sizes = sizes
        self.inputs = inputs
        self.outputs = outputs
        self.follows = False
        self.selects = False
        self.axis = None


class Tracer(Mode):
    """Records a step for every operator of a run."""

    def __init__(self, inputs=()):
        super().__init__()
        self.steps = []
        self.following = {id(tensor) for tensor in inputs}
        self._alive = []  # a number is of one tensor as long as that lives

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = operator_name(function)
        tensors = [part for part in _flat(args) if isinstance(part, torch.Tensor)]
        outputs = [part for part in _flat([result]) if isinstance(part, torch.Tensor)]
        factor, sizes = _counted(function, args, kwargs or {}, result, *_cost(name, args, tensors, outputs))
        self.steps.append(Step(name, factor, sizes, [tuple(t.shape) for t in tensors],
                               [tuple(t.shape) for t in outputs], matrices.of_product(name, tensors),
                               [id(t) for t in tensors], [id(t) for t in outputs]))
        self.steps[-1].follows = not self.following.isdisjoint(self.steps[-1].sources)
        self.steps[-1].selects = name in SELECTING or (name in STRIDED and _strided(args))
        self.steps[-1].axis = _argument(function, "dim", args, kwargs or {})
        if self.steps[-1].follows:
            self.following.update(self.steps[-1].results)
        self._alive.extend(tensors + outputs)
        return result


def _counted(function, args, kwargs, result, factor, sizes):
    """The cost, as PyTorch's own counter has it where that knows the operator and says another number."""
    counter = COUNTERS.get(getattr(function, "overloadpacket", None))
    if counter is None:
        return factor, sizes
    operations, ours = counter(*args, **kwargs, out_val=result), factor
    for size in sizes:
        ours *= size
    return (factor, sizes) if operations == ours else (1, (operations,))


def _flat(parts):
    for part in parts:
        if isinstance(part, (list, tuple)):
            yield from _flat(part)
        else:
            yield part


def _cost(name, args, tensors, outputs):
    """Operations of an operator as (factor, sizes): factor times the product of sizes."""
    if name in FREE or name in RANDOM or not outputs or not tensors:
        return 0, ()
    out = tuple(outputs[0].shape)
    if name in ("mm", "bmm", "matmul"):
        return 2, out + (tensors[0].shape[-1],)
    if name in ("addmm", "baddbmm"):
        return 2, out + (tensors[1].shape[-1],)
    if name in ("mv", "dot", "addmv"):
        return 2, tuple(tensors[-2].shape)
    if name in CONVOLUTIONS and len(tensors) > 1:
        transposed = len(args) > 6 and args[6] is True
        spread = tuple(tensors[0].shape) if transposed else out
        return 2, spread + tuple(tensors[1].shape[1:])
    if name.lstrip("_").startswith("scaled_dot_product") and len(tensors) > 2:
        return 4, tuple(tensors[0].shape) + (tensors[1].shape[-2],)
    if name in POOLS:
        kernel = args[1] if isinstance(args[1], (list, tuple)) else [args[1]]
        kernel = list(kernel) * (2 if len(kernel) == 1 else 1)
        return 1, out + tuple(kernel)
    if name in PER_READ:
        return PER_READ[name], tuple(tensors[0].shape)
    return 1, out


def _argument(function, name, args, kwargs):
    """An argument of an operator by its name; None where it has none of this name."""
    for position, argument in enumerate(function._schema.arguments):
        if argument.name == name:
            return args[position] if position < len(args) else kwargs.get(name, argument.default_value)
    return None


def _strided(args):
    """Has it a list with a number above 1? Its stride may be one."""
    return any(isinstance(part, (list, tuple)) and any(type(one) is int and one > 1 for one in part) for part in args)


def traced(run, inputs=()):
    """(the steps of what `run` computes, its results). inputs: the tensors that it is given."""
    tracer = Tracer(inputs)
    with tracer:
        outputs = run()
    returned = frozenset(id(output) for output in outputs)
    for step in tracer.steps:
        step.returned, step.following = returned, tracer.following
    for step in tracer.steps:
        for free in collapsing.collapsed(step, tracer.steps) if step.operator in MULTIPLYING else ():
            free.factor, free.triangles = 0, None
    return tracer.steps, outputs
