"""Computes a problem's reference for the device worker: exact results in float64, and the twin's.

Tensors come and go through memory that both processes have mapped, a slice at a time: the GPU's where there is one.
Nothing here confines what a user's file does: the process is confined before it runs Python.
"""

import contextlib
import gc
import hashlib
import mmap
import time

import torch

from . import attempts, channel, device_memory
from .known_results import SMALL_BYTES, Known, KnownResults, hash_of
from .mutations import Absent
from .problems import TaskError, explained
from .repeats import choose_repeatable_operators, same_result
from .randomness import refuse_random_modules
from .seeds import seed_everything
from .task import load

EXCHANGE, DEVICE_EXCHANGE = 4, 5  # memory that the process inherited: a file, and the GPU's
WEIGHT_SEED = 42
# That PyTorch may keep of a GPU for later: so many bytes, or this share of what is free beside them (chosen). To give
# back gigabytes and take them again takes longer than to compute with them.
UNUSED_BYTES, UNUSED_SHARE = 1 << 30, 0.5


def dtype_of(name):
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise TaskError("PyTorch %s has no %s" % (torch.__version__, name))
    return dtype


def out_of_memory(message):
    return "more memory than there is" in message


class Slot:
    """An input as the worker writes it: bytes, and the tensor that they are."""

    def __init__(self, layout, shape, device):
        self.name = layout["name"]
        dtype = dtype_of(layout["dtype"])
        count = 1
        for extent in shape:
            count *= extent
        size = torch.empty((), dtype=dtype).element_size()
        self.bytes = torch.empty(count * size, dtype=torch.uint8, device=device)
        self.tensor = self.bytes.view(dtype).view(shape)


