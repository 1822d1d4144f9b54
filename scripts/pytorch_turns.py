#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch in turns with an exported kernel: two processes on one GPU, block after block, under the GPU turn.

  alphakernel export search:3 --output softmax/
  python3 scripts/pytorch_turns.py softmax/                                    # eager, compile, max-autotune
  python3 scripts/pytorch_turns.py softmax/ --baselines self                   # A/A: the same kernel on both sides
  python3 scripts/pytorch_turns.py gemm/ --baselines eager,cublaslt            # the library that eager calls is pinned
  python3 scripts/pytorch_turns.py linear/ --module linear_relu.py             # a file with class Model

`device` is the time between two events with all launches queued ahead and a cold L2; `wall` is that of the host from
the call to the end of the GPU's work, with a cold L2. A ratio is the baseline's time over the kernel's: above 1 the
kernel is faster; its 95 % interval says how far the places in memory and the inputs move it. Needs PyTorch 2.1, nvcc and a GPU; without
a GPU it rehearses with PyTorch on both sides, and says so. docs/timing.md describes the protocol.
The exit status is 1 when a baseline was not timed, or the same kernel on both sides differs by more than 0.5 %.
"""
import argparse
import ast
import contextlib
import fcntl
import json
import math
import os
import pathlib
import random
import re
import statistics
import sys
import tempfile

import pytorch_baseline
from turn_client import Side, SideError
from turn_outputs import difference

ROUNDS = 48  # each with inputs of its own at places of their own, from which to which a gemm varies by 2 %
PAIRS = 2  # of blocks in a round: one in either order
BLOCK_SAMPLES = 8  # a turn of some milliseconds: short against the drift of clocks and temperature (chosen)
# Two-sided 95 % points of Student's t by degrees of freedom, and the normal distribution's above.
STUDENT_T = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228,
             11: 2.201, 12: 2.179, 13: 2.160, 14: 2.145, 15: 2.131, 19: 2.093, 31: 2.040}
MAX_SPIN_CYCLES = 1 << 26  # as in turn_process.py
OPEN_LIMIT_S, BLOCK_LIMIT_S = 420, 60  # max-autotune compiles and times dozens of kernels
MIN_TORCH = (2, 1)  # docs/python.md
MAX_ERROR = 0.05  # of |value| + rms: intermediate results of 8 bits give 0.01, another formula about 1 (chosen)
BASELINES = {"eager": "pytorch eager", "compile": "pytorch compile", "max-autotune": "pytorch max-autotune",
             "cublaslt": "pytorch cublaslt", "cudnn": "pytorch cudnn", "self": "itself"}
TF32_SETTINGS = ("matmul.allow_tf32", "cudnn.allow_tf32")
MAX_WORD = 200  # a device's name has some dozen letters
ON = {True: "on", False: "off", None: "unknown"}
SAME_WITHIN = 0.005  # the same kernel on both sides: what two processes are apart


class Kernel:
    """An exported folder: what its torch/check.py says of it."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        path = pathlib.Path(self.folder, "torch", "check.py")
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except OSError as error:
            sys.exit(f"{path}: {error.strerror}; expected a folder that `alphakernel export` wrote")
        facts = {}
        for node in tree.body:
            if isinstance(node, ast.Assign):
                with contextlib.suppress(ValueError):
                    facts[node.targets[0].id] = ast.literal_eval(node.value)
        self.name, self.params, self.constants = facts["NAME"], facts["PARAMS"], facts["CONSTANTS"]
        self.inputs, self.outputs = facts["INPUTS"], facts["OUTPUTS"]
        self.workloads = dict(facts["WORKLOADS"])
        if facts["GIVEN_AXES"] or any(shape is None for _, shape, _ in self.inputs):
            sys.exit(f"{self.name}: kernels with scalar inputs or sizes that no tensor has are not timed in turns")

    def shapes(self, tensors, workload):
        sizes = dict(self.constants, **self.workloads[workload])
        return [[name, [axis if isinstance(axis, int) else sizes[axis] for axis in shape], dtype]
                for name, shape, dtype in tensors]

    def problem(self):
        """The shipped problem that it is of, by its name; None where there is none."""
        found = [name for name in pytorch_baseline.EAGER if self.name == name or self.name.startswith(name + "_")]
        return max(found, key=len, default=None)


