"""Says as JSON what the problem folder of a user's file needs: problem.json, workloads, and what was noticed."""

import os
import re

import torch

from . import axes as axis_finder, channel, draws, formulas, structure, task_probe, trace, work
from .problems import TaskError, explained
from .task import load

SEEDS = (1, 2, 3)
# The CPU device runs some millions of operations a second: small workloads keep within a moment (chosen).
EMULATOR_FLOPS = 2000000
MAX_MUTATIONS = 24
DTYPES = {torch.float64: "float64", torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16",
          torch.int64: "int64", torch.int32: "int32", torch.int16: "int16", torch.int8: "int8", torch.uint8: "uint8",
          torch.bool: "bool"}
SCALARS = {bool: "bool", int: "int64", float: "float32"}


def _dtype(name, dtype):
    if dtype not in DTYPES:
        raise TaskError("%s has dtype %s, which a problem cannot have" % (name, str(dtype).replace("torch.", "")))
    return DTYPES[dtype]


class Description:
    def __init__(self, path, options):
        self.path = path
        self.options = {key: value for key, value in options.items() if key == "eval"}
        self.kind = options.get("kind")
        self.notes, self.open = [], []
        self.task = load(path, self.kind, self.options)
        self.found = axis_finder.find(self.task)
        if self.found.follow:
            self.options["follow"] = self.found.follow
            self.task = load(path, self.kind, self.options)
        self.samples, self.probes = self.found.samples, self.found.probes
        self.names = {}  # formula -> axis

    def made(self):
        self._refuse_random()
        self._name_axes()
        self._pick_workloads()
        self._look_at_values()
        problem = self._problem()
        return {"problem": problem, "workloads": self.workloads, "notes": self.notes, "open": self.open,
                "degenerate": self.degenerate, "source": self.task.source.text, "kind": self.task.kind}

    # ---- refusals

    def _refuse_random(self):
        drawn = sorted({step.operator for step in self.probes[0].steps if step.operator in trace.RANDOM})
        instance = self.task.instance(dict(self.samples.base))
        layers = [path or type(part).__name__ for path, part in (instance.module.named_modules()
                                                                 if instance.module else ())
                  if "Dropout" in type(part).__name__ and part.training and getattr(part, "p", 0) > 0]
        if layers:
            raise TaskError("%s is in training mode: its results are random. Call eval() in the file, or use --eval"
                            % ", ".join(layers))
        if drawn:
            raise TaskError("it draws random numbers (%s): its results cannot be compared" % ", ".join(drawn))
        first, again = instance.inputs(7), instance.inputs(7)
        changed = [name for name, value in first.items()
                   if isinstance(value, torch.Tensor) and not torch.equal(value, again[name])]
        if changed:
            raise TaskError("input %s differs between two draws of one seed: it is drawn by a generator that no seed "
                            "reaches" % ", ".join(changed))
        results = [instance.run(first) for _ in range(2)]
        if not all(_same(a, b) for a, b in zip(*results)):
            raise TaskError("two runs with the same inputs give different results")

    # ---- axes and shapes

    def _name_axes(self):
        self.axes = {name: {"type": "var"} for name in self.found.varying}
        probe = self.probes[0]
        self.shapes = {}
        groups = [("inputs", list(probe.inputs.items())), ("weights", list(probe.weights.items())),
                  ("outputs", list(zip(self._output_names(), probe.outputs)))]
        for group, tensors in groups:
            for position, (name, (shape, dtype)) in enumerate(tensors):
                if shape is None:
                    self.shapes[name] = None
                    continue
                self.shapes[name] = [self._axis(name, group, position, index) for index in range(len(shape))]
        self._check_given()

    def _output_names(self):
        taken = set(self.task.sizes) | set(self.probes[0].inputs) | set(self.probes[0].weights)
        count, names = len(self.probes[0].outputs), []
        for index in range(count):
            name = "output" if count == 1 else "output_%d" % index
            while name in taken:
                name += "_out"
            taken.add(name)
            names.append(name)
        return names

    def _axis(self, name, group, position, index):
        """The axis of one dimension; made where it is new."""
        values = [self._dimension(probe, group, position, index) for probe in self.probes]
        formula = formulas.fitted(self.samples, values)
        if formula is None:
            raise TaskError("dimension %d of %s follows no formula over %s" %
                            (index, name, ", ".join(self.found.varying)))
        if formula in self.found.varying:
            return formula
        if formula not in self.names:
            if formula.isdigit():
                chosen = self._fresh("size_%s" % formula)
                self.axes[chosen] = {"type": "const", "value": int(formula)}
            else:
                first = re.findall(r"[A-Za-z_]\w*", formula)
                chosen = self._fresh(first[0] + "_out" if group == "outputs" else "_".join(first) + "_size")
                self.axes[chosen] = {"type": "derived", "value": formula}
            self.names[formula] = chosen
        return self.names[formula]

    def _fresh(self, name):
        taken = set(self.axes) | set(self.probes[0].inputs) | set(self.probes[0].weights)
        count, chosen = 1, name
        while chosen in taken:
            count += 1
            chosen = "%s_%d" % (name, count)
        return chosen

    @staticmethod
    def _dimension(probe, group, position, index):
        if group == "outputs":
            shapes = probe.outputs
        else:
            shapes = list(getattr(probe, group).values())
        shape = shapes[position][0] if position < len(shapes) else None
        if shape is None or index >= len(shape):
            raise TaskError("the number of dimensions changes with its sizes")
        return shape[index]

    def _sizes_at(self, sizes):
        """All axes at sizes of the varying ones."""
        known = dict(sizes)
        for name, axis in self.axes.items():
            if axis["type"] == "const":
                known[name] = axis["value"]
            elif axis["type"] == "derived":
                known[name] = formulas.evaluated(axis["value"], known)
        return known

    def _check_given(self):
        """Are the formulas right at the file's own sizes? Looked at without filling memory."""
        given = {name: self.task.sizes[name] for name in self.found.varying}
        probe = task_probe.shapes_without_contents(self.task, dict(self.task.sizes))
        if probe is None:
            self.notes.append("shapes at the file's own sizes follow the formulas of smaller ones; PyTorch %s cannot "
                              "show them without computing" % torch.__version__)
            return
        known = self._sizes_at(given)
        seen = dict(probe.inputs, **probe.weights)
        seen.update(zip(self._output_names(), probe.outputs))
        for name, shape in self.shapes.items():
            if shape is None or seen[name][0] is None:
                continue
            expected = tuple(known[axis] for axis in shape)
            if seen[name][0] != expected:
                raise TaskError("%s has shape %s at the file's sizes; the formulas found at small sizes say %s"
                                % (name, list(seen[name][0]), list(expected)))

    # ---- workloads

    def _pick_workloads(self):
        given = {name: self.task.sizes[name] for name in self.found.varying}
        self.flops = work.flops(self.samples, self.probes)
        if self.flops is None:
            self.flops = "0"
            self.open.append("problem.json, flops: its operators change with its sizes; give a formula")
        self.workloads = [{"name": "given", "axes": given, "role": ["check", "time"], "tier": "gpu"}]
        self.small = dict(self.samples.base)
        grown = self._grown()
        for name, sizes in (("small", grown), ("odd", self._odd(grown)), ("least", self._least())):
            if sizes is None or any(sizes == row["axes"] for row in self.workloads):
                continue
            row = {"name": name, "axes": sizes, "role": ["check"], "tier": "emulator"}
            if name == "small":
                row["role"] = ["check", "time"]
            self.workloads.append(row)
        fixed = sorted(set(given) - {name for name in given if self.small[name] < given[name]})
        if fixed:
            self.notes.append("small workloads keep %s as in the file" % ", ".join(fixed))
        if self.found.follow:
            self.notes.append("; ".join("%s equals %s" % pair for pair in self.found.follow.items()))
        self._held_out(given, grown)

    def _varying(self, sizes):
        return {name: sizes[name] for name in self.found.varying}

    def _runs(self, sizes):
        try:
            task_probe.probed(self.task, dict(self.task.sizes, **sizes), axis_finder.PROBE_BYTES)
            return formulas.evaluated(self.flops, self._sizes_at(sizes)) <= EMULATOR_FLOPS
        except TaskError:
            return False

    def _grown(self):
        """The base, its axes enlarged in turn while the CPU device computes it in a moment."""
        sizes = self._varying(self.small)
        for name, step in self.found.steps.items():
            larger = dict(sizes, **{name: min(max(sizes[name], 16 // step * step), self.task.sizes[name])})
            if larger[name] % step == 0 and self._runs(larger):
                sizes = larger
        return sizes

    def _odd(self, grown):
        sizes = {name: size + self.found.steps[name] * (1 + index % 3) for index, (name, size) in
                 enumerate(grown.items())}
        return sizes if self._runs(sizes) else None

    def _least(self):
        sizes = dict(self.found.least)
        return sizes if sizes and self._runs(sizes) else None

    def _held_out(self, given, grown):
        if not given:
            return
        near, far = {}, {}
        for name, step in self.found.steps.items():
            low = self.found.least[name]
            near[name] = self._range(low, max(low, grown[name] + 4 * step), step)
            far[name] = self._range(max(low, given[name] // 2 // step * step), given[name], step)
        self.workloads.append({"name": "any_small", "axes": near, "role": "held_out", "tier": "emulator"})
        self.workloads.append({"name": "any_large", "axes": far, "role": "held_out", "tier": "gpu"})

    @staticmethod
    def _range(low, high, step):
        if low >= high:
            return high
        return [low, high] if step == 1 else {"range": [low, high], "multiple": step}

    # ---- what the values show

    def _look_at_values(self):
        sizes = next((row["axes"] for row in self.workloads if row["name"] == "small"), self._varying(self.small))
        self.instance = self.task.instance(sizes)
        drawn = [self.instance.inputs(seed) for seed in SEEDS]
        self.first = drawn[0]
        self.structure = {name: structure.of([one[name] for one in drawn]) for name, value in drawn[0].items()
                          if isinstance(value, torch.Tensor)}
        for name, word in self.structure.items():
            if word:
                self.notes.append("%s is %s: only its own generator draws it" % (name, word))
        weights = self.instance.weights
        self.used = self._weights_used(weights)
        unused = [name for name in weights if name not in self.used]
        if unused:
            self.notes.append("no result depends on %s: left out" % ", ".join(unused))
        self._choose_distributions(drawn)
        self._degenerate()
        self._find_mutations()

    def _run(self, inputs, weights=None, precision="declared", mutation=None):
        return self.instance.run(inputs, weights, precision, mutation)

    def _weights_used(self, weights):
        """Those that some result depends on."""
        before, used = self._run(self.first), []
        for name, value in weights.items():
            changed = value + 0.5 if value.is_floating_point() else value + 1
            if not all(_same(a, b) for a, b in zip(before, self._run(self.first, {name: changed}))):
                used.append(name)
        return used

    def _choose_distributions(self, drawn):
        """`given`, and ours for what shows no structure while the reference stays finite."""
        self.cases = [(one, {}) for one in drawn]
        self.distributions = [{"name": "given", "kind": "given"}]
        free = [name for name, word in self.structure.items()
                if word is None and drawn[0][name].is_floating_point()]
        weights = {name: _weight_kind(self.instance.weights[name]) for name in self.used
                   if self.instance.weights[name].is_floating_point()}
        for kind in draws.KINDS:
            generator = torch.Generator().manual_seed(11)
            inputs = dict(drawn[0], **{name: draws.drawn(kind, drawn[0][name].shape, generator)
                                       .to(drawn[0][name].dtype) for name in free})
            redrawn = {name: (draws.drawn("normal", self.instance.weights[name].shape, generator) * scale + shift)
                       .to(self.instance.weights[name].dtype) for name, (scale, shift) in weights.items()}
            if not (free or redrawn):
                break
            try:
                fine = all(_finite(output) for precision in ("exact", "declared")
                           for output in self._run(inputs, redrawn, precision))
            except TaskError as error:
                fine = False
                self.notes.append("%s is not used: %s" % (kind, error))
            if not fine:
                self.notes.append("under %s some result is not finite: not used" % kind)
                continue
            tensors = {name: kind for name in free}
            tensors.update({name: _kind_text(scale, shift) for name, (scale, shift) in weights.items()})
            self.distributions.append({"name": kind, "kind": "given", "tensors": tensors})
            self.cases.append((inputs, redrawn))

    def _degenerate(self):
        """Do results depend on the inputs at all? The evidence where they do not."""
        self.degenerate = None
        runs = [(self._run(inputs, weights), self._run(inputs, weights, "exact"))
                for inputs, weights in self.cases]
        self.reference_runs = runs
        for index, name in enumerate(self._output_names()):
            outputs = [declared[index] for declared, _ in runs if declared[index] is not None]
            if len(outputs) < 2 or any(output.shape != outputs[0].shape for output in outputs):
                continue
            spread = max(float((a.double() - outputs[0].double()).abs().max()) for a in outputs[1:]) \
                if outputs[0].numel() else 0.0
            error = max(float((d[index].double() - e[index].double()).abs().max()) for d, e in runs)
            if spread <= 4 * error:
                self.degenerate = ("%s does not depend on the inputs: over %d draws it differs by at most %.3g, its "
                                   "rounding errors are up to %.3g" % (name, len(outputs), spread, error))

    # ---- mutations

    def _find_mutations(self):
        self.mutations, unseen = [], []
        listed = self.instance.operators(self.first)
        for mutation in listed:
            try:
                seen = any(self._differs(case, run, mutation["name"])
                           for case, run in zip(self.cases, self.reference_runs))
            except (TaskError, ValueError):
                continue  # the mistake does not even run
            if seen:
                self.mutations.append(mutation)
            elif self._changes_nothing(mutation["name"]):
                continue
            else:
                unseen.append(mutation["name"])
        if len(self.mutations) > MAX_MUTATIONS:
            step = len(self.mutations) / MAX_MUTATIONS
            self.mutations = [self.mutations[int(index * step)] for index in range(MAX_MUTATIONS)]
        if unseen:
            self.notes.append("mistakes that no distribution shows: %s" % ", ".join(unseen))

    def _changes_nothing(self, name):
        return all(_same(a, b) for inputs, weights in self.cases
                   for a, b in zip(self._run(inputs, weights), self._run(inputs, weights, mutation=name)))

    def _differs(self, case, run, name):
        """Is a mistake beyond the tolerance that the twin's errors set?"""
        declared, exact = run
        for wrong, twin, right in zip(self._run(case[0], case[1], "declared", name), declared, exact):
            if right is None or not right.numel():
                continue
            if wrong is None or wrong.shape != right.shape:
                return True
            if not right.is_floating_point():
                if not _same(wrong, twin):
                    return True
                continue
            scale = right.abs() + right.square().mean().sqrt()
            unit = torch.finfo(twin.dtype).eps if twin.is_floating_point() else 1e-7
            allowed = 4 * torch.maximum((twin.double() - right).abs().max(), 2 * unit * scale)
            if bool(((wrong.double() - right).abs() > allowed).any()):
                return True
        return False

    # ---- problem.json

    def _problem(self):
        name = _problem_name(self.path)
        probe = self.probes[0]
        inputs = {}
        for tensor, (shape, dtype) in probe.inputs.items():
            inputs[tensor] = self._input(tensor, shape, dtype)
        inputs = {tensor: entry for tensor, entry in inputs.items() if entry is not None}
        for tensor in self.used:
            inputs[tensor] = {"shape": self.shapes[tensor], "dtype": _dtype(tensor, probe.weights[tensor][1])}
        outputs = {tensor: {"shape": self.shapes[tensor], "dtype": _dtype(tensor, dtype)}
                   for tensor, (shape, dtype) in zip(self._output_names(), probe.outputs) if shape is not None}
        if not outputs:
            raise TaskError("it returns no tensor")
        used_axes = {axis for entry in list(inputs.values()) + list(outputs.values()) for axis in entry["shape"] or ()}
        used_axes |= set(re.findall(r"[A-Za-z_]\w*", " ".join(
            [axis["value"] for axis in self.axes.values() if axis["type"] == "derived"] + [self.flops])))
        read = [(tensor, entry["shape"]) for tensor, entry in inputs.items() if entry["shape"] is not None]
        python = dict(self.options, kind="function" if self.task.kind == "flashinfer_bench" else self.task.kind)
        problem = {
            "name": name,
            "summary": _summary(self.task.source.text, self.path),
            "op_type": name,
            "params": {},
            "definition": {
                "name": name,
                "axes": {axis: value for axis, value in self.axes.items()
                         if axis in used_axes or value["type"] == "var"},
                "inputs": inputs,
                "outputs": outputs,
                "constraints": ["%s %% %d == 0" % (axis, step) for axis, step in self.found.steps.items() if step > 1]
                + ["%s >= %d" % (axis, least) for axis, least in self.found.least.items() if least > 1],
            },
            "flops": self.flops,
            "bytes_read": work.bytes_of(read),
            "bytes_written": work.bytes_of([(tensor, entry["shape"]) for tensor, entry in outputs.items()]),
            "tolerance": {"factor": 4, "floor_ulps": 2,
                          "reason": "four times the error of PyTorch in the same precision"},
            "distributions": self._known_distributions(inputs),
            "mutations": [{"name": one["name"], "what": one["what"], "operator": one["operator"]}
                        for one in self.mutations],
            "reference": "reference.py",
            "python": python,
        }
        return problem

    def _known_distributions(self, inputs):
        """Without what is drawn for weights that were left out; a definition has no generator of its own."""
        if self.task.kind == "flashinfer_bench":
            ours = [{"name": one["name"], "kind": one["name"]} for one in self.distributions[1:]]
            if not ours:
                raise TaskError("its inputs have to be drawn as its workloads say: no distribution suits them")
            return ours
        known = []
        for one in self.distributions:
            tensors = {name: kind for name, kind in one.get("tensors", {}).items() if name in inputs}
            known.append(dict(one, tensors=tensors) if tensors else one)
        return known

    def _input(self, name, shape, dtype):
        if shape is None:
            value = self.first[name]
            if value is None:
                self.notes.append("input %s is None: left out" % name)
                return None
            return {"shape": None, "dtype": SCALARS[dtype], "value": value}
        entry = {"shape": self.shapes[name], "dtype": _dtype(name, dtype)}
        return entry


def _same(a, b):
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and a.dtype == b.dtype and bool(
        torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) if a.is_floating_point() else torch.equal(a, b))


def _finite(output):
    return output is None or not output.is_floating_point() or bool(torch.isfinite(output).all())


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


def _problem_name(path):
    path = os.path.abspath(path)
    base = os.path.splitext(os.path.basename(path))[0]
    if base == "reference":
        base = os.path.basename(os.path.dirname(path))
    name = re.sub(r"[^a-z0-9]+", "_", base.lower()).strip("_")
    return name if name and name[0].isalpha() else "task_" + name if name else "task"


def _summary(text, path):
    found = re.search(r'class \w+\([^)]*\):\s*"""\s*(.*?)(?:\n\s*\n|"""|\n\s*Args)', text, re.S)
    words = " ".join(found.group(1).split()) if found else "from %s" % os.path.basename(path)
    return words[:160]


def answered(request):
    """The description of request["file"] under request["options"] (kind, eval). Raises TaskError."""
    with explained("describing"):
        return Description(request["file"], dict(request["options"])).made()


def main(stream, launch):
    """Answers requests of the program that started this process."""
    torch.set_num_threads(1)  # problems are described side by side, and their sizes are small
    channel.serve(stream, {"hello": lambda request: {"torch": str(torch.__version__)}, "describe": answered})