class Server:
    """One file, and one workload of it at a time; for one device worker, or several one after the other."""

    def __init__(self, launch):
        self.notes = []
        self.launch = launch
        self.device = self.found_device()
        self.opened = None  # what `task` was loaded from
        self.rest()

    def found_device(self):
        if not self.launch["gpu"]:
            return torch.device("cpu")
        try:
            torch.cuda.init()
            torch.cuda.set_device(self.launch["ordinal"])
            return torch.device("cuda", self.launch["ordinal"])
        except Exception as error:  # no CUDA in this PyTorch (AssertionError), or the driver's refusal
            self.no_gpu = "the reference runs on the CPU, for PyTorch cannot use the GPU: %s" % error
            return torch.device("cpu")

    def meet(self, file):
        """Another device worker, and its exchange memory."""
        self.file, self.host = file, torch.frombuffer(file, dtype=torch.uint8)
        if self.launch["gpu"] and self.device.type == "cpu":
            self.note(self.no_gpu)
        if self.launch["device_memory"] and self.device.type == "cuda":
            try:
                self.mapping = device_memory.Mapping(DEVICE_EXCHANGE, self.launch["device_memory"], self.device)
                self.exchange = self.mapping.tensor
                return
            except (OSError, RuntimeError) as error:
                self.note("tensors pass through the memory of the host: %s" % error)
        self.exchange = self.host

    def rest(self):
        """Nothing of a device worker stays beside known results, and no memory of a GPU beside its context."""
        self.instance = self.exchange = self.host = self.file = self.results = self.drawn = None
        self.contents = None  # hash of the inputs, where it is known
        self.waiting = None  # inputs that are not in their slots: places, bytes
        self.holds_memory = False  # nothing but the next results needs what PyTorch keeps for later
        self.slots, self.on_cpu, self.notes = {}, {}, []  # on_cpu: mutation -> an instance, where the GPU lacks it
        if getattr(self, "mapping", None):
            self.mapping.close()
        self.mapping = None
        gc.collect()  # what a file makes holds itself: functions and their globals
        if self.device.type == "cuda":
            give_back_gpu_memory()

    def handlers(self):
        return {name: getattr(self, name) for name in
                ("hello", "open", "workload", "put", "compute", "get", "draw", "take_drawn", "release")}

    def hello(self, request):
        exchange = "device" if self.exchange.is_cuda else "host"
        return {"torch": str(torch.__version__), "device": self.device.type, "exchange": exchange}

    def open(self, request):
        wanted = [request[what] for what in ("file", "source_hash", "kind", "options", "tensors")]
        if wanted != self.opened:
            # A device worker that candidates have taken over does not choose what others compute with.
            if self.opened is not None and self.launch["one_file"]:
                raise TaskError("this process serves %s" % self.opened[0])
            self.opened = None
            self.load(request)
            self.opened = wanted
        return {"sizes": self.task.sizes}

    def load(self, request):
        with open(request["file"], "rb") as file:
            text = file.read()
        if hashlib.sha256(text).hexdigest() != request["source_hash"]:
            raise TaskError("%s has changed since the problem was read" % request["file"])
        attempts.watch(request["file"])
        self.task = load(request["file"], request["kind"], request["options"])
        self.layouts = request["tensors"]
        # What is found out about the file, once:
        self.known = KnownResults()
        self.repeated = set()
        self.independent = False  # its results are known to depend on inputs and weights alone
        self.why_drawn_on_cpu = {}  # axes -> a note
        self.draws_on_gpu = {}  # axes -> whether; one seed has to give the same values every time
        self.constants_at = {}  # axes -> what constants() found: drawing the inputs of a large workload takes seconds

    # ---- one workload

    def workload(self, request):
        self.axes, self.shapes = request["axes"], request["shapes"]
        # As keys of what is remembered 4.0 and true would be 4 and 1.
        if not all(type(value) is int for value in self.axes.values()):
            raise TaskError("axes are whole numbers")
        self.sizes = {name: value for name, value in self.axes.items() if name in self.task.sizes}
        self.results = self.contents = self.waiting = None
        self.instance, self.on_cpu = self.made_instance(WEIGHT_SEED), {}
        self.kept = self.constants()
        self.place(self.device)
        return {}

    def made_instance(self, weight_seed):
        instance = self.task.instance(self.sizes, weight_seed)
        refuse_random_modules(instance.module)
        return instance

    def place(self, device):
        """Memory for the inputs, and the module's own tensors, on a device."""
        self.placed = device
        self.slots = {}
        for index, layout in enumerate(self.layouts):
            if not layout["output"] and not layout["scalar"]:
                self.slots[index] = Slot(layout, self.shapes[index], device)
        if self.instance.module is not None and device.type != "cpu":
            self.instance.module.to(device)

    def put(self, request):
        begin, count = request["offset"], request["bytes"]
        self.contents = self.waiting = None
        self.slots[request["tensor"]].bytes[begin:begin + count].copy_(self.exchange[:count])
        self.finish_copies()
        return {}

    def take_inputs(self, puts):
        """All inputs, whole, in exchange memory. Few bytes reach their slots when something is computed from them."""
        places, memory = puts["places"], self.memory(puts["through"])
        if sorted((place["tensor"], place["bytes"]) for place in places) != \
                sorted((index, slot.bytes.numel()) for index, slot in self.slots.items()):
            raise TaskError("the inputs that it is sent are not those of the workload")
        self.contents = self.waiting = None
        end = max((place["at"] + place["bytes"] for place in places), default=0)
        if puts["through"] == "device" or not 0 < end <= SMALL_BYTES:
            return self.fill_slots(places, memory)
        # A copy, which no one changes between its hash and its use.
        taken = bytearray(memoryview(self.file)[:end])
        self.contents = hash_of(taken, places, self.shapes, self.axes)
        self.waiting = places, torch.frombuffer(taken, dtype=torch.uint8)

    def memory(self, through):
        return self.host if through == "host" else self.exchange

    def fill_slots(self, places, memory):
        for place in places:
            self.slots[place["tensor"]].bytes.copy_(memory[place["at"]:place["at"] + place["bytes"]])

    def finish_copies(self):
        """The other process may write the exchange memory as soon as it has the answer."""
        if self.exchange.is_cuda:
            torch.cuda.synchronize()

    def compute(self, request):
        part, mutation = request["part"], request["mutation"] or None
        self.holds_memory = request.get("hold", False)
        self.scalars = self.typed(request["scalars"])
        if "puts" in request:
            self.take_inputs(request["puts"])
        gets = request.get("gets")
        key = None
        if gets and gets["through"] == "host" and self.contents:
            key = (self.contents, part, mutation, str(self.scalars))
        known = None if request.get("fresh") else self.known.find(key)
        if known is None:
            said = len(self.notes)
            ms = self.compute_results(part, mutation)
            known = Known(self.taken_results(gets["through"]) if gets else None, ms,
                          self.instance.notes + self.notes[said:])
            if key:
                self.known.keep(key, known)
        for text in known.notes:
            self.note(text)
        if gets:
            self.give_results(gets, known.results)
        answer = {"ms": known.ms, "notes": self.taken_notes()}
        del known
        self.return_memory()
        return answer

    def compute_results(self, part, mutation):
        """Into self.results. Returns how many ms it took."""
        if self.waiting is not None:
            self.fill_slots(*self.waiting)
            self.waiting = None
        started = time.perf_counter()
        self.results = failed = None
        try:
            self.results = self.run(part, mutation)
        except TaskError as error:
            if self.placed.type == "cpu":
                raise
            failed = str(error)  # the error itself holds on to the tensors of its frames
        if failed is not None:
            self.move_to_cpu(failed)
            self.results = self.run(part, mutation)
        elapsed = time.perf_counter() - started
        key = (tuple(sorted(self.axes.items())), part, mutation)
        if key not in self.repeated:
            self.check_repeat(part, mutation)
            self.repeated.add(key)
        if not self.independent and mutation is None:
            self.check_independence(part)
            self.independent = True
        return elapsed * 1e3

    def taken_results(self, through):
        """As bytes by index; they are no longer here. Those for the host are copies, whatever the file keeps of them."""
        results = {index: tensor.reshape(-1).view(torch.uint8) for index, tensor in self.results.items()}
        self.results = None
        if through == "device":
            return results
        return {index: contents.to("cpu", copy=True) for index, contents in results.items()}

    def give_results(self, gets, results):
        """Whole results come to lie in exchange memory."""
        memory = self.memory(gets["through"])
        for place in gets["places"]:
            memory[place["at"]:place["at"] + place["bytes"]].copy_(results[place["tensor"]])
        if memory.is_cuda:
            self.finish_copies()

    def typed(self, scalars):
        """Numbers as their dtypes have them."""
        kinds = {layout["name"]: dtype_of(layout["dtype"]) for layout in self.layouts if layout["scalar"]}
        return {name: torch.tensor(scalars[name], dtype=torch.float64).to(dtype).item() for name, dtype in kinds.items()}

    def move_to_cpu(self, why):
        why = "the GPU has too little memory left" if out_of_memory(why) else why
        self.note("it runs on the CPU: " + why)
        held = {index: slot.bytes.cpu() for index, slot in self.slots.items()}
        self.slots = {}
        self.instance = self.made_instance(WEIGHT_SEED)
        self.place(torch.device("cpu"))
        for index, contents in held.items():
            self.slots[index].bytes.copy_(contents)
        self.return_memory()

    def run(self, part, mutation, seed=1):
        if mutation in self.on_cpu:
            return self.run_on_cpu(part, mutation, seed)
        try:
            return self.run_with(self.instance, self.slots_by_name(), part, mutation, seed)
        except Absent:
            if self.placed.type == "cpu":
                raise
        # What is one operator on a GPU, such as a recurrent layer, is several on the CPU.
        self.on_cpu[mutation] = self.made_instance(WEIGHT_SEED)
        return self.run_on_cpu(part, mutation, seed)

    def run_on_cpu(self, part, mutation, seed):
        tensors = {name: tensor.cpu() for name, tensor in self.slots_by_name().items()}
        return self.run_with(self.on_cpu[mutation], tensors, part, mutation, seed)

    def slots_by_name(self):
        return {slot.name: slot.tensor for slot in self.slots.values()}

    def run_with(self, instance, tensors, part, mutation, seed, others=None):
        """others: weights where the problem names none."""
        weights = {**(others or {}), **{name: value for name, value in tensors.items() if name in instance.weights}}
        inputs = {name: value for name, value in tensors.items() if name not in instance.weights}
        inputs.update(self.scalars)
        # A seed of its own for every run: what is random shows.
        seed_everything(seed)
        precision = "exact" if part == "exact" else "declared"
        outputs = instance.run({**self.kept, **inputs}, weights, precision, mutation)
        with explained("keeping its results"):
            if self.placed.type == "cuda":
                torch.cuda.synchronize()
            return self.checked([output for output in outputs if output is not None], part)

    def check_independence(self, part):
        """Another instance with the same inputs and weights: a value that is drawn when it is made shows."""
        try:
            other = self.made_instance(WEIGHT_SEED + 1)
            if other.module is not None:
                other.module.to(self.placed)
            again = self.run_with(other, self.slots_by_name(), part, None, 1, self.instance.present_weights())
        except TaskError as error:
            if out_of_memory(str(error)):
                return  # beside the first one; smaller workloads have shown it, or will
            raise
        for index, first in self.results.items():
            difference = same_result(first, again[index])
            if difference is not None:
                raise TaskError("output %s depends on random values that are no parameter or buffer (%s): no kernel "
                                "can know them. Register them (self.register_buffer), or make them inputs"
                                % (self.layouts[index]["name"], difference))

    def constants(self):
        """Numbers and None among the file's own inputs: those that the problem does not name keep their values."""
        if not self.instance.draws_inputs:
            return {}
        key = tuple(sorted(self.axes.items()))
        if key not in self.constants_at:
            own = self.drawn_by_file(0)
            self.constants_at[key] = {name: value for name, value in own.items() if not isinstance(value, torch.Tensor)}
            del own
            self.return_memory()
        return self.constants_at[key]

    def checked(self, outputs, part):
        wanted = [(index, layout) for index, layout in enumerate(self.layouts) if layout["output"]]
        if len(outputs) != len(wanted):
            raise TaskError("it returns %d tensors; the problem has %d outputs: %s" % (
                len(outputs), len(wanted), ", ".join(layout["name"] for _, layout in wanted)))
        results = {}
        for output, (index, layout) in zip(outputs, wanted):
            name, shape, dtype = layout["name"], list(self.shapes[index]), dtype_of(layout["dtype"])
            if list(output.shape) != shape:
                raise TaskError("output %s has the shape %s; the problem says %s" % (name, list(output.shape), shape))
            if output.is_complex() or output.dtype.is_floating_point != dtype.is_floating_point:
                raise TaskError("output %s is %s; the problem says %s" % (name, short(output.dtype), short(dtype)))
            if part != "exact" and output.dtype != dtype:
                raise TaskError("output %s is %s; the problem says %s" % (name, short(output.dtype), short(dtype)))
            wide = torch.float64 if dtype.is_floating_point else torch.int64
            results[index] = output.to(wide if part == "exact" else dtype).contiguous()
        return results

    def check_repeat(self, part, mutation):
        try:
            again = self.run(part, mutation, seed=2)
        except TaskError as error:
            if out_of_memory(str(error)):
                return  # as below
            raise
        for index, first in self.results.items():
            difference = same_result(first, again[index])
            if difference is not None:
                raise TaskError("two runs on the same inputs differ in output %s (%s): it draws random numbers, or "
                                "keeps something from one call to the next" % (self.layouts[index]["name"], difference))

    def get(self, request):
        return self.give(self.results, request)

    def give(self, tensors, request):
        """A slice of a tensor; with the last one the tensor goes."""
        index, begin, count = request["tensor"], request["offset"], request["bytes"]
        contents = tensors[index].reshape(-1).view(torch.uint8)
        self.exchange[:count].copy_(contents[begin:begin + count])
        self.finish_copies()
        if begin + count >= contents.numel():
            del contents, tensors[index]
            self.return_memory()
        return {}

    def return_memory(self):
        """What PyTorch keeps for later goes back to the GPU when it is much: the kernels' tensors need it."""
        if self.device.type != "cuda" or self.holds_memory:
            return
        unused = unused_bytes()
        if unused > UNUSED_BYTES and unused > UNUSED_SHARE * torch.cuda.mem_get_info()[0]:
            torch.cuda.empty_cache()

    def release(self, request):
        self.holds_memory = False
        if self.device.type == "cuda" and unused_bytes() > UNUSED_BYTES:
            torch.cuda.empty_cache()
        return {}

    # ---- the file's own inputs

    def draw(self, request):
        self.drawn = self.drawn_inputs(request["tensors"], request["seed"])
        if "draw" not in self.repeated:
            for index, value in self.drawn_inputs(request["tensors"], request["seed"]).items():
                if not torch.equal(self.drawn[index].reshape(-1).view(torch.uint8),
                                   value.reshape(-1).view(torch.uint8)):
                    raise TaskError("its own inputs differ from one call to the next under the same seed (%s): draw "
                                    "them with torch, random or numpy.random and without seeds of the system"
                                    % self.layouts[index]["name"])
            self.repeated.add("draw")
        return {}

    def own_tensors(self, seed):
        instance = self.made_instance(seed)
        return dict(instance.inputs(seed) if instance.draws_inputs else {}, **instance.weights)

    def drawn_by_file(self, seed):
        """Its inputs and weights by name: on the GPU where the file can, which takes a hundredth of the time."""
        key = tuple(sorted(self.axes.items()))
        if key not in self.draws_on_gpu and self.device.type == "cuda" and hasattr(self.device, "__enter__"):
            try:
                with self.device:
                    named = self.own_tensors(seed)
                self.draws_on_gpu[key] = True
                return named
            except Exception as error:  # whatever a user's file raises that expects the CPU
                self.why_drawn_on_cpu[key] = "it draws its inputs on the CPU: %s" % error
        on_gpu = self.draws_on_gpu.setdefault(key, False)
        if key in self.why_drawn_on_cpu:
            self.note(self.why_drawn_on_cpu[key])
        with self.device if on_gpu else contextlib.nullcontext():
            return self.own_tensors(seed)

    def drawn_inputs(self, tensors, seed):
        named = self.drawn_by_file(seed)
        drawn = {}
        for index in tensors:
            layout, shape = self.layouts[index], list(self.shapes[index])
            if layout["name"] not in named:
                raise TaskError("it draws no input %s; those that it draws are %s"
                                % (layout["name"], ", ".join(named) or "none"))
            value, dtype = torch.as_tensor(named[layout["name"]]), dtype_of(layout["dtype"])
            if list(value.shape) != shape or (value.dtype != dtype and not layout["scalar"]):
                raise TaskError("its own input %s is %s %s; the problem says %s %s" % (
                    layout["name"], short(value.dtype), list(value.shape), short(dtype), shape))
            drawn[index] = value.detach().to(dtype).contiguous()
        return drawn

    def take_drawn(self, request):
        return self.give(self.drawn, request)

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def taken_notes(self):
        for text in self.instance.notes + attempts.notes():
            self.note(text)
        taken, self.notes = self.notes, []
        return taken


def give_back_gpu_memory():
    """All that PyTorch keeps for later."""
    clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)  # since PyTorch 1.13
    if clear is not None:
        clear()
    torch.backends.cuda.cufft_plan_cache.clear()
    torch.cuda.empty_cache()


def unused_bytes():
    """That PyTorch keeps for later. torch.cuda.memory_reserved() sorts all statistics, for 0.15 ms."""
    statistics = torch.cuda.memory_stats_as_nested_dict()
    held, used = (statistics[kind]["all"]["current"] for kind in ("reserved_bytes", "allocated_bytes"))
    return held - used


def short(dtype):
    return str(dtype).replace("torch.", "")


def main(stream, launch, next_requests=lambda: None):
    """next_requests: waits for another device worker; None when there will be no more."""
    torch.set_num_threads(launch["threads"] or torch.get_num_threads())
    choose_repeatable_operators()
    server = Server(launch)
    while stream is not None:
        server.meet(mmap.mmap(EXCHANGE, 0))
        with contextlib.suppress(ConnectionError):  # a device worker that was killed while it waited
            channel.serve(stream, server.handlers())
        server.rest()
        stream = next_requests()
