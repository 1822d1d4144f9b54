#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has KernelBench's own evaluator judge exported kernels, and writes its verdict beside ours as CSV.

    python3 scripts/check/check_kernelbench.py KernelBench/ --tasks 19,20,21 --output judged.csv

The folder is a checkout of KernelBench: level1/ with its tasks, src/kernelbench/ with the evaluator. For each task:
`exchange import`, `evaluate` of the starting kernel, its `export --format kernelbench`, `eval_kernel_against_ref` (five
inputs), the same for results that are 2 % too large, which it has to refuse, its timing, and ours: `baselines` in turns
with eager PyTorch.
`alphakernel` is on the PATH; needs a GPU, nvcc and PyTorch 2.1. Packages that only the evaluator's file names (pydantic,
requests, dotenv, tqdm, openai, litellm) may be missing.
Times: ours_us of a cold L2 without the host, theirs_us and eager_us by the evaluator's events. Speed-ups over eager:
their_speedup is theirs, our_wall and our_device those in turns with and without the host, with 95 % intervals.
The exit status is 1 where a verdict differs from ours or a wrong result was accepted.
"""
import argparse
import concurrent.futures
import csv
import glob
import importlib
import json
import os
import pathlib
import subprocess
import sys
import types

COLUMNS = ("task", "ours", "theirs", "wrong_result_refused", "ours_us", "theirs_us", "eager_us", "their_speedup",
           "our_wall", "wall_interval", "our_device", "device_interval", "note")
LIMIT_S = 400  # nvcc takes most of it
NOTE_LETTERS = 300  # of a row: what a person reads in a table
WRONG = """
_Right = ModelNew
class ModelNew(_Right):
    def forward(self, *inputs):
        return super().forward(*inputs) * 1.02
"""


def stand_in(name, **members):
    """A module of that name where none is installed."""
    try:
        importlib.import_module(name)
    except ImportError:
        module = types.ModuleType(name)
        vars(module).update(members)
        sys.modules[name] = module


class Record:
    """What the evaluator takes of pydantic's BaseModel: defaults, and fields by keyword."""

    def __init__(self, **fields):
        for name, value in vars(type(self)).items():
            if not name.startswith("_"):
                setattr(self, name, fields.get(name, value))


def judge(kernelbench, pairs, timed):
    """Runs in a process of its own: what the evaluator says of each task's file and model, a line of JSON each."""
    stand_in("pydantic", BaseModel=Record)
    stand_in("requests")
    stand_in("dotenv", load_dotenv=lambda *_, **__: None)
    stand_in("tqdm", tqdm=lambda items, *_, **__: items)
    stand_in("openai", OpenAI=object)
    stand_in("litellm", completion=None)
    sys.path.insert(0, str(kernelbench / "src"))
    from kernelbench.eval import eval_kernel_against_ref
    for task, model in pairs:
        reference, source = pathlib.Path(task).read_text(), pathlib.Path(model).read_text()
        result = eval_kernel_against_ref(reference, source, num_correct_trials=1 if timed else 5, num_perf_trials=30,
                                         measure_performance=timed)
        wrong = None if timed else eval_kernel_against_ref(reference, source + WRONG, num_correct_trials=2)
        print("JUDGED " + json.dumps({
            "compiled": result.compiled, "correct": result.correctness, "us": result.runtime * 1e3,
            "eager_us": result.ref_runtime * 1e3, "note": str(result.metadata)[:NOTE_LETTERS],
            "wrong_refused": wrong is not None and wrong.compiled and not wrong.correctness}), flush=True)


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace",
                          timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} {command[1]} ended with {done.returncode}: "
                           f"{(done.stdout or done.stderr)[-NOTE_LETTERS:]}")
    return done.stdout


def judged(arguments, pairs, timed=False):
    lines = run(sys.executable, __file__, arguments.kernelbench, *(["--timed"] if timed else []), "--judge",
                json.dumps([[str(task), str(model)] for task, model in pairs])).splitlines()
    return [json.loads(line.removeprefix("JUDGED ")) for line in lines if line.startswith("JUDGED ")]


