"""What of a file is the computation, and what makes its inputs: one class a kind of file."""

import contextlib
import functools
import inspect
import os
import sys
import types

import torch

from . import definition_draws, definitions, task_yaml, trace_workloads
from .problems import TaskError

INPUT_MAKERS = ("get_inputs", "example_inputs", "example_args")


class Source:
    """The text of a reference and where it is."""

    def __init__(self, path, text, folder, definition=None, task=None, workloads=None):
        self.path = path
        self.text = text
        self.folder = folder
        self.definition = definition  # a FlashInfer-Bench definition
        self.workloads = workloads  # of the definition
        self.task = task  # a GPU MODE task.yml: sizes and how they vary

    @contextlib.contextmanager
    def importable(self, module):
        """Lets the file import its neighbours, and the names that boards provide, while it executes."""
        stand_ins = {"reference": module}
        for name, make in (("task", _task_module), ("utils", _utils_module)):
            if not os.path.exists(os.path.join(self.folder, name + ".py")):
                stand_ins[name] = make()
        before = {name: sys.modules.get(name) for name in list(stand_ins) + ["task", "utils"]}
        for name in before:
            sys.modules.pop(name, None)
        sys.modules.update(stand_ins)
        sys.path.insert(0, self.folder)
        try:
            yield
        finally:
            sys.path.remove(self.folder)
            for name, module_before in before.items():
                sys.modules.pop(name, None)
                if module_before is not None:
                    sys.modules[name] = module_before


def _task_module():
    module = types.ModuleType("task")
    module.input_t = module.output_t = object
    module.TestSpec = dict
    return module


