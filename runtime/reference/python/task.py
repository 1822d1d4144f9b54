"""A user's PyTorch file as a reference: load(path) -> Task; Task.instance(sizes, seed) -> Instance.

A Task is the file; an Instance is the file run again with some of its integers replaced.
Nothing here confines what the file does: the process that calls it has to be confined already.
"""

import ast
import contextlib
import os
import types

import torch

from . import buffers, entries, mutations, sizes as file_sizes, values
from .precision import exact_tensor, mapped, precision_of
from .problems import TaskError, explained
from .seeds import derived, drawing

KINDS = ("function", "kernelbench", "flashinfer_bench", "gpu_mode")


def load(path, kind=None, options=None):
    """Reads and executes the file.

    kind: one of KINDS, or None to tell by the file's content.
    options: the object `python` of problem.json: `eval` (bool) puts modules into evaluation mode,
    `follow` (dict) says which sizes of the file take the value of another, `omit` which results are no outputs,
    `buffers` (list) which inputs are memory for results, `workloads` (a path) where those of a definition are.
    Raises TaskError with a message for the user.
    """
    if kind is not None and kind not in KINDS:
        raise TaskError("kind %r is not known; it is one of %s" % (kind, ", ".join(KINDS)))
    return Task(path, kind, dict(options or {}))


class Task:
    """kind: one of KINDS. sizes: integers that may be replaced -> their values, in the file's order.

    seeded: what the file seeds itself, by name; grows with every run.
    buffers: names of inputs that are memory for results (buffers.py); None until they have been looked for.
    """

    def __init__(self, path, kind, options):
        self.path = os.path.abspath(path)
        self.options = options
        self.seeded = set()
        self.source = entries.read(self.path, options.get("workloads"))
        self.tree()
        self._found = file_sizes.collect(self.tree())
        namespace = self.namespace({}, 0)
        self.entry = entries.choose(self.source, namespace, kind)
        self.kind = self.entry.kind
        self.forms = {}  # sizes -> how arguments nest: to draw large inputs to see it takes half a minute
        self.sizes = self.entry.sizes({name: size.value for name, size in self._found.items()})
        self.buffers = options.get("buffers", None if self.entry.hands_buffers else [])

    def tree(self):
        try:
            return ast.parse(self.source.text, self.source.path)
        except SyntaxError as error:
            raise TaskError("%s is not Python: line %s: %s" % (os.path.basename(self.source.path), error.lineno, error.msg))

    def namespace(self, values_of_sizes, seed):
        """The file executed with sizes replaced, its draws following `seed`: its global names."""
        found = {name: value for name, value in values_of_sizes.items() if name in self._found}
        tree = file_sizes.replaced(self.tree(), self._found, found)
        module = types.ModuleType("reference")
        module.__file__ = self.source.path
        doing = explained("executing " + os.path.basename(self.source.path))
        drawn = drawing(derived("file", seed), self.seeded)
        with doing, self.source.importable(module), on_this_device(), drawn:
            exec(compile(tree, self.source.path, "exec"), module.__dict__)
        return module.__dict__

    def look_for_buffers(self, instance):
        if self.buffers is not None:
            return
        make = self.entry.maker(self.namespace(instance.changed, 1), instance.sizes)
        with explained("looking for output buffers"), on_this_device(), torch.no_grad(), \
                precision_of("declared", []), drawing(1, self.seeded):
            paths = buffers.paths(instance.call, make, 1)
        self.buffers = []
        instance.inputs(1)
        self.forms.clear()  # of when buffers were inputs
        self.buffers = [name for name, path in instance.paths.items() if path in paths]

    def instance(self, sizes=None, weight_seed=42):
        """The file run again with `sizes` (name -> integer) replaced and parameters drawn from `weight_seed`."""
        chosen = dict(self.sizes)
        for name, value in (sizes or {}).items():
            if name in chosen:
                chosen[name] = value
        for name, leader in self.options.get("follow", {}).items():
            if name in chosen and leader in chosen:
                chosen[name] = chosen[leader]
        return Instance(self, chosen, weight_seed)