def make(arguments, folder):
    """Our verdict and time of the starting kernel of an imported task, and the file for the evaluator."""
    kernel, out = folder / "start.cu", arguments.work / f"{folder.name}.export"
    found = json.loads(run("alphakernel", "evaluate", kernel, "--problem", folder, "--arch", "native", "--unaudited",
                           "--json"))
    run("alphakernel", "export", kernel, "--problem", folder, "--format", "kernelbench", "--force", "--output", out)
    cold = [row["median_us"] for row in found["measurements"]
            if row["shape"] == "given" and row["what"] == "kernel" and not row.get("warm_l2")]
    return cold[0], out / "model_new.py"


def row_of(arguments, task):
    folder = arguments.work / "problems" / task.stem
    row = {"task": task.stem}
    try:
        time_us, model = make(arguments, folder)
        row |= {"ours": "right", "ours_us": round(time_us, 2), "model": model}
        [verdict] = judged(arguments, [(task, model)])
        row |= {"theirs": "right" if verdict["correct"] else "wrong" if verdict["compiled"] else "not compiled",
                "wrong_result_refused": int(verdict["wrong_refused"]), "note": verdict["note"]}
    except (RuntimeError, subprocess.TimeoutExpired, OSError, KeyError, ValueError) as error:
        row |= {"ours": row.get("ours", "none"), "note": str(error)[:NOTE_LETTERS]}
    print(*(row.get(column, "") for column in COLUMNS), sep="\t", flush=True)
    return row


def add_times(arguments, tasks, rows):
    """One after the other: nothing else runs on the GPU, and everything is built."""
    right = [(task, row) for task, row in zip(tasks, rows) if row.get("theirs") == "right"]
    for (_, row), timed in zip(right, judged(arguments, [(task, row["model"]) for task, row in right], timed=True)):
        row |= {"theirs_us": round(timed["us"], 2), "eager_us": round(timed["eager_us"], 2),
                "their_speedup": round(timed["eager_us"] / timed["us"], 3)}


def add_turns(arguments, tasks, rows):
    """Our speed-ups, likewise one after the other."""
    for task, row in zip(tasks, rows):
        if row["ours"] != "right":
            continue
        folder = arguments.work / "problems" / task.stem
        try:
            answer = json.loads(run("alphakernel", "baselines", folder / "start.cu", "--problem", folder, "--workload",
                                    "given", "--baselines", "eager", "--no-libraries", "--rounds", arguments.rounds,
                                    "--unaudited", "--json"))
        except (RuntimeError, subprocess.TimeoutExpired, ValueError) as error:
            row["note"] = f"{row.get('note', '')} in turns: {str(error)[:NOTE_LETTERS]}"
            continue
        for turn in answer["turns"]:
            row |= {"our_" + turn["times"]: round(turn["speedup"], 3),
                    turn["times"] + "_interval": f"{turn['low']:.3f} to {turn['high']:.3f}"}
        write(arguments.output, rows)


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelbench", type=pathlib.Path)
    parser.add_argument("--tasks", default="1,3,8,9,10,11,13,16,17,18,40,88", help="numbers of level 1")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("judged.csv"))
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("kernelbench_check"))
    parser.add_argument("--jobs", type=int, default=4, help="tasks at once; searches take turns on the GPU")
    parser.add_argument("--rounds", default="6", help="of each ratio in turns")
    parser.add_argument("--judge", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--timed", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.judge:
        return judge(arguments.kernelbench, arguments.judge, arguments.timed)

    arguments.work.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("TORCH_EXTENSIONS_DIR", str((arguments.work / "extensions").resolve()))
    chosen = arguments.work / "tasks"
    chosen.mkdir(exist_ok=True)
    tasks = [pathlib.Path(file) for number in arguments.tasks.split(",")
             for file in glob.glob(f"{arguments.kernelbench}/level1/{number}_*.py")]
    for task in tasks:
        (chosen / task.name).write_text(task.read_text())
    run("alphakernel", "exchange", "import", chosen, "--problems", arguments.work / "problems")
    rows = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(lambda task: row_of(arguments, task), tasks):
            rows.append(row)
            write(arguments.output, rows)  # what is known is not lost when a task takes too long
    add_times(arguments, tasks, rows)
    write(arguments.output, rows)
    add_turns(arguments, tasks, rows)
    bad = [row for row in rows if row.get("theirs") != row["ours"] or not row.get("wrong_result_refused")]
    print(f"{len(rows) - len(bad)} of {len(rows)} judged alike")
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
