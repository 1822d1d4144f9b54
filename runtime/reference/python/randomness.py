"""Modules that draw random numbers in training mode."""

import torch

from .problems import TaskError

DROPOUTS = tuple(getattr(torch.nn, name) for name in
                 ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout")
                 if hasattr(torch.nn, name))


def is_random(module):
    """In training mode, and drawing something then."""
    if not module.training:
        return False
    if isinstance(module, DROPOUTS):
        return module.p > 0
    if isinstance(module, torch.nn.RReLU):
        return module.lower < module.upper
    return isinstance(module, (torch.nn.RNNBase, torch.nn.MultiheadAttention)) and module.dropout > 0


def refuse_random_modules(module):
    """Raises TaskError naming those of `module` (None: there is none) whose results are random."""
    if module is None:
        return
    found = ["%s (%s)" % (name or "the module itself", type(part).__name__)
             for name, part in module.named_modules() if is_random(part)]
    if found:
        raise TaskError("in training mode the results of %s are random: say \"python\": {\"eval\": true} in "
                        "problem.json, or call .eval() in the file" % ", ".join(found))
