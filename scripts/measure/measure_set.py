#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a kernel set of gemm and times it in turns with cuBLASLt on shapes drawn after it was frozen, on one GPU.

  python3 scripts/measure/measure_set.py make OUT --minutes 8     # tunes the shapes of TUNED and writes OUT/set/k.cu
  python3 scripts/measure/measure_set.py random OUT --count 300   # times that file on drawn shapes: OUT/random.csv
  python3 scripts/measure/measure_set.py summary OUT              # geometric means with 95 % intervals over shapes

Sizes are log-uniform from 32 to 16384, multiples of 8; with `--ragged N` further N shapes have a length of sums that 8 does not divide.
ALPHAKERNEL names the program (build/release/bin/alphakernel), ALPHAKERNEL_TEMPLATES its templates. A step that
was stopped goes on where it was: finished parts are not measured again.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ALPHAKERNEL", ROOT / "build/release/bin/alphakernel")
TEMPLATES = pathlib.Path(os.environ.get("ALPHAKERNEL_TEMPLATES", ROOT / "templates"))
SMALLEST, LARGEST, STEP = 32, 16384, 8
# What a set learns from: sizes spread evenly over their logarithms, each axis small and large with the others, some with
# rows off 128 bytes (chosen).
TUNED = [(64, 64, 64), (64, 512, 4096), (64, 8192, 1024), (128, 4096, 4096), (256, 2048, 512), (512, 512, 8192),
         (1024, 1024, 2048), (4096, 4096, 4096), (8192, 128, 2048), (4096, 48, 4096), (1024, 1032, 1001), (2048, 8192, 256),
         (3000, 5000, 2504), (160, 12000, 4104), (1608, 3144, 1256)]
PART = 12  # shapes a process, which takes about a minute: what is stopped leaves the parts before
# The fastest of the algorithms that cuBLASLt proposes, and the first, which is what most programs run: columns of random.csv.
LIBRARIES = {"cublaslt": "library", "cublaslt_first": "first"}


def name_of(shape):
    return "timed_m{}_n{}_k{}".format(*shape)


def problem_with(shapes, folder, roles):
    """A copy of the templates whose gemm has `shapes` alone, in these roles."""
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(TEMPLATES, folder)
    path = folder / "gemm/workloads.jsonl"
    kept = [json.loads(line) for line in path.read_text().splitlines() if line]
    kept = [one for one in kept if one["tier"] == "emulator"]
    # Drawn shapes take turns between the ranges: two thirds are multiples of STEP.
    size = {"range": [SMALLEST, LARGEST], "multiple": STEP}
    for name in ("any_aligned", "any_aligned_too"):
        kept.append({"name": name, "axes": {"M": size, "N": size, "K": size}, "role": "held_out", "tier": "gpu",
                     "when": "batch == 'none'"})
    for m, n, k in shapes:
        kept.append({"name": name_of((m, n, k)), "axes": {"M": m, "N": n, "K": k}, "role": roles, "tier": "gpu",
                     "weight": 1, "when": "batch == 'none'"})
    path.write_text("".join(json.dumps(one) + "\n" for one in kept))
    problem = folder / "gemm/problem.json"
    text = json.loads(problem.read_text())
    text["baselines"] = list(LIBRARIES)
    problem.write_text(json.dumps(text))
    return folder


def call(out, templates, *words):
    environment = dict(os.environ, ALPHAKERNEL_TEMPLATES=str(templates), ALPHAKERNEL_CACHE=str(out / "cache"),
                       ALPHAKERNEL_CONFIG=str(out / "config.json"))
    words = [str(PROGRAM), *map(str, words), "--db", str(out / "set.db"), "--unaudited"]
    print("+", " ".join(words), flush=True)
    return subprocess.run(words, env=environment, check=False).returncode


def make(out, options):
    (out / "set").mkdir(parents=True, exist_ok=True)
    return call(out, problem_with(TUNED, out / "templates", ["check", "time"]), "generate", "--algorithm", "gemm", "--dtype", options.dtype,
                "--per-shape", "--max-minutes", options.minutes, "--seed", options.seed, "--baselines", "",
                "--output", out / "set/k.cu")


