# SPDX-License-Identifier: Apache-2.0
"""One side of turns.py: a process that runs one implementation and times it when it is its turn.

Requests and answers are lines of JSON on standard input and output, one at a time; the parent trusts none of them.
On a machine without a GPU it runs on the CPU and has wall times only.
"""
import ctypes
import json
import math
import os
import random
import signal
import sys
import time

import torch

from cubin_kernel import Bound, Program, torch_dtype
from expressions import EAGER

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


class Kernel:
    """The compiled kernel of a request."""

    def __init__(self, request):
        self.program = Program(request["cubin"], request["symbols"])
        self.plan, self.outputs = request["plan"], request["outputs"]

    def calls_on(self, sets):
        self.bound = [Bound(self.program, self.plan, one.tensors, self.outputs) for one in sets]
        return [one.call for one in self.bound]

    def peak_bytes(self, measured):
        """What a call needs: each set has outputs and workspaces of its own here, so nothing is measured."""
        return self.bound[0].bytes_held()


class Pytorch:
    """What PyTorch computes."""

    def peak_bytes(self, measured):
        return measured


class Expression(Pytorch):
    """What a user of PyTorch would write for a problem that comes with AlphaKernel."""

    def __init__(self, request):
        subject = request["subject"]
        if subject["problem"] not in EAGER:
            raise ValueError("there is no PyTorch expression of the problem %s; one made from a Python file "
                             "(alphakernel problem new --from-python) has its own" % subject["problem"])
        eager, params = EAGER[subject["problem"]], subject["params"]

        def call(*inputs):
            return eager(torch, params, **dict(zip(names, inputs)))

        names = [name for name, _, _ in request["inputs"]]
        self.names, self.call = names, compiled(call, request["mode"])

    def calls_on(self, sets):
        return [lambda values=[one.tensors[name] for name in self.names]: self.call(*values) for one in sets]


class File(Pytorch):
    """The problem's own file: its module or function, called as the file would."""

    def __init__(self, request):
        self.mode, self.functions = request["mode"], []  # of each set: a module has weights of its own

    def calls_on(self, sets):
        return [self.call_on(index, *one.bound()) for index, one in enumerate(sets)]

    def call_on(self, index, function, positional, named):
        if index == len(self.functions):
            self.functions.append(compiled(function, self.mode, fresh=index == 0))
        run = self.functions[index]
        return lambda: run(*positional, **named)


class DrawnSet:
    """Inputs of a problem that comes with AlphaKernel: normal values, small integers, scalars as they are; indices,
    lengths and offsets from files, as the problem draws them."""

    def __init__(self, request, seed, device):
        self.request, self.device = request, device
        self.tensors = {}
        self.move(seed)

    def release(self):
        self.tensors = {}

    def move(self, seed):
        generator = torch.Generator(self.device).manual_seed(seed)
        self.tensors = {name: dtype if shape is None else self.drawn(name, shape, torch_dtype(dtype), generator)
                        for name, shape, dtype in self.request["inputs"]}

    def drawn(self, name, shape, dtype, generator):
        if name in self.request["drawn"]:
            values = torch.from_file(self.request["drawn"][name], size=math.prod(shape), dtype=torch.int64)
            return values.view(shape).to(self.device, dtype, copy=True)
        if dtype.is_floating_point:
            return torch.randn(shape, generator=generator, device=self.device, dtype=torch.float32).to(dtype)
        low, high = (0, 2) if dtype is torch.bool else (-3, 4)
        return torch.randint(low, high, shape, generator=generator, device=self.device).to(dtype)


class FileSet:
    """What the problem's own file draws under a seed: inputs by its generator, and a module with its weights."""

    def __init__(self, request, seed, device):
        subject = request["subject"]
        if subject["package"] not in sys.path:
            sys.path.insert(0, subject["package"])
        from alphakernel_reference import task
        loaded = task.load(subject["file"], subject["form"], dict(subject["options"]))
        self.request, self.device = request, device
        self.instance = loaded.instance(request["axes"], weight_seed=seed)
        self.inputs = {name: value.to(device) if torch.is_tensor(value) else value
                       for name, value in self.drawn(seed).items()}
        if self.instance.module is not None:
            self.instance.module.to(device)
        self.tensors = self.named()

    def drawn(self, seed):
        """On the GPU where the file can, which takes a hundredth of the time."""
        try:
            with self.device:
                return self.instance.inputs(seed)
        except Exception:  # whatever a user's file raises that expects the CPU
            return self.instance.inputs(seed)

    def release(self):
        pass  # a file's generator may take seconds: what it drew stays

    def move(self, seed):
        """The same values at another place of the memory."""
        self.inputs = {name: value.clone() if torch.is_tensor(value) else value for name, value in self.inputs.items()}
        if self.instance.module is not None:
            for tensor in list(self.instance.module.parameters()) + list(self.instance.module.buffers()):
                tensor.data = tensor.data.clone()
        self.tensors = self.named()

    def named(self):
        """What the kernel takes by name."""
        found = {**self.inputs, **self.instance.present_weights()}
        for name, shape, dtype in self.request["inputs"]:
            if name not in found:
                raise ValueError("the file has no input or weight %s, which the kernel takes" % name)
            if shape is None and torch.is_tensor(found[name]):
                found[name] = found[name].item()
            elif shape is not None and not torch.is_tensor(found[name]):
                found[name] = torch.tensor(found[name], dtype=torch_dtype(dtype), device=self.device)
        return {name: found[name] for name, _, _ in self.request["inputs"]}

    def bound(self):
        return self.instance.bound(self.inputs)


