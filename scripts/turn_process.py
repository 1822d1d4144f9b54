# SPDX-License-Identifier: Apache-2.0
"""One side of scripts/pytorch_turns.py: a process that runs one implementation and times it when it is its turn.

Requests and answers are lines of JSON on standard input and output, one at a time; the parent trusts none of them.
On a machine without a GPU it runs on the CPU and has wall times only.
"""
import importlib.util
import json
import os
import random
import time

import torch

import pytorch_baseline

MIN_SPIN_CYCLES = 400_000  # about 0.2 ms: longer than the host takes to enqueue a handful of operators
MAX_SPIN_CYCLES = 1 << 26  # about 40 ms
SPIN_MARGIN = 3  # the host's time for one call varies
CYCLES_PER_NS = 2  # of a GPU's clock, generously
HOST_CALLS = 5  # timed to see how long the host takes to enqueue one
WARM_UPS, BLOCK_WARM_UPS = 3, 2  # before all turns: compilation; before each turn: clocks, caches of the host
PAD_SHARE = 64  # at most this part of the device's memory lies unused before the inputs (chosen)
MODES = {"eager": None, "compile": {}, "max-autotune": {"mode": "max-autotune-no-cudagraphs"}}


def with_cublaslt(function):
    torch.backends.cuda.preferred_blas_library("cublaslt")
    return function


def with_cudnn_attention(function):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def pinned(*inputs):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return function(*inputs)
    return pinned


# A vendor's library behind PyTorch's operator.
LIBRARIES = {"cublaslt": with_cublaslt, "cudnn": with_cudnn_attention}


class Operator:
    """A kernel of AlphaKernel as a PyTorch operator: a folder that `alphakernel export` wrote."""

    def __init__(self, what):
        path = os.path.join(what["folder"], "torch", "check.py")
        spec = importlib.util.spec_from_file_location("check_" + str(abs(hash(path))), path)
        self.check = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.check)
        self.check.build()  # once for all processes: what is built lies in the folder
        self.operator = getattr(torch.ops.alphakernel, self.check.NAME)

    def calls_on(self, sets):
        return [lambda inputs=inputs: self.operator(*inputs) for inputs in sets]


class Expression:
    """What a user of PyTorch would write for a problem that comes with AlphaKernel."""

    def __init__(self, what):
        eager, params, names = pytorch_baseline.EAGER[what["problem"]], what["params"], what["inputs"]

        def call(*inputs):
            return eager(torch, params, **dict(zip(names, inputs)))

        self.call = compiled(call, what["mode"])

    def calls_on(self, sets):
        return [lambda inputs=inputs: self.call(*inputs) for inputs in sets]


class Module:
    """A file with `class Model`, `get_inputs()` and `get_init_inputs()`: the first inputs are arguments of its call, the
    others its parameters, in their order."""

    def __init__(self, what):
        spec = importlib.util.spec_from_file_location("module_file", what["file"])
        self.file = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.file)
        self.mode, self.count = what["mode"], len(self.file.get_inputs())
        self.modules = []  # (module, as it is called) of each set of inputs

    def calls_on(self, sets):
        while len(self.modules) < len(sets):
            module = self.file.Model(*self.file.get_init_inputs()).to(sets[0][0].device, sets[0][0].dtype).eval()
            self.modules.append((module, compiled(module, self.mode, fresh=not self.modules)))
        return [self.call_on(*pair, inputs) for pair, inputs in zip(self.modules, sets)]

    def call_on(self, module, run, inputs):
        parameters, values = list(module.parameters()), inputs[self.count:]
        if [p.shape for p in parameters] != [value.shape for value in values]:
            raise ValueError("the module's parameters are %s; the kernel takes %s" % (
                [list(p.shape) for p in parameters], [list(value.shape) for value in values]))
        for parameter, value in zip(parameters, values):
            parameter.data = value
        return lambda: run(*inputs[:self.count])