class _AnyUtils(types.ModuleType):
    """GPU MODE's utils hold checks and contexts, which a reference alone does not need."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "DeterministicContext":
            return contextlib.nullcontext
        return lambda *args, **kwargs: None


def _utils_module():
    return _AnyUtils("utils")


def read(path, workloads=None):
    """The source at `path`: a Python file, a definition (.json), or a folder with task.yml and reference.py.

    workloads: the file with those of a definition, or None.
    """
    try:
        if os.path.isdir(path):
            reference = os.path.join(path, "reference.py")
            if not os.path.isfile(reference):
                raise TaskError("%s is a folder without reference.py; give a Python file" % os.path.basename(path))
            path = reference
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise TaskError("%s cannot be read: %s" % (os.path.basename(path), error.strerror))
    except UnicodeDecodeError:
        raise TaskError("%s is not UTF-8 text; expected a Python file" % os.path.basename(path))
    folder = os.path.dirname(path)
    if path.endswith(".json"):
        definition = definitions.read(path, text)
        return Source(path, definition["reference"], folder, definition=definition,
                      workloads=trace_workloads.read(workloads))
    return Source(path, text, folder, task=task_yaml.read(folder))


def choose(source, namespace, kind):
    """The entry of a file: of `kind`, or of the first kind that it has what it takes for."""
    if source.definition is not None:
        return _Definition(source, namespace)
    for entry in ((_BoardTask, _ModuleTask, _FunctionTask) if kind is None else (_BY_KIND[kind],)):
        if entry.fits(source, namespace):
            return entry(source, namespace)
    raise TaskError(_EXPECTED[kind])


def _own(namespace, value):
    return getattr(value, "__module__", None) == "reference"


def _named_arguments(parameters, values):
    """Values by position as parameter -> value."""
    if isinstance(values, dict):
        return dict(values)
    if not isinstance(values, (list, tuple)):
        values = [values]
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    if len(values) > len(names) and rest is None:
        raise TaskError("%d inputs are made, but it takes %d: %s" % (len(values), len(names), ", ".join(names)))
    named = dict(zip(names, values))
    if len(values) > len(names):
        named[rest] = list(values[len(names):])
    return named


class Call:
    """A computation ready to run. module: the nn.Module, or None. parameters: names of its arguments."""

    def __init__(self, function, module=None):
        self.function = function
        self.module = module
        signature = inspect.signature(module.forward if module is not None else function)
        self.signature = list(signature.parameters.values())
        self.parameters = [parameter.name for parameter in self.signature]

    def draw(self, make_inputs, seed):
        """Arguments by parameter, from the file's own generator."""
        if make_inputs is None:
            raise TaskError("it has nothing that makes inputs; define get_inputs()")
        made = make_inputs(seed)
        if made is None or (isinstance(made, (list, tuple, dict)) and not made and self.parameters):
            raise TaskError("get_inputs() returns nothing; expected a list with a value for %s"
                            % ", ".join(self.parameters))
        return _named_arguments(self.signature, made)

    def bound(self, arguments):
        """(function, positional arguments, named ones): what `run` calls."""
        positional, named = [], {}
        for parameter in self.signature:
            if parameter.name not in arguments:
                continue
            value = arguments[parameter.name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional.extend(value)
            elif parameter.kind is parameter.VAR_KEYWORD:
                named.update(value)
            elif parameter.kind is parameter.KEYWORD_ONLY or len(positional) < self.signature.index(parameter):
                # What follows an argument that was left out has to go by name.
                named[parameter.name] = value
            else:
                positional.append(value)
        return self.function, positional, named

    def run(self, arguments):
        function, positional, named = self.bound(arguments)
        return function(*positional, **named)


def _input_maker(namespace):
    """A function of the seed that makes the inputs of an executed file, or None."""
    for name in INPUT_MAKERS:
        value = namespace.get(name)
        if callable(value):
            return lambda seed: value()
        if isinstance(value, (list, tuple, dict)):
            return lambda seed: value
    return None


class _Entry:
    """What a kind of file says of itself where it says no more."""

    hands_buffers = False  # for its results, to what it computes with

    def cases(self):
        """Named sizes besides those that the file has: (name, are they timed, value of each)."""
        return ()

    def differing(self):
        """Names of sizes that are not the same in all cases."""
        return set()

    def alike(self):
        """Names of sizes with one value in all timed cases."""
        return set()

    def output_names(self):
        """What the file calls its results, or nothing."""
        return []

    def draws(self):
        """Input -> how it is drawn whatever the distribution, as problem.json says it."""
        return {}

    def scalars(self):
        """Input -> the numbers that it may be."""
        return {}

    def notes(self):
        return []


class _ModuleTask(_Entry):
    """KernelBench's form: class Model, get_inputs() and get_init_inputs()."""

    kind = "kernelbench"

    def __init__(self, source, namespace):
        self.name = self.module_name(namespace)

    @staticmethod
    def module_name(namespace):
        if isinstance(namespace.get("Model"), type):
            return "Model"
        own = [name for name, value in namespace.items()
               if isinstance(value, type) and issubclass(value, torch.nn.Module) and _own(namespace, value)]
        return own[0] if len(own) == 1 else None

    @classmethod
    def fits(cls, source, namespace):
        return cls.module_name(namespace) is not None and _input_maker(namespace) is not None

    def sizes(self, found):
        return found

    def call(self, namespace, sizes):
        make = namespace.get("get_init_inputs")
        given = make() if callable(make) else []
        args, kwargs = _initial(given)
        module = namespace[self.name](*args, **kwargs)
        if not isinstance(module, torch.nn.Module):
            raise TaskError("%s is not a torch.nn.Module" % self.name)
        return Call(module, module)

    def maker(self, namespace, sizes):
        return _input_maker(namespace)


def _initial(given):
    """Arguments of the module's constructor: a list, a dict, or a list of both."""
    if isinstance(given, dict):
        return (), given
    if len(given) == 2 and isinstance(given[0], (list, tuple)) and isinstance(given[1], dict):
        return tuple(given[0]), given[1]
    return tuple(given), {}


class _FunctionTask(_Entry):
    """A function: `run`, or the only one next to those that make inputs."""

    kind = "function"

    def __init__(self, source, namespace):
        self.name = self.function_name(namespace)

    @staticmethod
    def function_name(namespace):
        own = [name for name, value in namespace.items()
               if isinstance(value, types.FunctionType) and _own(namespace, value)
               and not name.startswith("_") and name not in INPUT_MAKERS + ("get_init_inputs", "main")]
        return "run" if "run" in own else own[-1] if len(own) == 1 else None

    @classmethod
    def fits(cls, source, namespace):
        return cls.function_name(namespace) is not None

    def sizes(self, found):
        return found

    def call(self, namespace, sizes):
        return Call(namespace[self.name])

    def maker(self, namespace, sizes):
        return _input_maker(namespace)


class _BoardTask(_Entry):
    """GPU MODE's form: ref_kernel(data), generate_input(..., seed) and task.yml."""

    kind = "gpu_mode"
    hands_buffers = True

    def __init__(self, source, namespace):
        self.task = source.task or {}
        signature = inspect.signature(namespace["generate_input"])
        self.parameters = [name for name in signature.parameters if name != "seed"]
        self.defaults = {name: parameter.default for name, parameter in signature.parameters.items()
                         if parameter.default is not parameter.empty}
        self.timed = self.task.get("benchmarks") or self.task.get("tests") or []
        self.shape = dict(self.defaults)
        self.shape.update(self.timed[-1] if self.timed else {})
        missing = [name for name in self.parameters if name not in self.shape]
        if missing:
            raise TaskError("generate_input takes %s, and task.yml gives no value for it" % ", ".join(missing))

    @classmethod
    def fits(cls, source, namespace):
        return callable(namespace.get("ref_kernel")) and callable(namespace.get("generate_input"))

    def sizes(self, found):
        sizes = {name: self.shape[name] for name in self.parameters if type(self.shape[name]) is int}
        return sizes

    def cases(self):
        """Those of task.yml as (name, is it timed, value of each parameter)."""
        tests = self.task.get("tests") or []
        for what, cases in (("benchmark", self.timed), ("test", [] if tests == self.timed else tests)):
            for number, case in enumerate(cases, 1):
                given = {**self.defaults, **case}
                yield "%s_%d" % (what, number), what == "benchmark", {name: given.get(name, self.shape[name])
                                                                     for name in self.parameters}

    def differing(self):
        """Parameters that are not the same in all cases."""
        cases = [values for _, _, values in self.cases()]
        return {name for name in self.parameters if any(values[name] != self.shape[name] for values in cases)}

    def alike(self):
        """Parameters with one value in all cases that are timed."""
        timed = [values for _, is_timed, values in self.cases() if is_timed]
        return {name for name in self.parameters if all(values[name] == self.shape[name] for values in timed)}

    def call(self, namespace, sizes):
        return Call(namespace["ref_kernel"])

    def maker(self, namespace, sizes):
        generate = namespace["generate_input"]
        arguments = {name: sizes.get(name, self.shape[name]) for name in self.parameters}
        takes_seed = "seed" in inspect.signature(generate).parameters

        def make(seed):
            extra = {"seed": seed} if takes_seed else {}
            data = generate(**arguments, **extra)
            return {"data": data}

        return make


class _Definition(_Entry):
    """A FlashInfer-Bench definition: axes, inputs, and the source of `run`."""

    kind = "flashinfer_bench"

    def __init__(self, source, namespace):
        self.definition, self.workloads = source.definition, source.workloads
        if not callable(namespace.get("run")):
            raise TaskError("the definition's reference has no function `run`")
        self.shape = definitions.sizes(self.definition, self.workloads.rows)
        self.names = list(self.definition["outputs"])

    @classmethod
    def fits(cls, source, namespace):
        return source.definition is not None

    def sizes(self, found):
        return dict(self.shape)

    def cases(self):
        for number, (uuid, axes) in enumerate(self.workloads.rows, 1):
            yield "workload_%d" % number, True, {name: axes.get(name) for name in self.shape}

    def differing(self):
        return {name for name in self.shape for _, _, axes in self.cases() if axes[name] != self.shape[name]}

    def alike(self):
        return set(self.shape) - self.differing() if self.workloads.rows else set()

    def output_names(self):
        return self.names

    def draws(self):
        return {name: draw.text for name, draw in definition_draws.of(self.definition).items()}

    def scalars(self):
        return self.workloads.scalars

    def notes(self):
        found = []
        if not self.workloads.rows:
            found.append("it has no workloads/**/NAME.jsonl: sizes and scalars are made up")
        for name in sorted(self.workloads.foreign):
            found.append("its workloads have %s in safetensors files, which are not read: it is drawn as %s"
                         % (name, self.draws().get(name, "other inputs are")))
        return found

    def call(self, namespace, sizes):
        run = namespace["run"]

        @functools.wraps(run)
        def named(*args, **kwargs):
            result = run(*args, **kwargs)
            if isinstance(result, dict):
                self.names = list(result)
            return result

        return Call(named)

    def maker(self, namespace, sizes):
        return lambda seed: definitions.inputs(self.definition, sizes, self.workloads.scalars)


_BY_KIND = {entry.kind: entry for entry in (_ModuleTask, _FunctionTask, _BoardTask, _Definition)}
_EXPECTED = {
    None: "it is none of: a class Model with get_inputs() and get_init_inputs(); ref_kernel and generate_input; "
          "a function run(...), or one function, with get_inputs()",
    "kernelbench": "it needs a class Model (a torch.nn.Module) and get_inputs()",
    "function": "it needs a top-level function run(...), or exactly one function",
    "gpu_mode": "it needs ref_kernel(data) and generate_input(..., seed)",
    "flashinfer_bench": "it needs a definition: a .json file with axes, inputs, outputs and reference",
}
