"""What the values of a file show at its small sizes: structure, distributions, weights in use, mistakes."""

import torch

from . import degenerate, draws, matrices, structure
from .judging import agree_in_infinities, any_beyond, finite, same
from .problems import TaskError

SEEDS = (1, 2, 3)
MAX_MUTATIONS = 24
LAST_ELEMENTS = 32  # that the audit's mutation of this name clears (docs/checking.md, Audit)
# Of these one element of many decides: the last one only where it stands out.
CHOOSING = frozenset("""amax amin max min argmax argmin aminmax topk sort maximum minimum""".split())
# Kinds whose last element is the largest and the smallest one of its row (docs/problem.md).
LAST_CHOSEN = (("late_high", "late_spike", 256.0), ("late_low", "late_spike(scale=-1)", -256.0))


class Values:
    """instance: the file at small sizes. outputs: their names. chooses: it has an operator of CHOOSING.
    left_out: of our distributions.

    used: weights that some result depends on. degenerate: why results do not depend on the inputs, or None.
    cases: pairs of inputs and weights; runs: what each gives, declared and exact. notes: in words, what was found.
    """

    def __init__(self, instance, outputs, chooses, left_out=()):
        self.instance = instance
        self.left_out = left_out
        self.notes = []
        drawn = [instance.inputs(seed) for seed in SEEDS]
        self.first, self.drawn = drawn[0], drawn
        self.structure = {name: structure.of([one[name] for one in drawn]) for name, value in drawn[0].items()
                          if isinstance(value, torch.Tensor)}
        for name, word in self.structure.items():
            if word:
                self.notes.append("%s is %s: only its own generator draws it" % (name, word))
        self.free = [name for name, word in self.structure.items()
                     if word is None and drawn[0][name].is_floating_point()]
        self._gives_infinities = any(not finite(output) for one in drawn for output in self._run(one))
        self._changing = self._weights_that_change()
        self._choose_distributions(drawn, self._changing, chooses)
        self.used = self._weights_used(self._changing)
        self.degenerate = degenerate.evidence(instance, outputs, drawn, self.free)
        unused = [name for name in instance.weights if name not in self.used]
        if unused:
            self.notes.append("no result depends on %s: left out" % ", ".join(unused))

    def hide(self):
        """How many things these sizes do not show, that others may: a group of one element is always zero."""
        return len(self._changing) - len(self.used) + bool(self.degenerate)

    def _run(self, inputs, weights=None, precision="declared", mutation=None):
        return self.instance.run(inputs, weights, precision, mutation)

    def to_read(self, name, shape):
        """The elements of an input that have to be read, as factors of a product. shape: names of its axes."""
        word = self.structure.get(name)
        formula = matrices.elements_to_read([one[name] for one in self.drawn], word, shape) if word else None
        return shape if formula is None else [formula]

    # ---- weights

    def _weights_that_change(self):
        """Those with which some result changes at all."""
        before, found = self._run(self.first), []
        for name, value in self.instance.weights.items():
            changed = _moved(value)
            if not all(same(a, b) for a, b in zip(before, self._run(self.first, {name: changed}))):
                found.append(name)
        return found

    def _weights_used(self, changing):
        """Those with which some exact result leaves the tolerance: a bias that a normalisation takes away is none."""
        return [name for name in changing if any(
            any_beyond(self._run(inputs, {**weights, name: other}, "exact"), run)
            for (inputs, weights), run in zip(self.cases, self.runs)
            for other in _others(weights.get(name, self.instance.weights[name])))]

    # ---- distributions

    def _choose_distributions(self, drawn, changing, chooses):
        """`given`, and ours for what shows no structure while the reference stays finite."""
        weights = {name: _weight_kind(self.instance.weights[name]) for name in changing
                   if self.instance.weights[name].is_floating_point()}
        self.cases = [(one, {}) for one in drawn]
        self.distributions = [{"name": "given", "kind": "given"}]
        if self.free or weights:
            for kind in [kind for kind in draws.KINDS if kind not in self.left_out]:
                self._try(kind, *self._drawn(kind, drawn[0], weights))
        for name, kind, raised in LAST_CHOSEN if chooses and weights else ():
            self._try(name, *self._drawn_late(kind, raised, drawn[0], weights))
        self.runs = [(self._run(inputs, some), self._run(inputs, some, "exact")) for inputs, some in self.cases]

    def _drawn(self, kind, first, weights):
        """(inputs, weights, how both are drawn) under one of our kinds."""
        generator = torch.Generator().manual_seed(11)
        inputs = dict(first, **{name: draws.drawn(kind, first[name].shape, generator).to(first[name].dtype)
                                for name in self.free})
        redrawn = self._redrawn(weights, generator)
        tensors = {name: kind for name in self.free}
        tensors.update({name: _kind_text(*weights[name]) for name in weights})
        return inputs, redrawn, tensors

    def _drawn_late(self, kind, raised, first, weights):
        """The last weight with one axis, such as a final bias, makes its last element the one that is chosen."""
        inputs, redrawn, tensors = self._drawn("normal", first, weights)
        for name in [name for name in weights if redrawn[name].dim() == 1][-1:]:
            redrawn[name][-1] += raised
            tensors[name] = kind
        return inputs, redrawn, tensors

    def _redrawn(self, weights, generator):
        own = self.instance.weights
        return {name: (draws.drawn("normal", own[name].shape, generator) * scale + shift).to(own[name].dtype)
                for name, (scale, shift) in weights.items()}

    def _try(self, name, inputs, weights, tensors):
        """Takes a distribution where every result stays finite."""
        try:
            runs = [self._run(inputs, weights, precision) for precision in ("declared", "exact")]
            # Where the file's own inputs give infinities, as sequences without elements do, they are results.
            fine = all(finite(output) for run in runs for output in run) or (
                self._gives_infinities and all(agree_in_infinities(*pair) for pair in zip(*runs)))
        except TaskError as error:
            self.notes.append("%s is not used: %s" % (name, error))
            return
        if not fine:
            self.notes.append("under %s some result is not finite: not used" % name)
            return
        self.distributions.append({"name": name, "kind": "given", "tensors": tensors})
        self.cases.append((inputs, weights))

    # ---- mutations

    def exempt(self):
        """Automatic mutations of the audit that are no mistake: mutation -> why."""
        ends = [output.flatten()[-LAST_ELEMENTS:] for _, exact in self.runs for output in exact if output is not None]
        if any(bool(end.any()) for end in ends):
            return {}
        return {"last_elements": "the reference itself is zero there: no input reaches these elements"}

    def mutations(self):
        """Mistakes that some case shows; the others are noted."""
        found, unseen = [], []
        for mutation in self.instance.operators(self.first):
            try:
                seen = any(any_beyond(self._run(*case, "declared", mutation["name"]), run)
                           for case, run in zip(self.cases, self.runs))
            except (TaskError, ValueError):
                continue  # the mistake does not even run
            if seen:
                found.append(mutation)
            elif not self._changes_nothing(mutation["name"]):
                unseen.append(mutation["name"])
        if unseen:
            self.notes.append("mistakes that no distribution shows: %s" % ", ".join(unseen))
        if len(found) <= MAX_MUTATIONS:
            return found
        step = len(found) / MAX_MUTATIONS
        return [found[int(index * step)] for index in range(MAX_MUTATIONS)]

    def _changes_nothing(self, name):
        return all(same(a, b) for case, (declared, _) in zip(self.cases, self.runs)
                   for a, b in zip(declared, self._run(*case, mutation=name)))


def _moved(value):
    return value + 0.5 if value.is_floating_point() else value + 1


def _others(value):
    """What a weight is replaced by: nothing at all, and something else."""
    return torch.zeros_like(value), _moved(value)


def _weight_kind(tensor):
    """(scale, shift) of a normal distribution like a weight: constants vary by a quarter, at least."""
    values = tensor.double()
    shift = float(values.mean()) if values.numel() else 0.0
    spread = float(values.std(unbiased=False)) if values.numel() > 1 else 0.0
    if spread == 0:
        return 0.25, round(shift, 4)
    return float("%.2g" % spread), 0.0 if abs(shift) < spread else float("%.2g" % shift)


def _kind_text(scale, shift):
    return "normal(scale=%g%s)" % (scale, ", shift=%g" % shift if shift else "")