def median(values):
    return pytorch_baseline.median(values)


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
    """Takes turns between two sides that are open, round by round."""

    def __init__(self, sides, tensors, spin_cycles):
        self.sides, self.tensors = sides, tensors
        self.spin_cycles = spin_cycles  # of both: a wait lets the GPU cool, so both have to wait as long
        self.first = random.randrange(2)
        self.late = [0, 0]

    def take(self, column, rounds, pairs):
        """Rounds of pairs of blocks, in the order ours, theirs, theirs, ours or the other way round."""
        self.late = [0, 0]
        return [self.round(column, pairs) for _ in range(rounds)]

    def round(self, column, pairs):
        seeds = new_seeds()
        for side in self.sides:
            side.ask({"do": "move", "tensors": self.tensors, "seeds": seeds}, BLOCK_LIMIT_S)
        late = self.late
        self.late = [0, 0]
        self.pair(column)  # does not count: after a move the first block has another clock and temperature
        self.late, self.first = late, random.randrange(2)
        return [self.pair(column) for _ in range(pairs)]

    def pair(self, column):
        sets, samples, late = [random.randrange(2) for _ in range(BLOCK_SAMPLES)], [None, None], False
        for which in (self.first, 1 - self.first):
            side = self.sides[which]
            answer = side.ask({"do": "block", "column": column, "sets": sets, "spin_cycles": self.spin_cycles},
                              BLOCK_LIMIT_S)
            try:
                samples[which], count = checked_block(answer, BLOCK_SAMPLES)
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


def specification(kernel, options, baseline, rehearsal):
    """What a side runs. In a rehearsal PyTorch's expression is the kernel, and every baseline is eager."""
    if baseline == "self" and not rehearsal:
        return {"kind": "operator", "folder": kernel.folder}
    mode = "eager" if rehearsal else baseline
    if options.module and baseline != "self":
        return {"kind": "module", "file": os.path.abspath(options.module), "mode": mode}
    problem = options.problem or kernel.problem()
    if problem not in pytorch_baseline.EAGER:
        sys.exit(f"{kernel.name} is of no shipped problem; name a file with class Model by --module")
    return {"kind": "expression", "problem": problem, "params": kernel.params, "mode": mode,
            "inputs": [name for name, _, _ in kernel.inputs]}


def check_outputs(sides, kernel, workload, folder):
    """Raises SideError where both sides' results differ by more than rounding."""
    name, shape, dtype = kernel.shapes(kernel.outputs, workload)[0]
    files = []
    for side in sides:
        files.append(os.path.join(folder, f"output_{len(files)}"))
        answer = side.ask({"do": "results", "file": files[-1]}, BLOCK_LIMIT_S)
        if answer.get("shape") != shape or answer.get("dtype") != dtype:
            raise SideError(f"{side.label} gave {name} as {answer.get('dtype')} {answer.get('shape')}; "
                            f"expected {dtype} {shape}")
    error = difference(files, dtype, math.prod(shape))
    if not error <= MAX_ERROR:
        raise SideError(f"{sides[1].label} gives other results: they differ by {error:.2g} of the values' size; "
                        f"{MAX_ERROR} is tolerated")
    return error


def summary_of(column, rounds, late):
    ratio, low, high = paired_ratio(rounds)
    ours, theirs = ([ns for pairs in rounds for pair in pairs for ns in pair[which]] for which in range(2))
    return {"column": column, "ratio": ratio, "low": low, "high": high, "rounds": len(rounds),
            "ours_ns": median(ours), "theirs_ns": median(theirs), "not_queued": late}