KINDS = {"operator": Operator, "expression": Expression, "module": Module}


def compiled(function, mode, fresh=True):
    if mode in LIBRARIES:
        return LIBRARIES[mode](function)
    options = MODES[mode]
    if options is None:
        return function
    if fresh:
        torch._dynamo.reset()  # what another mode compiled before is neither found nor counted
    return torch.compile(function, dynamic=False, **options)


class Cuda:
    """Times by events, with the call's launches queued before the first of them starts."""

    columns = ("device", "wall")

    def __init__(self):
        self.device = torch.device("cuda")
        properties = torch.cuda.get_device_properties(0)
        self.blas = torch.backends.cuda.preferred_blas_library()
        self.facts = {"device": torch.cuda.get_device_name(0), "uuid": str(getattr(properties, "uuid", ""))}
        self.flush = self.pad = None

    def reset(self):
        """Nothing is held that would count as the next one's peak, and no library is preferred."""
        self.flush = self.pad = None
        torch.backends.cuda.preferred_blas_library(self.blas)

    def synchronize(self):
        torch.cuda.synchronize()

    def move(self):
        """What is allocated next lies elsewhere in the device's memory: a kernel's time depends on the place."""
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        total = torch.cuda.get_device_properties(0).total_memory
        self.pad = torch.empty(random.randrange(1, total // PAD_SHARE), dtype=torch.uint8, device="cuda")

    def peak_of(self, call):
        """Bytes of its inputs, outputs and temporaries; its inputs are all that is allocated."""
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        call()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated()

    def prepare(self, call):
        """The cycles to spin so that the host can enqueue the call meanwhile."""
        l2 = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 64 << 20)
        # Over twice the L2; written and then read, so that what stays is clean.
        self.flush = torch.empty(max(64 << 20, 2 * l2 + (16 << 20)) // 4, dtype=torch.float32, device="cuda")
        host_ns = []
        for _ in range(HOST_CALLS):
            begin = time.perf_counter_ns()
            call()
            host_ns.append(time.perf_counter_ns() - begin)
            torch.cuda.synchronize()
        wanted = int(SPIN_MARGIN * CYCLES_PER_NS * sorted(host_ns)[HOST_CALLS // 2])
        return min(max(MIN_SPIN_CYCLES, wanted), MAX_SPIN_CYCLES)

    def clean_caches(self):
        self.flush.zero_()
        self.flush.sum()

    def sample(self, call, column, spin_cycles):
        """(ns, whether all launches were queued before the first began)."""
        return self.device_sample(call, spin_cycles) if column == "device" else (self.wall_sample(call), True)

    def device_sample(self, call, spin_cycles):
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(spin_cycles)
        self.clean_caches()
        before.record()
        call()
        after.record()
        queued = not before.query()
        torch.cuda.synchronize()
        return round(before.elapsed_time(after) * 1e6), queued

    def wall_sample(self, call):
        self.clean_caches()
        torch.cuda.synchronize()
        begin = time.perf_counter_ns()
        call()
        torch.cuda.synchronize()
        return time.perf_counter_ns() - begin


class Cpu:
    """Wall times of a CPU, to try the turns where there is no GPU."""

    columns = ("wall",)

    def __init__(self):
        self.device = torch.device("cpu")
        self.facts = {"device": "cpu", "uuid": ""}

    def reset(self):
        pass

    def synchronize(self):
        pass

    def move(self):
        pass

    def peak_of(self, call):
        call()
        return None

    def prepare(self, call):
        call()
        return MIN_SPIN_CYCLES

    def sample(self, call, column, spin_cycles):
        begin = time.perf_counter_ns()
        call()
        return time.perf_counter_ns() - begin, True


def tf32_settings():
    """None where PyTorch does not say: from 2.9 on it refuses once its newer interface was used, too."""
    readers = {"matmul.allow_tf32": lambda: bool(torch.backends.cuda.matmul.allow_tf32),
               "cudnn.allow_tf32": lambda: bool(torch.backends.cudnn.allow_tf32),
               "float32_matmul_precision": torch.get_float32_matmul_precision}
    settings = {}
    for name, read in readers.items():
        try:
            settings[name] = read()
        except RuntimeError:
            settings[name] = None
    return settings


class Side:
    def __init__(self):
        self.clock = Cuda() if torch.cuda.is_available() else Cpu()
        self.subject, self.calls = None, []

    def hello(self, request):
        return {"torch": str(torch.__version__), "cuda": torch.version.cuda or "", "columns": list(self.clock.columns),
                **self.clock.facts}

    def open(self, request):
        """Builds what is to be timed on two sets of inputs; compilation and warm-up happen here, not in a turn."""
        self.subject, self.calls = None, []
        self.clock.reset()
        torch.set_float32_matmul_precision("high" if request["tf32"] else "highest")
        torch.backends.cudnn.allow_tf32 = request["tf32"]
        sets = [self.drawn(request["tensors"], seed) for seed in request["seeds"]]
        what = request["what"]
        with torch.no_grad():
            self.subject = KINDS[what["kind"]](what)
            self.calls = self.subject.calls_on(sets)
            for call in self.calls:
                for _ in range(WARM_UPS):
                    output = call()
            self.clock.synchronize()
            del output
            peak = self.clock.peak_of(self.calls[0])
            others = sum(tensor.numel() * tensor.element_size() for inputs in sets[1:] for tensor in inputs)
            spin_cycles = self.clock.prepare(self.calls[0])
        return {"peak_bytes": None if peak is None else peak - others, "tf32": tf32_settings(),
                "spin_cycles": spin_cycles}

    def move(self, request):
        """New inputs at another place of the device's memory."""
        self.calls = []
        self.clock.move()
        with torch.no_grad():
            self.calls = self.subject.calls_on([self.drawn(request["tensors"], seed) for seed in request["seeds"]])
            for call in self.calls:
                call()  # allocates its outputs
            self.clock.synchronize()
        return {}

    def drawn(self, tensors, seed):
        generator = torch.Generator(self.clock.device).manual_seed(seed)
        drawn = []
        for _, shape, dtype in tensors:
            values = torch.randn(shape, generator=generator, device=self.clock.device, dtype=torch.float32)
            drawn.append(values.to(getattr(torch, dtype)))
        return drawn

    def results(self, request):
        """Writes the output on the first set to a file: the parent compares both sides'."""
        with torch.no_grad():
            output = self.calls[0]()
        output = output[0] if isinstance(output, (list, tuple)) else output
        output.contiguous().reshape(-1).view(torch.uint8).cpu().numpy().tofile(request["file"])
        return {"shape": list(output.shape), "dtype": str(output.dtype).replace("torch.", "")}

    def block(self, request):
        """Samples on the sets named, one each."""
        samples, late = [], 0
        with torch.no_grad():
            for index in range(BLOCK_WARM_UPS):
                self.clock.sample(self.calls[index % len(self.calls)], request["column"], request["spin_cycles"])
            for which in request["sets"]:
                ns, queued = self.clock.sample(self.calls[which], request["column"], request["spin_cycles"])
                samples.append(ns)
                late += not queued
        return {"ns": samples, "late": late}


def main():
    # What PyTorch and compilers print must not be taken for an answer, and they read no requests.
    answers, requests = os.fdopen(os.dup(1), "w"), os.fdopen(os.dup(0))
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    side = Side()
    handlers = {name: getattr(side, name) for name in ("hello", "open", "move", "results", "block")}
    for line in requests:
        request = json.loads(line)
        try:
            answer = {"ok": handlers[request["do"]](request)}
        except Exception as error:  # noqa: BLE001: the parent says what went wrong, whatever it was
            answer = {"error": "%s: %s" % (type(error).__name__, str(error)[:2000])}
        answers.write(json.dumps({"id": request["id"], **answer}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
