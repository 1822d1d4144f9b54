"""Says as JSON what the problem folder of a user's file needs: problem.json, workloads, and what was noticed."""

import functools
import math
import os
import re

import torch

from .. import attempts, channel, trace, values
from ..problems import TaskError, explained
from ..randomness import is_random
from ..seeds import seed_everything
from ..task import load
from . import (
    axes as axis_finder, formulas, independence, needs, neighbours, own_draws, own_weights, starting_kernel, task_probe,
    ties, work)
from .described_values import CHOOSING, Values
from .judging import same
from .looking import looks_at_values

# The CPU device runs some millions of operations a second: small workloads keep within a moment (chosen).
EMULATOR_FLOPS = 2000000
CHANCE_SEEDS = range(4)  # a mistake of a half shows with certainty in so many draws of a tensor
DTYPES = {torch.float64: "float64", torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16",
          torch.int64: "int64", torch.int32: "int32", torch.int16: "int16", torch.int8: "int8", torch.uint8: "uint8",
          torch.bool: "bool"}
DTYPES.update({getattr(torch, name): name for name in ("float8_e4m3fn", "float8_e5m2") if hasattr(torch, name)})
MAX_SCALARS = 8  # docs/problem.md, Scalars
SCALARS = {bool: "bool", int: "int64", float: "float32"}


def _dtype(name, dtype):
    if dtype not in DTYPES:
        raise TaskError("%s has dtype %s, which a problem cannot have" % (name, str(dtype).replace("torch.", "")))
    return DTYPES[dtype]


