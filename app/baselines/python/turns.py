# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch in turns with a kernel: two processes on one GPU, block after block, under the GPU turn.

Reads one request, a line of JSON, from standard input, and writes lines of JSON: {"progress": TEXT}, {"row": {...}} for
each workload, baseline and column, {"fault": {...}} where a baseline was not timed, and {"done": true} at the end.
`device` is the time between two events with all launches queued ahead and a cold L2; `wall` is that of the host from the
call to the end of the GPU's work, with a cold L2. A ratio is the baseline's time over the kernel's, with its 95 %
interval, which says how far the places in memory and the inputs move it. docs/timing.md describes the protocol.
"""
import contextlib
import fcntl
import json
import math
import os
import random
import re
import statistics
import sys
import tempfile

from turn_client import Side, SideError
from turn_outputs import difference

PARTS = ("kernel", "baseline")
PAIRS = 2  # of blocks in half a round: one in either order
BLOCK_SAMPLES, MIN_BLOCK_SAMPLES = 8, 2
BLOCK_NS = 20e6  # a turn of some milliseconds: short against the drift of clocks and temperature (chosen)
# Two-sided 95 % points of Student's t by degrees of freedom, and the normal distribution's above.
STUDENT_T = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228,
             11: 2.201, 12: 2.179, 13: 2.160, 14: 2.145, 15: 2.131, 19: 2.093, 31: 2.040}
MAX_SPIN_CYCLES = 1 << 26  # as in turn_process.py
OPEN_LIMIT_S, MOVE_LIMIT_S, BLOCK_LIMIT_S = 420, 120, 60  # max-autotune compiles and times dozens of kernels
MIN_TORCH = (2, 1)  # docs/python.md
MAX_ERROR = 0.05  # of |value| + rms: intermediate results of 8 bits give 0.01, another formula about 1 (chosen)
BASELINES = {"eager": "pytorch eager", "compile": "pytorch compile", "max-autotune": "pytorch max-autotune",
             "cublaslt": "pytorch cublaslt", "cudnn": "pytorch cudnn", "self": "itself"}
TORCH_DTYPES = {"int4x2": "uint8", "uint4x2": "uint8"}  # as in cubin_kernel.py
TF32_SETTINGS = ("matmul.allow_tf32", "cudnn.allow_tf32")
MAX_WORD = 200  # a device's name has some dozen letters


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def student_t(freedom):
    """The tabled point of at most so many degrees of freedom: never too narrow."""
    return STUDENT_T[max(known for known in STUDENT_T if known <= freedom)]


def paired_ratio(rounds):
    """(ratio, low, high) of the second's time over the first's. A round is a list of pairs; a pair two lists of samples.

    Rounds are independent, what is within one is not: it has the same inputs at the same places.
    """
    logs = [statistics.fmean(math.log(median(theirs) / median(ours)) for ours, theirs in pairs) for pairs in rounds]
    centre = statistics.fmean(logs)
    half = student_t(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return tuple(math.exp(value) for value in (centre, centre - half, centre + half))


def checked_block(answer, count):
    """The samples of a block, in ns. Raises SideError where the answer is none."""
    samples, late = answer.get("ns"), answer.get("late")
    if not isinstance(samples, list) or len(samples) != count or type(late) is not int or not 0 <= late <= count:
        raise SideError("answered a block with something else than %d times" % count)
    if any(type(ns) is not int or not 0 < ns < BLOCK_LIMIT_S * 10**9 for ns in samples):
        raise SideError("gave a time that is none")
    return samples, late


def samples_of_block(pair):
    """Eight, and fewer where the slower part takes milliseconds: rounds tell more than samples of one block."""
    return min(BLOCK_SAMPLES, max(MIN_BLOCK_SAMPLES, round(BLOCK_NS / max(median(samples) for samples in pair))))


def checked_facts(facts):
    """What a side says of itself at its start. Raises SideError."""
    words = [facts.get(name) for name in ("torch", "cuda", "device", "uuid")]
    if not all(isinstance(word, str) and len(word) <= MAX_WORD for word in words):
        raise SideError("a side does not say in words what it is")
    if facts.get("columns") not in (["wall"], ["device", "wall"]):
        raise SideError("a side has columns that are none")
    return facts


def checked_opening(opening):
    """What a side says of what it opened: its peak memory and TF32 settings. Raises SideError."""
    peak, tf32 = opening.get("peak_bytes"), opening.get("tf32")
    if peak is not None and (type(peak) is not int or not 0 <= peak < 2**63):
        raise SideError("a side's peak memory is no number of bytes")
    if not isinstance(tf32, dict) or any(type(tf32.get(name)) not in (bool, type(None)) for name in TF32_SETTINGS):
        raise SideError("a side's TF32 settings are none")
    spin = opening.get("spin_cycles")
    if type(spin) is not int or not 0 < spin <= MAX_SPIN_CYCLES:
        raise SideError("a side's wait before a call is no number of cycles")
    return {"peak_bytes": peak, "tf32": {name: tf32[name] if name in tf32 else None for name in TF32_SETTINGS},
            "spin_cycles": spin}


class Turns:
    """Takes turns between two processes, each of which has opened both parts.

    A round is taken twice, with the parts swapped: a process's core, its memory and its luck are on both sides then.
    """

    def __init__(self, sides, spin_cycles):
        self.sides = sides
        self.spin_cycles = spin_cycles  # of both: a wait lets the GPU cool, so both have to wait as long
        self.first = random.randrange(2)
        self.samples = BLOCK_SAMPLES
        self.late = [0, 0]

    def take(self, column, rounds, pairs):
        """Rounds of pairs of blocks, in the order ours, theirs, theirs, ours or the other way round."""
        self.late = [0, 0]
        return [self.round(column, pairs) for _ in range(rounds)]

    def round(self, column, pairs):
        swapped = random.randrange(2)
        return self.half(column, pairs, swapped) + self.half(column, pairs, 1 - swapped)

    def half(self, column, pairs, swapped):
        seeds = new_seeds()
        for side in self.sides:
            side.ask({"do": "move", "seeds": seeds}, MOVE_LIMIT_S)
        late = self.late
        self.late = [0, 0]
        # Does not count: after a move the first block has another clock and temperature.
        self.samples = samples_of_block(self.pair(column, swapped))
        self.late, self.first = late, random.randrange(2)
        return [self.pair(column, swapped) for _ in range(pairs)]

    def pair(self, column, swapped):
        sets, samples, late = [random.randrange(2) for _ in range(self.samples)], [None, None], False
        for which in (self.first, 1 - self.first):
            side = self.sides[which ^ swapped]
            answer = side.ask({"do": "block", "part": PARTS[which], "column": column, "sets": sets,
                               "spin_cycles": self.spin_cycles}, BLOCK_LIMIT_S)
            try:
                samples[which], count = checked_block(answer, self.samples)
            except SideError as error:
                raise SideError(f"{side.label} {error}")
            self.late[which] += count
            late |= count > 0
        if late:
            self.spin_cycles = min(2 * self.spin_cycles, MAX_SPIN_CYCLES)
        self.first = 1 - self.first
        return samples


def new_seeds():
    return [random.randrange(1, 2**31) for _ in range(2)]


@contextlib.contextmanager
def gpu_turn(uuid, alone):
    """The turn of docs/architecture.md: any number of processes check, or one times. Nothing is locked without a uuid."""
    uuid = uuid.removeprefix("GPU-")
    if not re.fullmatch(r"[0-9a-fA-F-]{36}", uuid):
        yield
        return
    path = os.path.join(os.environ.get("ALPHAKERNEL_LOCKS") or "/tmp", f"alphakernel-gpu-GPU-{uuid}.lock")
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o444))
    lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        os.close(lock)


def check_outputs(sides, outputs, folder):
    """The largest difference of both sides' results. Raises SideError where it is more than rounding."""
    files, answers = [], []
    for side, part in zip(sides, PARTS):
        files.append(os.path.join(folder, f"output_{len(files)}"))
        answers.append(side.ask({"do": "results", "part": part, "file": files[-1]}, BLOCK_LIMIT_S))
        expected = [{"shape": one["shape"], "dtype": TORCH_DTYPES.get(one["dtype"], one["dtype"])} for one in outputs]
        given = answers[-1].get("outputs")
        # PyTorch's own operators keep to themselves what a kernel also has to return, such as sums of an attention.
        if not isinstance(given, list) or not given or given != expected[:len(given)]:
            raise SideError(f"{side.label} gave {str(answers[-1].get('outputs'))[:300]}; expected {expected}")
    error = 0.0
    for index, one in enumerate(expected[:min(len(answer["outputs"]) for answer in answers)]):
        error = max(error, difference([f"{file}.{index}" for file in files], one["dtype"], math.prod(one["shape"])))
    if not error <= MAX_ERROR:
        raise SideError(f"the baseline gives other results than the kernel: they differ by {error:.2g} of the values' size; "
                        f"{MAX_ERROR} is tolerated")
    return error