class Instance:
    """The file at certain sizes.

    weights: parameters and buffers by the names that a problem gives them.
    notes: what deviated from the precision asked for, in words; grows with every run.
    paths: of inputs by name in what the file's generator makes, once it has made them.
    """

    def __init__(self, task, sizes, weight_seed):
        self.task = task
        self.sizes = sizes
        self.notes = []
        self._taken = set(task.sizes)
        self._template = None
        self.paths = {}
        self._buffers = {}  # path -> (shape, dtype)
        self.changed = {name: value for name, value in sizes.items() if value != task.sizes[name]}
        namespace = task.namespace(self.changed, weight_seed)
        # The file as it was executed under a seed: it makes the inputs of that seed without being executed again.
        self._executed = weight_seed, namespace
        self.draws_inputs = task.entry.maker(namespace, sizes) is not None
        drawn = drawing(derived("weights", weight_seed), task.seeded)
        with explained("building the module"), on_this_device(), torch.no_grad(), drawn:
            self.call = task.entry.call(namespace, sizes)
        self.module = self.call.module
        if self.module is not None and task.options.get("eval"):
            self.module.eval()
        self._owners = self._find_weights()
        self.weights = self.present_weights()

    def _find_weights(self):
        """Name -> all (module, attribute) that hold the weight: tied ones have several holders."""
        owners, names = {}, {}
        if self.module is None:
            return owners
        taken = self._taken | set(self.call.parameters)
        for prefix, module in self.module.named_modules():
            for part, tensor in list(module._parameters.items()) + list(module._buffers.items()):
                if tensor is None:
                    continue
                path = prefix + "." + part if prefix else part
                place = _place(path, tensor)
                if place not in names:
                    names[place] = values.identifier(path.replace(".", "_"), taken)
                    taken.add(names[place])
                owners.setdefault(names[place], []).append((module, part))
        return owners

    def inputs(self, seed):
        """The file's own inputs drawn from `seed`: dict of name -> tensor, number or None.

        The file is executed again, so that what it draws at its top level follows the seed, too.
        """
        namespace = self._namespace_of(seed)
        make = self.task.entry.maker(namespace, self.sizes)
        with explained("making inputs"), on_this_device(), torch.no_grad(), drawing(seed, self.task.seeded):
            drawn = self.call.draw(make, seed)
        return self._named(drawn)

    def _namespace_of(self, seed):
        executed, self._executed = self._executed, None
        if executed is not None and executed[0] == seed:
            return executed[1]
        return self.task.namespace(self.changed, seed)

    def _named(self, drawn):
        """Flat names for (possibly nested) arguments by parameter."""
        named, taken = {}, set(self._taken)
        self._template = values.mapped_leaves(drawn, lambda path: None)
        self.paths, self._buffers = {}, {}
        for path, leaf in values.flattened(drawn):
            if not values.is_leaf(leaf):
                raise TaskError("input %s is %s: tensors, numbers and None are understood"
                                % (path[0], type(leaf).__name__))
            name = values.identifier("_".join(str(key) for key in path), taken)
            taken.add(name)
            if name in (self.task.buffers or ()):
                self._buffers[path] = (leaf.shape, leaf.dtype)
                continue
            named[name] = leaf.detach() if isinstance(leaf, torch.Tensor) else leaf
            self.paths[name] = path
        self.task.forms[tuple(self.sizes.items())] = (self._template, self.paths, self._buffers)
        return named

    def run(self, inputs, weights=None, precision="declared", mutation=None):
        """The outputs, in order: tensors (0-D for numbers), or None where the file returns None.

        inputs: as `inputs` gives them. weights: those to use instead of the file's own; may be a part.
        precision: `exact` (float64) or `declared`. mutation: a name from `operators`, see mutations.py.
        Raises TaskError where inputs are changed in place, or a result is a view of one.
        """
        convert = exact_tensor if precision == "exact" else lambda tensor: tensor
        with explained("running the reference"):  # float64 may need more memory than there is
            given = {name: mapped(value, convert) for name, value in inputs.items()}
        versions = {name: value._version for name, value in given.items() if isinstance(value, torch.Tensor)}
        memory = self._memory(given, convert)
        arguments = self._arguments(given, memory)
        with explained("running the reference"), torch.no_grad(), self._weights_in_place(weights or {}, convert) as held:
            with on_this_device(), mutations.applied(mutation), precision_of(precision, self.notes):
                outputs = values.results(self.call.run(arguments))
            # A weight that is returned gets its contents of before.
            outputs = [value.detach().clone() if id(value) in held else value for value in outputs]
            outputs = [None if place in self.task.options.get("omit", ()) else value
                       for place, value in enumerate(outputs)]
        if memory:
            outputs = buffers.results(outputs, list(memory.values()))
        self._check_inputs(given, versions, outputs)
        return outputs

    def bound(self, inputs):
        """(function, positional arguments, named ones) for these inputs, with the weights that the module has now."""
        return self.call.bound(self._arguments(inputs))

    def present_weights(self):
        """The weights that the module has now, by the names that a problem gives them."""
        return {name: getattr(*owners[0]).detach() for name, owners in self._owners.items()}

    def operators(self, inputs):
        """What `mutation` of run may be: the operators called for these inputs, see mutations.listed."""
        def run():
            with precision_of("declared", self.notes):
                self.call.run(self._arguments(inputs))

        with explained("running the reference"), torch.no_grad(), self._weights_in_place({}, lambda t: t):
            with on_this_device():
                return mutations.listed(run)

    def _find_form(self):
        """How arguments nest: as its generator makes them; of a function without one by the names of its arguments."""
        form = self.task.forms.get(tuple(self.sizes.items()))
        if not self.draws_inputs:
            self.paths = {name: (name,) for name in self.call.parameters}
            self._template = dict.fromkeys(self.call.parameters)
        elif form is not None:
            self._template, self.paths, self._buffers = form
        else:
            self.inputs(0)

    def _memory(self, inputs, convert=lambda tensor: tensor):
        """New buffers by their paths, where the inputs are."""
        if self._template is None:
            self._find_form()
        device = next((value.device for value in inputs.values() if isinstance(value, torch.Tensor)), "cpu")
        return {path: convert(torch.zeros(shape, dtype=dtype, device=device))
                for path, (shape, dtype) in self._buffers.items()}

    def _arguments(self, inputs, memory=None):
        memory = self._memory(inputs) if memory is None else memory
        unknown = [name for name in inputs if name not in self.paths]
        missing = [name for name in self.paths if name not in inputs]
        if unknown or missing:
            raise TaskError("inputs are %s; expected %s" % (", ".join(inputs), ", ".join(self.paths)))
        leaves = {path: inputs[name] for name, path in self.paths.items()}
        return values.rebuilt(self._template, {**leaves, **memory})

    @contextlib.contextmanager
    def _weights_in_place(self, weights, convert):
        """Puts weights into the module; what was there is restored, whatever a run changes. Gives the tensors' ids."""
        unknown = [name for name in weights if name not in self._owners]
        if unknown:
            raise TaskError("weights %s are not among those of the module: %s"
                            % (", ".join(unknown), ", ".join(self._owners) or "it has none"))
        before = []
        try:
            for name, owners in self._owners.items():
                held = [_table(*owner)[owner[1]] for owner in owners]
                contents = convert(weights.get(name, held[0]).detach())
                before.extend((owner, tensor, tensor.data) for owner, tensor in zip(owners, held))
                for owner, tensor in zip(owners, held):
                    # Into the tensor itself: whatever else holds it (flat weights of an RNN, a list) sees them, too.
                    # Buffers such as running means change in training mode.
                    tensor.data = contents.clone() if owner[1] in owner[0]._buffers else contents
            yield {id(tensor) for _, tensor, _ in before}
        finally:
            for owner, tensor, contents in reversed(before):
                tensor.data = contents
                if _table(*owner)[owner[1]] is not tensor:
                    _table(*owner)[owner[1]] = tensor

    @staticmethod
    def _check_inputs(given, versions, outputs):
        for name, version in versions.items():
            if given[name]._version != version:
                raise TaskError("it changes its input %s in place; work on a copy (%s.clone())" % (name, name))
        storages = {buffers.storage(value): name for name, value in given.items()
                    if isinstance(value, torch.Tensor) and value.numel() > 0 and value.device.type != "meta"}
        for index, output in enumerate(outputs):
            if output is not None and output.numel() > 0 and buffers.storage(output) in storages:
                raise TaskError("output %d is a view of input %s; return a tensor of its own (.clone())"
                                % (index, storages[buffers.storage(output)]))


