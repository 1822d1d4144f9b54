"""What the values of a file show at its small sizes: structure, distributions, weights in use, mistakes."""

import torch

from .. import matrices
from ..problems import TaskError
from . import degenerate, draws, moved, structure
from .judging import any_beyond, finite, not_comparable, same

SEEDS = (1, 2, 3)
MAX_MUTATIONS = 24
LAST_ELEMENTS = 32  # that the audit's mutation of this name clears (docs/checking.md, Audit)
# Of these one element of many decides: the last one only where it stands out.
CHOOSING = frozenset("""amax amin max min argmax argmin aminmax topk sort maximum minimum""".split())
# What other values of a weight change: nothing, something within the tolerance, something beyond it.
NONE, WITHIN, BEYOND = "none", "within", "beyond"
# What a mistake does: a check shows it, none does, it changes nothing at all, it does not run.
SEEN, UNSEEN, NOTHING, FAILS = "seen", "unseen", "nothing", "fails"
CLEARLY = 3  # times the tolerance is what shows: audits draw other inputs, and may pass what is nearer (chosen)
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
        self.output_names, self.left_out = outputs, left_out
        self.notes = []
        others = [instance.task.instance(instance.sizes, seed) for seed in SEEDS]
        drawn = [other.inputs(seed) for other, seed in zip(others, SEEDS)]
        self.first, self.drawn = drawn[0], drawn
        self.cases = [(one, {} if other is others[0] else other.weights) for one, other in zip(drawn, others)]
        self.structure = {name: structure.of([one[name] for one in drawn]) for name, value in drawn[0].items()
                          if isinstance(value, torch.Tensor)}
        for name, word in self.structure.items():
            if word:
                self.notes.append("%s is %s: only its own generator draws it" % (name, word))
        self.free = [name for name, word in self.structure.items()
                     if word is None and drawn[0][name].is_floating_point()]
        self._gives_infinities = any(not finite(output) for one, weights in self.cases for output in self._run(one, weights))
        self._choose_distributions(drawn, chooses)
        self._check_finite()
        self._find_used_weights()
        self.degenerate = degenerate.evidence(instance, outputs, drawn, self.free)
        unused = [name for name in instance.weights if name not in self.used]
        if unused:
            self.notes.append("no result depends on %s: left out" % ", ".join(unused))

    def hide(self):
        """How many things these sizes do not show, that others may: a group of one element is always zero."""
        return self._within + bool(self.degenerate)

    def _run(self, inputs, weights=None, precision="declared", mutation=None):
        return self.instance.run(inputs, weights, precision, mutation)

    def to_read(self, name, shape):
        """The elements of an input that have to be read, as factors of a product. shape: names of its axes."""
        word = self.structure.get(name)
        formula = matrices.elements_to_read([one[name] for one in self.drawn], word, shape) if word else None
        return shape if formula is None else [formula]

    # ---- weights

    def _find_used_weights(self):
        """Those with which some exact result leaves the tolerance: a bias that a normalisation takes away is none."""
        known, self._within = {}, 0
        for name in self.instance.weights:
            known[name] = self._effect(name, 1)
        self._search([name for name, effect in known.items() if effect is not BEYOND], known)
        self.used = [name for name, effect in known.items() if effect is BEYOND]
        self._within = sum(effect is WITHIN for effect in known.values())

    def _search(self, names, known):
        """The effects of weights in all cases: those that change nothing even together are tried together."""
        if len(names) == 1:
            known[names[0]] = self._effect(names[0], len(self.cases))
        elif names and not self._leave_all_alike(names):
            half = len(names) // 2
            self._search(names[:half], known)
            self._search(names[half:], known)
        else:
            known.update(dict.fromkeys(names, NONE))

    def _leave_all_alike(self, names):
        own = self.instance.weights
        for (inputs, weights), (_, exact) in zip(self.cases, self.runs):
            choices = {name: moved.others(weights.get(name, own[name])) for name in names}
            for turn in range(max(len(others) for others in choices.values())):
                changed = {name: others[turn % len(others)] for name, others in choices.items()}
                try:
                    wrong = self._run(inputs, {**weights, **changed}, "exact")
                except TaskError:
                    return False
                if not all(same(a, b) for a, b in zip(wrong, exact)):
                    return False
        return True

    def _effect(self, name, cases):
        """The largest effect of other values of a weight in so many cases: those of gates that are zero at first count."""
        largest, own = NONE, self.instance.weights[name]
        for (inputs, weights), run in list(zip(self.cases, self.runs))[:cases]:
            for other in moved.others(weights.get(name, own)):
                try:
                    wrong = self._run(inputs, {**weights, name: other}, "exact")
                except TaskError:
                    return BEYOND  # it was read: an index that is out of range, or a size that does not fit
                if any_beyond(wrong, run):
                    return BEYOND
                if not all(same(a, b) for a, b in zip(wrong, run[1])):
                    largest = WITHIN
        return largest

    def constant_outputs(self):
        """Places of outputs that are the same in every case, where others are not: there is nothing to compute."""
        (_, first), *others = self.runs
        constant = [place for place, value in enumerate(first) if value is not None
                    and all(same(value, exact[place]) for _, exact in others)]
        return constant if len(constant) < sum(value is not None for value in first) else []

    # ---- distributions

    def _choose_distributions(self, drawn, chooses):
        """`given`, and ours for what shows no structure while the reference stays finite."""
        weights = {name: _weight_kind(value) for name, value in self.instance.weights.items()
                   if value.is_floating_point()}
        self.distributions = [{"name": "given", "kind": "given"}]
        if self.free or weights:
            for kind in [kind for kind in draws.KINDS if kind not in self.left_out]:
                why = self._try(kind, *self._drawn(kind, drawn[0], weights))
                if why and weights and self.free and not self._try(kind, *self._drawn(kind, drawn[0], {})):
                    why = "weights keep their own generator, for with others %s" % why
                elif why:
                    why += ": not used"
                if why:
                    self.notes.append("under %s %s" % (kind, why))
        for name, kind, raised in LAST_CHOSEN if chooses and weights else ():
            why = self._try(name, *self._drawn_late(kind, raised, drawn[0], weights))
            if why:
                self.notes.append("under %s %s: not used" % (name, why))
        self.runs = [(self._run(inputs, some), self._run(inputs, some, "exact")) for inputs, some in self.cases]

    def _check_finite(self):
        """Raises TaskError where results on the file's own inputs cannot be compared; infinities are named."""
        for declared, exact in self.runs[:len(SEEDS)]:
            why = not_comparable(exact, declared)
            if why:
                raise TaskError("its results are not finite on its own inputs: %s; draw inputs for which they are" % why)
        if not all(finite(output) for _, exact in self.runs[:len(SEEDS)] for output in exact):
            self.notes.append("some results on its own inputs are infinite")

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
        """Takes a distribution where every result stays finite; else says why not."""
        try:
            declared, exact = [self._run(inputs, weights, precision) for precision in ("declared", "exact")]
            # Where the file's own inputs give infinities, as sequences without elements do, they are results.
            fine = all(finite(output) for output in (*declared, *exact)) or (
                self._gives_infinities and not_comparable(exact, declared) is None)
        except TaskError as error:
            return str(error)
        if not fine:
            return "some result is not finite"
        self.distributions.append({"name": name, "kind": "given", "tensors": tensors})
        self.cases.append((inputs, weights))
        return None

    # ---- mutations

    def exempt(self):
        """Automatic mutations of the audit that are no mistake: mutation -> input or output -> why."""
        copies, unread = self._copies(), [name for name in self.used if self._ends_unread(name)]
        zero = [output for place, output in enumerate(self.output_names) if self._ends_in_zeros(place)]
        self.notes.extend("at small sizes no result reads the last row of %s" % name for name in unread)
        found = {"identity": {output: "it is a copy of %s" % name for output, name in copies.items()},
                 "ignored_end": dict.fromkeys(unread, "at small sizes no result reads its last row"),
                 "last_elements": dict.fromkeys(zero, "the reference itself is zero there: no input reaches these elements")}
        return {mutation: tensors for mutation, tensors in found.items() if tensors}

    def _ends_in_zeros(self, place):
        ends = [exact[place].flatten()[-LAST_ELEMENTS:] for _, exact in self.runs if exact[place] is not None]
        return bool(ends) and not any(bool(end.any()) for end in ends)

    def _ends_unread(self, name):
        """Is the last row of a weight without effect in all cases? So are those of a table for the longest sequence."""
        own = self.instance.weights[name]
        if own.dim() == 0:
            return False
        for (inputs, weights), (_, exact) in zip(self.cases, self.runs):
            changed = weights.get(name, own).clone()
            changed[-1:] = 0
            try:
                results = self._run(inputs, {**weights, name: changed}, "exact")
            except TaskError:
                return False
            if not all(same(a, b) for a, b in zip(results, exact)):
                return False
        return True

    def _copies(self):
        """Output -> the input or weight that it is equal to in every case."""
        own = self.instance.weights
        given = [{**inputs, **own, **weights} for inputs, weights in self.cases]
        found = {}
        for place, output in enumerate(self.output_names):
            for name, value in given[0].items():
                if isinstance(value, torch.Tensor) and all(
                        _equal(exact[place], values[name]) for values, (_, exact) in zip(given, self.runs)):
                    found.setdefault(output, name)
        return found

    def mutations(self):
        """Mistakes that some case shows; the others are noted, and operators of which none was found."""
        tried, leaves = self.instance.operators(self.first)
        results = {}  # call -> mutation -> what it did
        found = []
        for one in tried:
            call, spare = one.pop("call"), one.pop("spare", False)
            known = results.setdefault(call, {})
            if spare and {SEEN, UNSEEN} & set(known.values()):
                continue
            known[one["name"]] = self._outcome(one["name"])
            if known[one["name"]] is SEEN:
                found.append(one)
        self._note_mutations(results, leaves)
        return self._at_most(found)

    def _outcome(self, name):
        alike = True
        for case, run in zip(self.cases, self.runs):
            try:
                wrong = self._run(*case, "declared", name)
            except (TaskError, ValueError):
                return FAILS
            if any_beyond(wrong, run, CLEARLY):
                return SEEN
            alike = alike and all(same(a, b) for a, b in zip(run[0], wrong))
        return NOTHING if alike else UNSEEN

    def _note_mutations(self, results, leaves):
        unseen = [name for known in results.values() for name, outcome in known.items() if outcome is UNSEEN]
        if unseen:
            self.notes.append("mistakes that no distribution shows: %s" % ", ".join(unseen))
        without = [call for call, known in results.items() if not {SEEN, UNSEEN} & set(known.values())]
        if without:
            self.notes.append("operators without a mutation, for none that was tried changes a result: %s"
                              % ", ".join(without))
        if not any(SEEN in known.values() for known in results.values()) and not unseen and not without:
            self.notes.append("no operator was found that could be left out: there are no mutations")
        if leaves:
            self.notes.append("what NumPy computes has no mutations")

    def _at_most(self, found):
        if len(found) <= MAX_MUTATIONS:
            return found
        step = len(found) / MAX_MUTATIONS
        kept = [found[int(index * step)] for index in range(MAX_MUTATIONS)]
        dropped = [one["name"] for one in found if one not in kept]
        self.notes.append("mutations beyond %d are left out: %s" % (MAX_MUTATIONS, ", ".join(dropped)))
        return kept


def _equal(output, value):
    return output is not None and output.shape == value.shape and same(output.double(), value.double())


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