class Sides:
    """The two processes of a kernel and its baselines, one after the other; they start again after a fault."""

    def __init__(self):
        self.stack = contextlib.ExitStack()
        self.sides, self.facts = [], {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def ready(self, label):
        """Both processes, the second named after its baseline. Raises SideError."""
        if not self.sides:
            self.sides = [self.stack.enter_context(Side(name)) for name in ("the kernel", label)]
            self.facts = [checked_facts(side.ask({"do": "hello"}, OPEN_LIMIT_S)) for side in self.sides][1]
        self.sides[1].label = label
        return self.sides

    def end(self):
        self.stack.close()
        self.sides = []


def time_in_turns(kernel, workload, baseline, options, both, folder):
    """A result for every column. Raises SideError."""
    label = BASELINES[baseline]
    sides = both.ready(label)
    facts = both.facts
    rehearsal = facts["columns"] == ["wall"]
    if not rehearsal and version(facts["torch"]) < MIN_TORCH:
        raise SideError(f"PyTorch {facts['torch']} is too old; 2.1 is needed")
    with gpu_turn(facts["uuid"], alone=False):
        opened = open_both(kernel, workload, sides, baseline, options, rehearsal)
        error = check_outputs(sides, kernel, workload, folder)
    with gpu_turn(facts["uuid"], alone=True):
        turns = Turns(sides, kernel.shapes(kernel.inputs, workload), max(one["spin_cycles"] for one in opened))
        columns = [summary_of(column, turns.take(column, options.rounds, PAIRS), turns.late)
                   for column in facts["columns"]]
    return {"kernel": kernel.name, "workload": workload, "label": label, "torch": facts["torch"], "cuda": facts["cuda"],
            "device": facts["device"], "rehearsal": rehearsal, "difference": error, "tf32": opened[1]["tf32"],
            "peak_bytes": {"ours": opened[0]["peak_bytes"], "theirs": opened[1]["peak_bytes"]}, "columns": columns}


def open_both(kernel, workload, sides, baseline, options, rehearsal):
    """What both say of what they opened, on the same inputs."""
    tensors, seeds = kernel.shapes(kernel.inputs, workload), new_seeds()
    return [checked_opening(side.ask({"do": "open", "what": specification(kernel, options, one, rehearsal),
                                      "tensors": tensors, "seeds": seeds,
                                      "tf32": kernel.params.get("precision") == "tf32"}, OPEN_LIMIT_S))
            for side, one in zip(sides, ("self", baseline))]


def version(text):
    found = re.match(r"(\d+)\.(\d+)", text)
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def show(row):
    peaks = row["peak_bytes"]
    memory = "" if peaks["ours"] is None else f"; peak {peaks['ours'] >> 20} and {peaks['theirs'] >> 20} MiB"
    print(f"{row['kernel']} {row['workload']}, {row['label']}, PyTorch {row['torch']}, {row['device']}"
          + (": a rehearsal on the CPU" if row["rehearsal"] else ""))
    for one in row["columns"]:
        late = one["not_queued"]
        print(f"  {one['column']:<6} {one['ratio']:.4f}x  95 % {one['low']:.4f} to {one['high']:.4f}   kernel "
              f"{one['ours_ns'] / 1e3:.2f} us, {row['label']} {one['theirs_ns'] / 1e3:.2f} us, {one['rounds']} rounds"
              + (f"; not queued ahead: {late[0]} and {late[1]} samples" if any(late) else ""))
    print(f"  results differ by {row['difference']:.1g}{memory}; "
          f"TF32 {ON[row['tf32']['matmul.allow_tf32']]} for matmul, {ON[row['tf32']['cudnn.allow_tf32']]} for cuDNN", flush=True)


def apart(row):
    """Whether device times of one kernel on both sides differ."""
    return any(one["column"] == "device" and abs(one["ratio"] - 1) > SAME_WITHIN for one in row["columns"])


def chosen_workloads(kernel, options):
    unknown = set(options.workload or []) - set(kernel.workloads)
    if unknown:
        sys.exit(f"{kernel.name} has no workload {', '.join(sorted(unknown))}; it has {', '.join(kernel.workloads)}")
    if options.workload:
        return options.workload
    names = {axis for _, shape, _ in kernel.inputs for axis in shape}
    return [max(kernel.workloads, key=lambda name: math.prod(
        size for axis, size in kernel.workloads[name].items() if axis in names))]


def time_workload(kernel, workload, options, folder):
    """(rows, whether something went wrong)."""
    rows, failed = [], False
    with Sides() as both:
        for baseline in options.baselines.split(","):
            try:
                row = time_in_turns(kernel, workload, baseline, options, both, folder)
            except SideError as error:
                print(f"{kernel.name} {workload}, {BASELINES[baseline]}: not timed: {error}", flush=True)
                both.end()
                failed = True
                continue
            show(row)
            rows.append(row)
            failed |= baseline == "self" and apart(row)
    return rows, failed


def run(options):
    kernel, rows, failed = Kernel(options.folder), [], False
    with tempfile.TemporaryDirectory(prefix="alphakernel_") as folder:
        for workload in chosen_workloads(kernel, options):
            found, wrong = time_workload(kernel, workload, options, folder)
            rows += found
            failed |= wrong
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="what `alphakernel export` wrote")
    parser.add_argument("--problem", help="the shipped problem whose PyTorch expression is timed (default: by its name)")
    parser.add_argument("--module", help="instead: a file with class Model, get_inputs() and get_init_inputs()")
    parser.add_argument("--workload", action="append", help="may be repeated (default: the largest)")
    parser.add_argument("--baselines", default="eager,compile,max-autotune", help="of " + ", ".join(BASELINES))
    parser.add_argument("--rounds", type=int, default=ROUNDS,
                        help=f"each with new inputs at another place in memory (default: {ROUNDS})")
    parser.add_argument("--json", help="file for the results")
    options = parser.parse_args()
    wrong = set(options.baselines.split(",")) - set(BASELINES)
    if wrong:
        parser.error(f"no baseline {', '.join(sorted(wrong))}; expected some of {', '.join(BASELINES)}")
    if options.rounds < 2:
        parser.error("expected --rounds of 2 at least")
    sys.exit(run(options))


if __name__ == "__main__":
    main()