SETS = {"expression": DrawnSet, "reference": FileSet}
BASELINES = {"expression": Expression, "reference": File}


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


def tensors_in(result):
    """The tensors of a result in order, numbers as tensors of no dimension; None is left out."""
    if result is None:
        return []
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [tensor for part in result for tensor in tensors_in(part)]
    return [result if torch.is_tensor(result) else torch.tensor(result)]


def bytes_of(one):
    return sum(value.numel() * value.element_size() for value in one.tensors.values() if torch.is_tensor(value))


class Side:
    def __init__(self):
        self.clock = Cuda() if torch.cuda.is_available() else Cpu()
        self.subjects, self.calls, self.sets = {}, {}, []

    def hello(self, request):
        return {"torch": str(torch.__version__), "cuda": torch.version.cuda or "", "columns": list(self.clock.columns),
                **self.clock.facts}

    def inputs(self, request):
        """Two sets of inputs for whatever is opened next; what was opened before is dropped."""
        self.subjects, self.calls, self.sets = {}, {}, []
        self.clock.reset()
        torch.set_float32_matmul_precision("high" if request["tf32"] else "highest")
        torch.backends.cudnn.allow_tf32 = request["tf32"]
        make = SETS[request["subject"]["kind"]]
        with torch.no_grad():
            self.sets = [make(request, seed, self.clock.device) for seed in request["seeds"]]
        return {}

    def open(self, request):
        """Builds one part, "kernel" or "baseline", on these inputs; compilation and warm-up happen here, not in a turn.

        `compiled` says whether it is the compiled kernel, else PyTorch in `mode`."""
        with torch.no_grad():
            make = Kernel if request["compiled"] else BASELINES[request["subject"]["kind"]]
            self.subjects[request["part"]] = make(request)
            calls = self.calls[request["part"]] = self.subjects[request["part"]].calls_on(self.sets)
            for call in calls:
                for _ in range(WARM_UPS):
                    output = call()
            self.clock.synchronize()
            del output
            peak = self.clock.peak_of(calls[0])
            if peak is not None:
                peak = self.subjects[request["part"]].peak_bytes(peak - sum(bytes_of(one) for one in self.sets[1:]))
            spin_cycles = self.clock.prepare(calls[0])
        return {"peak_bytes": peak, "tf32": tf32_settings(), "spin_cycles": spin_cycles}

    def move(self, request):
        """Inputs at another place of the device's memory."""
        self.calls = {}
        for one in self.sets:
            one.release()
        self.clock.move()
        with torch.no_grad():
            for one, seed in zip(self.sets, request["seeds"]):
                one.move(seed)
            for part, subject in self.subjects.items():
                self.calls[part] = subject.calls_on(self.sets)
                for call in self.calls[part]:
                    call()  # allocates its outputs
            self.clock.synchronize()
        return {}

    def results(self, request):
        """Writes the outputs on the first set to files FILE.0, FILE.1, ...: the parent compares both sides'."""
        with torch.no_grad():
            outputs = tensors_in(self.calls[request["part"]][0]())
        for index, output in enumerate(outputs):
            flat = output.contiguous().reshape(-1)
            if flat.dtype is torch.bool:
                flat = flat.to(torch.uint8)
            name = "%s.%d" % (request["file"], index)
            flat.view(torch.uint8).cpu().numpy().tofile(name)
        return {"outputs": [{"shape": list(one.shape), "dtype": str(one.dtype).replace("torch.", "")} for one in outputs]}

    def block(self, request):
        """Samples on the sets named, one each."""
        samples, late, calls = [], 0, self.calls[request["part"]]
        with torch.no_grad():
            for index in range(BLOCK_WARM_UPS):
                self.clock.sample(calls[index % len(calls)], request["column"], request["spin_cycles"])
            for which in request["sets"]:
                ns, queued = self.clock.sample(calls[which], request["column"], request["spin_cycles"])
                samples.append(ns)
                late += not queued
        return {"ns": samples, "late": late}


def main():
    PR_SET_PDEATHSIG = 1  # <sys/prctl.h>
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # also where the parent has no time to end it
    # What PyTorch and compilers print must not be taken for an answer, and they read no requests.
    answers, requests = os.fdopen(os.dup(1), "w"), os.fdopen(os.dup(0))
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    side = Side()
    handlers = {name: getattr(side, name) for name in ("hello", "inputs", "open", "move", "results", "block")}
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
