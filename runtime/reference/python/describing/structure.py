"""What structure the inputs of a file show: where it has some, other distributions would break it."""

import torch

DRAWS = 3  # what holds in so many draws is taken for structure


def of(draws):
    """The structure of a tensor from several draws of it: a word, or None where it shows none."""
    if not draws[0].is_floating_point():
        return _of_integers(draws)
    draws = [tensor.double() for tensor in draws]
    for name, test in (("constant", _constant), ("zero-patterned", _zero_patterned), ("few values", _few_values),
                       ("symmetric", _symmetric), ("sorted", _sorted), ("normalised", _normalised),
                       ("index-like", _index_like)):
        if all(test(tensor) for tensor in draws):
            return name
    return None


def _of_integers(draws):
    if draws[0].dtype is torch.bool:
        return None
    # In their own type, differences of unsigned integers are never negative.
    if all(tensor.numel() > 2 and _sorted(tensor.long()) for tensor in draws):
        return "sorted"
    return None


def _constant(tensor):
    return tensor.numel() > 1 and bool((tensor == tensor.flatten()[0]).all())


def _zero_patterned(tensor):
    return tensor.numel() > 8 and float((tensor == 0).double().mean()) > 0.2


def _few_values(tensor):
    return tensor.numel() >= 16 and tensor.unique().numel() <= 4


def _symmetric(tensor):
    return (tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2] and tensor.shape[-1] > 2
            and bool(torch.equal(tensor, tensor.transpose(-1, -2))))


def _sorted(tensor):
    if tensor.dim() == 0 or tensor.shape[-1] < 3:
        return False
    steps = tensor[..., 1:] - tensor[..., :-1]
    return bool((steps >= 0).all()) or bool((steps <= 0).all())


def _normalised(tensor):
    if tensor.dim() == 0 or tensor.shape[-1] < 3:
        return False
    sums, squares = tensor.sum(-1), tensor.square().sum(-1)
    return bool((sums - 1).abs().max() < 1e-3) or bool((squares - 1).abs().max() < 1e-3)


def _index_like(tensor):
    return tensor.numel() > 8 and bool((tensor == tensor.round()).all()) and float(tensor.abs().max()) > 1


def integer_range(draws):
    """(lowest, highest) of all draws of an integer tensor."""
    return min(int(t.min()) for t in draws if t.numel()), max(int(t.max()) for t in draws if t.numel())