def drawn(count, seed, ragged):
    numbers = random.Random(seed)

    def size():
        return round(math.exp(numbers.uniform(math.log(SMALLEST), math.log(LARGEST))) / STEP) * STEP

    shapes = set()
    while len(shapes) < count:
        m, n, k = size(), size(), size()
        shapes.add((m, n, k + numbers.randrange(1, STEP) if ragged else k))
    return sorted(shapes, key=lambda shape: numbers.random())


def rows(out, kind):
    if not (out / "set.db").exists():
        return []
    with sqlite3.connect(out / "set.db") as database:
        found = database.execute(
            "SELECT w.name, t.label, t.kernel_ns, t.baseline_ns, t.ratio, t.ci_low, t.ci_high, t.rounds FROM turns t "
            "JOIN workloads w ON w.id = t.workload_id WHERE t.time_column = 'device' ORDER BY t.id").fetchall()
    return [(kind(row[0]), *row) for row in found if kind(row[0])]


def measure(out, options):
    aligned = drawn(options.count, options.seed, False)
    ragged = drawn(options.ragged, options.seed + 1, True)
    kinds = {name_of(shape): "multiples of 8" for shape in aligned} | {name_of(shape): "ragged K" for shape in ragged}
    known = {row[1] for row in by_shape(rows(out, kinds.get))}
    # Both kinds mixed: a run that is stopped has timed a share of each.
    mixed = random.Random(options.seed).sample(aligned + ragged, len(aligned) + len(ragged))
    left = [shape for shape in mixed if name_of(shape) not in known]
    status = 0
    for begin in range(0, len(left), PART):
        # The set was checked on drawn shapes when it was made; here each timed result is compared, and no other distribution.
        part = problem_with(left[begin:begin + PART], out / "templates", ["time"])
        status |= call(out, part, "baselines", out / "set/k.cu", "--algorithm", "gemm", "--dtype", options.dtype, "--baselines", "")
        write(out, kinds.get)
    return status


def by_shape(found):
    """The shapes that were timed with every library: kind, shape, and by library the row of its turns."""
    shapes = {}
    for kind, shape, label, *turns in found:
        shapes.setdefault((kind, shape), {})[label.split()[0]] = (label, *turns)
    return [(kind, shape, turns) for (kind, shape), turns in shapes.items() if len(turns) == len(LIBRARIES)]


def write(out, kind):
    with open(out / "random.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        head = ["kind", "shape", "library", "set_us"]
        for prefix in LIBRARIES.values():
            head += [f"{prefix}_us", f"{prefix}_speedup", f"{prefix}_low", f"{prefix}_high", f"{prefix}_pairs"]
        table.writerow(head)
        for one, shape, turns in by_shape(rows(out, kind)):
            label, own = turns["cublaslt"][:2]
            row = [one, shape, label, f"{own / 1000:.2f}"]
            for library in LIBRARIES:
                _, _, other, ratio, low, high, pairs = turns[library]
                row += [f"{other / 1000:.2f}", f"{ratio:.3f}", f"{low:.3f}", f"{high:.3f}", pairs]
            table.writerow(row)


def summary(out, _options):
    with open(out / "random.csv", newline="") as file:
        found = list(csv.DictReader(file))
    what = {"library": "the fastest of cuBLASLt's algorithms", "first": "cuBLASLt's first choice"}
    for kind in sorted({row["kind"] for row in found}):
        for prefix, text in what.items():
            logs = [math.log(float(row[f"{prefix}_speedup"])) for row in found if row["kind"] == kind]
            numbers = random.Random(1)
            means = sorted(sum(numbers.choices(logs, k=len(logs))) / len(logs) for _ in range(2000))
            behind = sum(1 for one in logs if one < math.log(0.98))
            print(f"{kind}: {len(logs)} shapes, geometric mean {math.exp(sum(logs) / len(logs)):.3f} of the speed of {text} "
                  f"(95 % interval {math.exp(means[49]):.3f} to {math.exp(means[1949]):.3f}), least {math.exp(min(logs)):.2f}, "
                  f"{behind} slower by over 2 %")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["make", "random", "summary"])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--minutes", type=float, default=8, help="half of it for the searches")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--ragged", type=int, default=60)
    parser.add_argument("--seed", type=int, default=20261127)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    return {"make": make, "random": measure, "summary": summary}[options.step](options.out.resolve(), options)


if __name__ == "__main__":
    sys.exit(main())