class Description:
    """path: the user's file. options: those of `python` in problem.json, and its kind where that is known."""

    def __init__(self, path, options):
        self.path = path
        self.options = {key: value for key, value in options.items() if key == "eval"}
        self.kind = options.get("kind")
        self.workloads_file = options.get("workloads")
        self.notes, self.open = [], []
        attempts.watch(path)
        self.fixed = set()  # sizes that are no axes, as no formula over them is known
        self._read()
        layers = self._random_layers()
        if layers and self._changes_nothing_by_chance():
            self.notes.append("what %s draws changes no result: run in evaluation mode" % ", ".join(layers))
            self.options["eval"] = True
            self._read()

    def _loaded(self, options):
        return load(self.path, self.kind, dict(options, workloads=self.workloads_file))

    def _read(self):
        self.task = self._loaded(self.options)
        self._refuse_nothing()
        self.found = axis_finder.find(self.task, self.fixed)
        self.options.update({key: value for key, value in (("follow", self.found.follow),
                                                           ("buffers", self.found.buffers)) if value})
        self.task = self._loaded(dict(self.options, buffers=self.found.buffers))
        self.samples, self.probes = self.found.samples, self.found.probes

    def made(self):
        self._refuse_random()
        self.notes.extend(self.task.entry.notes())
        self._name_axes_of_cases()
        self._pick_workloads()
        self._look_at_values()
        problem = self._problem()
        kernel = self._kernel(problem)
        return {"problem": problem, "workloads": self.workloads, "notes": self.notes + attempts.notes(), "open": self.open,
                "degenerate": self.values.degenerate, "kernel": kernel,
                "source": self.task.source.text, "modules": neighbours.imported(self.task.source),
                "kind": self.task.kind}

    # ---- refusals

    def _refuse_nothing(self):
        """A size of 0 is seen before axes are looked for: they begin with larger ones."""
        probe = task_probe.shapes_without_contents(self.task, dict(self.task.sizes))
        for name, (shape, _) in dict(probe.inputs, **probe.weights).items() if probe is not None else ():
            if shape is not None and 0 in shape:
                empty = [size for size, value in self.task.sizes.items() if value == 0]
                raise TaskError("%s has the shape %s at the file's sizes%s: it has no element; sizes are at least 1"
                                % (name, list(shape), " (%s = 0)" % ", ".join(empty) if empty else ""))

    def _random_layers(self):
        """Paths of modules whose results are random."""
        module = self.task.instance(dict(self.samples.base)).module
        return [path or type(part).__name__ for path, part in (module.named_modules() if module else ())
                if is_random(part)]

    def _changes_nothing_by_chance(self):
        """Are results in training mode, whatever is drawn, those of evaluation mode?"""
        training = self.task.instance(dict(self.samples.base))
        still = self._loaded(dict(self.options, eval=True)).instance(dict(self.samples.base))
        for seed in CHANCE_SEEDS:
            inputs = training.inputs(seed)
            still.inputs(seed)
            seed_everything(seed)
            try:
                if not all(same(a, b) for a, b in zip(training.run(inputs), still.run(inputs))):
                    return False
            except TaskError:  # in evaluation mode it is no reference
                return False
        return True

    def _refuse_random(self):
        layers = self._random_layers()
        if layers:
            raise TaskError("%s is in training mode: its results are random. Call eval() in the file, or use --eval"
                            % ", ".join(layers))
        drawn = sorted({step.operator for step in self.probes[0].steps if step.operator in trace.RANDOM})
        if drawn:
            raise TaskError("it draws random numbers (%s): its results cannot be compared" % ", ".join(drawn))
        base = dict(self.samples.base)
        independence.refuse_unseeded(self.task, base)
        unmoved = independence.unmoved_inputs(self.task, base)
        if unmoved:
            self.notes.append("%s: the same under every seed" % ", ".join(unmoved))
        instance = self.task.instance(base)
        inputs = instance.inputs(7)
        results = [instance.run(inputs) for _ in range(2)]
        if not all(same(a, b) for a, b in zip(*results)):
            raise TaskError("two runs with the same inputs give different results")
        independence.refuse_hidden_values(self.task, base)
        if self.task.seeded:
            self.notes.append("it seeds its generators itself (%s): what it draws follows the harness's seed as well"
                              % ", ".join(sorted(self.task.seeded)))

    # ---- axes and shapes

    def _name_axes_of_cases(self):
        """Sizes that are the same in all timed cases stay so where no formula over them is found."""
        try:
            self._name_axes()
        except TaskError:
            self.fixed = self.task.entry.alike() & set(self.found.varying)
            if not self.fixed:
                raise
            self.notes.append("no axis is made of %s, which no timed case varies" % ", ".join(sorted(self.fixed)))
            self._read()
            self._name_axes()

    def _name_axes(self):
        self.names = {}  # formula -> axis
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
        own = self.task.entry.output_names()
        for index in range(count):
            name = "output" if count == 1 else "output_%d" % index
            if len(own) == count:
                name = values.identifier(own[index], taken)
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
        self.needs = needs.Needs(self.task, self.samples, self.probes)
        self.flops = work.flops(self.samples, self.probes, self.needs, self.notes)
        if self.flops is None:
            self.flops = "0"
            self.open.append("problem.json, flops: its operators change with its sizes; give a formula")
        self.workloads = self._case_rows()
        self.cases = [row["name"] for row in self.workloads]
        self.workloads = self.workloads or [
            {"name": "given", "axes": given, "role": ["check", "time"], "tier": "gpu"}]
        self.small = dict(self.samples.base)
        grown = self._grown()
        for name, sizes in (("small", grown), ("odd", self._odd(grown)), ("least", self._least()),
                            ("few", self._few())):
            if sizes is None or any(sizes == row["axes"] for row in self.workloads):
                continue
            self.workloads.append({"name": name, "axes": sizes, "role": ["check"], "tier": "emulator"})
        fixed = sorted(set(given) - {name for name in given if self.small[name] < given[name]})
        if fixed:
            self.notes.append("small workloads keep %s as in the file" % ", ".join(fixed))
        if self.found.follow:
            self.notes.append("; ".join("%s equals %s" % pair for pair in self.found.follow.items()))
        self._held_out(given, grown)

    def _case_rows(self):
        """A workload for each case that differs from the file's own sizes in axes alone."""
        rows, left = {}, []
        for name, timed, values in self.task.entry.cases():
            axes = {axis: values[axis] for axis in self.found.varying}
            others = {**self.task.entry.shape, **axes}
            others.update({follower: axes[leader] for follower, leader in self.found.follow.items()})
            if any(others[key] != value for key, value in values.items()) or not self._suits(axes):
                left.append("%s (%s)" % (name, ", ".join("%s %s" % (key, value) for key, value in values.items()
                                                          if others[key] != value) or "its sizes"))
            elif tuple(axes.values()) not in rows:
                rows[tuple(axes.values())] = {"name": name, "axes": axes, "tier": "gpu",
                                              "role": ["check", "time"] if timed else ["check"]}
        if left:
            self.notes.append("cases that differ in more than axes, or in a size that it does not run at, are left "
                              "out: " + ", ".join(left))
        return list(rows.values())

    def _suits(self, axes):
        return all(axes[name] % step == 0 and axes[name] >= self.found.least[name]
                   for name, step in self.found.steps.items())

    def _varying(self, sizes):
        return {name: sizes[name] for name in self.found.varying}

    def _runs(self, sizes):
        try:
            probe = task_probe.probed(self.task, dict(self.task.sizes, **sizes), axis_finder.PROBE_BYTES)
            return sum(step.work for step in probe.steps) <= EMULATOR_FLOPS
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

    def _few(self):
        """Sizes at which every element counts: of a maximum over many the last one decides hardly ever."""
        sizes = {name: min(least + self.found.steps[name], self.task.sizes[name])
                 for name, least in self.found.least.items()}
        return sizes if sizes and self._runs(sizes) else None

    def _held_out(self, given, grown):
        if not given:
            return
        near, far = {}, {}
        for name, step in self.found.steps.items():
            low = self.found.least[name]
            near[name] = self._range(low, max(low, grown[name] + 4 * step), step)
            far[name] = self._far(name, low, given[name], step)
        self.workloads.append({"name": "any_small", "axes": near, "role": "held_out", "tier": "emulator"})
        self.workloads.append({"name": "any_large", "axes": far, "role": "held_out", "tier": "gpu"})

    def _far(self, name, low, given, step):
        """From half the file's size; where a file names cases, all between them that have what they share."""
        sizes = [row["axes"][name] for row in self.workloads if row["name"] in self.cases]
        if not sizes:
            return self._range(max(low, given // 2 // step * step), given, step)
        shared = functools.reduce(math.gcd, sizes)
        return self._range(max(low, min(sizes)), max(sizes), shared if len(set(sizes)) > 1 else 1)

    @staticmethod
    def _range(low, high, step):
        if low >= high:
            return high
        return [low, high] if step == 1 else {"range": [low, high], "multiple": step}

    # ---- what the values show

    def _look_at_values(self):
        """At small sizes; at larger ones where these show more."""
        self._look_at_ties()
        row = next((row for row in self.workloads if row["name"] == "small"), None)
        sizes = row["axes"] if row else self._varying(self.small)
        self.values = self._values_at(sizes)
        for name in self.found.varying:
            larger = dict(sizes, **{name: min(2 * sizes[name], self.task.sizes[name])})
            if not self.values.hide() or row is None or larger == sizes or not self._runs(larger):
                continue
            values = self._values_at(larger)
            if values.hide() < self.values.hide():
                self.values, sizes, row["axes"] = values, larger, larger
        self.mutations = self.values.mutations()
        self.exempt = self.values.exempt()
        drawn = self.task.entry.draws()
        self.notes.extend(note for note in self.values.notes if note.partition(" is ")[0] not in drawn)
        self.drawn_alike = self._drawn_alike()
        self._omit(self.values.constant_outputs())

    def _omit(self, places):
        """Leaves outputs out; the file is read so that its runs agree with the folder."""
        if not places:
            return
        names = self._output_names()
        self.notes.append("the same in every case, and left out: %s" % ", ".join(names[place] for place in places))
        self.options["omit"] = self.task.options["omit"] = places

    def _drawn_alike(self):
        """Inputs and weights that one of our kinds draws as the file does, at all sizes."""
        points = [self.samples.base, *self.samples.ends()]
        first, *others = ({**own_draws.kinds(self.task.instance(point), seed),
                           **own_weights.kinds(self.task, point, seed)} for point in points for seed in (1, 2))
        taken = {*self.values.free, *self.values.instance.weights}
        return {name: kind for name, kind in first.items()
                if name in taken and all(other.get(name) == kind for other in others)}

    def _look_at_ties(self):
        """Indices of equal elements: told by what they select where the format can say it, else without ties."""
        names = dict(zip(self._output_names(), self.probes[0].indices))
        self.selects = {output: {"gather": source} for output, source in names.items() if source}
        others = [output for output, source in names.items() if source == ""]
        self.with_ties = ties.WITH_TIES if others else ()
        if others:
            self.notes.append("%s may be any of the indices of equal elements: no distribution with many of them (%s) "
                              "is used" % (", ".join(others), ", ".join(sorted(ties.WITH_TIES))))

    def _values_at(self, sizes):
        chooses = any(step.operator in CHOOSING for step in self.probes[0].steps)
        return Values(self.task.instance(sizes), self._output_names(), chooses, self.with_ties)

    # ---- problem.json

    def _problem(self):
        name = _problem_name(self.path)
        probe = self.probes[0]
        inputs = {}
        for tensor, (shape, dtype) in probe.inputs.items():
            inputs[tensor] = self._input(tensor, shape, dtype)
        inputs = {tensor: entry for tensor, entry in inputs.items() if entry is not None}
        # From weights alone a candidate could make the results before it is timed.
        role = {"role": "weight"} if any(entry["shape"] is not None for entry in inputs.values()) else {}
        for tensor in self.values.used:
            inputs[tensor] = dict({"shape": self.shapes[tensor], "dtype": _dtype(tensor, probe.weights[tensor][1])},
                                  **role)
        outputs = {tensor: {"shape": self.shapes[tensor], "dtype": _dtype(tensor, dtype)}
                   for place, (tensor, (shape, dtype)) in enumerate(zip(self._output_names(), probe.outputs))
                   if shape is not None and place not in self.options.get("omit", ())}
        if not outputs:
            raise TaskError("it returns no tensor")
        used_axes = {axis for entry in list(inputs.values()) + list(outputs.values()) for axis in entry["shape"] or ()}
        used_axes |= set(re.findall(r"[A-Za-z_]\w*", " ".join(
            [axis["value"] for axis in self.axes.values() if axis["type"] == "derived"] + [self.flops])))
        read = [(tensor, self._to_read(tensor, entry["shape"])) for tensor, entry in inputs.items()
                if entry["shape"] is not None]
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
        if self.selects:
            problem["tolerance"]["outputs"] = self.selects
        exempt = {mutation: {tensor: why for tensor, why in tensors.items() if tensor in inputs or tensor in outputs}
                  for mutation, tensors in self.exempt.items()}
        if any(exempt.values()) and not self.values.degenerate:
            problem["audit_exempt"] = {mutation: tensors for mutation, tensors in exempt.items() if tensors}
        if self.values.degenerate:
            problem["degenerate"] = self.values.degenerate
        return problem

    def _to_read(self, name, shape):
        """The elements of an input that a kernel has to read, as factors of a product."""
        known = self.values.to_read(name, shape)
        steps = [step for probe in self.probes for step in probe.steps]
        if known != shape or not any(step.selects for step in steps):
            return known
        group = "inputs" if name in self.probes[0].inputs else "weights"
        counts = self.needs.counts(name, [getattr(probe, group)[name][0] for probe in self.probes])
        if counts is needs.UNKNOWN:
            self.notes.append("bytes_read leaves out %s, of which results may need a part alone" % name)
            return ["0"]
        return [axis if count is None else count if count.isidentifier() or count.isdigit() else "(%s)" % count
                for axis, count in zip(shape, counts)]

    def _kernel(self, problem):
        """A plain starting kernel, or None: one of a file that looks at values knows a single way through it."""
        instance = self.task.instance(dict(self.task.sizes, **list(self.samples.every())[-1]))
        if looks_at_values(instance, instance.inputs(1)):
            return None
        return starting_kernel.written(instance, problem)

    def _known_distributions(self, inputs):
        """Without what is drawn for weights that were left out; a definition has no generator of its own."""
        if self.task.kind == "flashinfer_bench":
            ours = [{"name": one["name"], "kind": one["name"]} for one in self.values.distributions[1:]]
            if not ours:
                raise TaskError("its inputs have to be drawn as its workloads say: no distribution suits them")
            return ours
        known = []
        for one in [{**self.values.distributions[0], "tensors": self.drawn_alike}] + self.values.distributions[1:]:
            tensors = {name: kind for name, kind in one.get("tensors", {}).items() if name in inputs}
            known.append({**one, "tensors": tensors} if tensors else {key: one[key] for key in ("name", "kind")})
        return known

    def _input(self, name, shape, dtype):
        if shape is None:
            value = self.values.first[name]
            if value is None:
                self.notes.append("input %s is None: left out" % name)
                return None
            numbers = self.task.entry.scalars().get(name, [])
            if len(numbers) > MAX_SCALARS:
                self.notes.append("%s takes %d values: the first %d are used" % (name, len(numbers), MAX_SCALARS))
            if len(numbers) > 1:
                return {"shape": None, "dtype": SCALARS[dtype], "values": numbers[:MAX_SCALARS]}
            if any(probe.numbers.get(name) != value for probe in self.probes):
                self.notes.append("the number %s follows from the sizes: left out" % name)
                return None
            return {"shape": None, "dtype": SCALARS[dtype], "value": value}
        entry = {"shape": self.shapes[name], "dtype": _dtype(name, dtype)}
        if name in self.task.entry.draws():
            entry["draw"] = self._draw(self.task.entry.draws()[name])
        return entry

    def _draw(self, text):
        """A kind with its bounds over the problem's axes."""
        given = self.task.source.definition["axes"]
        for name in sorted(set(re.findall(r"[A-Za-z_]\w*", text.partition("(")[2]))):
            size = str(given[name]["value"]) if given[name]["type"] == "const" else self.found.follow.get(name, name)
            text = re.sub(r"\b%s\b" % name, size, text)
        return text


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