def row_of(column, rounds, late):
    ratio, low, high = paired_ratio(rounds)
    ours, theirs = ([ns for pairs in rounds for pair in pairs for ns in pair[which]] for which in range(2))
    return {"column": column, "ratio": ratio, "low": low, "high": high, "rounds": len(rounds),
            "kernel_ns": median(ours), "baseline_ns": median(theirs), "kernel_late": late[0], "baseline_late": late[1]}


class Sides:
    """The two processes of a kernel and its baselines, one after the other; they start again after a fault."""

    def __init__(self):
        self.stack = contextlib.ExitStack()
        self.sides, self.facts = [], {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def ready(self):
        """Both processes. Raises SideError."""
        if not self.sides:
            self.sides = [self.stack.enter_context(Side(name)) for name in ("the first process", "the second process")]
            self.facts = [checked_facts(side.ask({"do": "hello"}, OPEN_LIMIT_S)) for side in self.sides][1]
        return self.sides

    def end(self):
        self.stack.close()
        self.sides = []


class Job:
    """One workload of a request."""

    def __init__(self, request, workload):
        self.request, self.workload, self.task = request, workload["name"], workload

    def time(self, baseline, both, folder):
        """A row for every column. Raises SideError."""
        sides = both.ready()
        facts = both.facts
        rehearsal = facts["columns"] == ["wall"]
        if rehearsal and not self.request["rehearse"]:
            raise SideError("PyTorch sees no GPU")
        if not rehearsal and version(facts["torch"]) < MIN_TORCH:
            raise SideError(f"PyTorch {facts['torch']} is too old; 2.1 is needed")
        with gpu_turn(facts["uuid"], alone=False):
            opened = self.open(sides, baseline, rehearsal)  # kernel, baseline; baseline, kernel
            error = check_outputs(sides, self.task["outputs"], folder)
        tell(f"{BASELINES[baseline]} on {self.workload}: taking turns")
        with gpu_turn(facts["uuid"], alone=True):
            turns = Turns(sides, max(one["spin_cycles"] for one in opened))
            rows = [row_of(column, turns.take(column, self.request["rounds"], PAIRS), turns.late)
                    for column in facts["columns"]]
        settings = {name: facts[name] for name in ("torch", "cuda", "device")}
        settings.update(opened[2]["tf32"])
        return [{"workload": self.workload, "label": BASELINES[baseline], "rehearsal": rehearsal, "difference": error,
                 "kernel_peak_bytes": opened[0]["peak_bytes"], "baseline_peak_bytes": opened[2]["peak_bytes"],
                 "settings": settings, **row} for row in rows]

    def open(self, sides, baseline, rehearsal):
        """What the first side says of the kernel and the second of the baseline, which each opens first, so that the
        other part is not in its peak memory. In a rehearsal all is eager PyTorch."""
        common = {name: self.request[name] for name in ("subject", "cubin", "symbols", "tf32")}
        common.update({name: self.task[name] for name in ("axes", "inputs", "drawn", "outputs", "plan")},
                      seeds=new_seeds())
        modes = {"kernel": "eager", "baseline": "eager" if rehearsal or baseline == "self" else baseline}
        compiled = {"kernel": not rehearsal, "baseline": not rehearsal and baseline == "self"}
        opened = []
        for side, parts in zip(sides, (PARTS, PARTS[::-1])):
            side.ask({"do": "inputs", **common}, OPEN_LIMIT_S)
            for part in parts:
                tell(f"{BASELINES[baseline]} on {self.workload}: preparing the {part} in {side.label}")
                answer = side.ask({"do": "open", "part": part, "mode": modes[part], "compiled": compiled[part],
                                   **common}, OPEN_LIMIT_S)
                opened.append(checked_opening(answer))
        return opened


def version(text):
    found = re.match(r"(\d+)\.(\d+)", text)
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def write(**line):
    print(json.dumps(line), flush=True)


def tell(text):
    write(progress=text)


def run(request):
    unknown = [name for name in request["baselines"] if name not in BASELINES]
    if unknown or not request["baselines"] or request["rounds"] < 2:
        sys.exit("a request needs baselines of %s, and rounds of 2 at least" % ", ".join(BASELINES))
    with tempfile.TemporaryDirectory(prefix="alphakernel_") as folder, Sides() as both:
        for workload in request["workloads"]:
            job = Job(request, workload)
            for baseline in request["baselines"]:
                try:
                    for row in job.time(baseline, both, folder):
                        write(row=row)
                except SideError as error:
                    write(fault={"workload": job.workload, "label": BASELINES[baseline], "reason": str(error)})
                    both.end()
    write(done=True)


if __name__ == "__main__":
    run(json.loads(sys.stdin.readline()))
