"""Does a reference look at the values of its tensors? Then other values may take another way through it."""

from torch.overrides import TorchFunctionMode

# What hands elements of a tensor to Python, or makes shapes of them.
LOOKS = frozenset("""item tolist numpy __array__ __bool__ __int__ __float__ __index__ __contains__ is_nonzero equal
allclose nonzero argwhere unique unique_consecutive masked_select""".split())


class _Watch(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.looked = False

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.looked = self.looked or getattr(function, "__name__", "") in LOOKS
        return function(*args, **(kwargs or {}))


def looks_at_values(instance, inputs):
    watch = _Watch()
    with watch:
        instance.run(inputs)
    return watch.looked