def _table(module, part):
    return module._parameters if part in module._parameters else module._buffers


def _place(path, tensor):
    """What two holders of one weight agree in."""
    if torch.nn.parameter.is_lazy(tensor):
        raise TaskError("weight %s gets its shape in the first call: give it one when the module is made" % path)
    address = tensor.data_ptr() if tensor.layout is torch.strided and tensor.numel() else 0
    return (address, tensor.shape, tensor.stride(), tensor.dtype) if address else id(tensor)


class _HostGenerator(torch.Generator):
    """Files for boards seed generators of a GPU; where there is none they draw on the CPU."""

    def __new__(cls, device="cpu"):
        return super().__new__(cls, device="cpu")


class _HostMode(torch.overrides.TorchFunctionMode):
    """Makes `cuda` mean the CPU where there is no GPU."""

    def __torch_function__(self, function, types_, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if str(kwargs.get("device", "")).startswith("cuda"):
            kwargs["device"] = "cpu"
        name = getattr(function, "__name__", "")
        if name == "cuda":
            return args[0]
        if name == "to":
            args = tuple("cpu" if isinstance(part, (str, torch.device)) and str(part).startswith("cuda") else part
                         for part in args)
        return function(*args, **kwargs)


@contextlib.contextmanager
def on_this_device():
    """Lets files that ask for a GPU run on a machine without one."""
    if torch.cuda.is_available():
        yield
        return
    before = torch.Generator
    torch.Generator = _HostGenerator
    try:
        with _HostMode():
            yield
    finally:
        torch.Generator = before
