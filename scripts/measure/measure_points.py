#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times many points of gemm on many shapes beside PyTorch, and chooses the few that are fast on all of them together.

    python3 scripts/measure/measure_points.py time OUT/times.csv --package dist/ --shapes shapes.csv     # on a GPU with PyTorch
    python3 scripts/measure/measure_points.py choose OUT/times.csv --most 18

`dist/` is a package of `alphakernel library build` whose operators are the points, each a file of its own with its tunables
as defaults; a line of shapes.csv is M,N,K. Every point is compared with PyTorch first. A time is the median of eleven
(products of more than 40 GFLOP: five) event pairs around one call behind a flush of L2, so that it has some 2 us that are the
events' (OVERHEAD_US): good enough to choose, not to claim. `choose` prints them the best first: each is the one that helps
those before it most, as a geometric mean over the shapes of the least time over the least of all points.
"""
import argparse
import csv
import importlib
import math
import os
import statistics
import sys

OVERHEAD_US = 1.85  # median over 80 shapes of torch's event times over cuBLASLt's by batch (experiments/results/2026-11-27_h200_gemm_points)
FLUSH_BYTES = 256 << 20  # several times the L2 of any device today
ALIKE = 0.1  # of rms: bfloat16 rounds once, and sums in another order


def time_of(torch, call, flush, repetitions):
    for _ in range(2):
        call()
    pairs = []
    for _ in range(repetitions):
        flush.zero_()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        pairs.append((begin, end))
    torch.cuda.synchronize()
    return statistics.median(begin.elapsed_time(end) for begin, end in pairs) * 1e3


def time(options):
    import torch
    sys.path.insert(0, os.path.abspath(options.package))
    name = next(one for one in sorted(os.listdir(options.package)) if os.path.exists(os.path.join(options.package, one, "library.json")))
    functions = importlib.import_module(name)._library.functions
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    with open(options.shapes, newline="", encoding="utf-8") as file:
        shapes = [tuple(map(int, line)) for line in csv.reader(file)]
    with open(options.times, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["M", "N", "K", "torch", *functions])
        for m, n, k in shapes:
            generator = torch.Generator(device="cuda").manual_seed(1)
            a, b = (torch.randn(size, device="cuda", generator=generator).to(torch.bfloat16) for size in ((m, k), (k, n)))
            want = (a @ b).float()
            repetitions = 11 if 2 * m * n * k < 4e10 else 5
            row = [time_of(torch, lambda: torch.mm(a, b), flush, 2 * repetitions)]
            for function in functions.values():
                right = (function(a, b).float() - want).abs().max() < ALIKE * want.square().mean().sqrt()
                row.append(time_of(torch, lambda: function(a, b), flush, repetitions) if right else math.nan)
            table.writerow([m, n, k, *("" if math.isnan(one) else f"{one:.2f}" for one in row)])
            file.flush()
    return 0


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def choose(options):
    with open(options.times, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name not in ("M", "N", "K", "torch")]
    times = [{name: max(float(row[name]) - OVERHEAD_US, 0.5) for name in [*names, "torch"] if row[name]} for row in rows]
    least = [min(row[name] for name in names if name in row) for row in times]
    chosen = []
    for _ in range(min(options.most, len(names))):
        def off(name):
            return geometric([min(row.get(one, math.inf) for one in [*chosen, name]) / best for row, best in zip(times, least)])

        first = names if chosen else [name for name in names if all(name in row for row in times)]
        chosen.append(min(first, key=off))
        mine = [min(row.get(one, math.inf) for one in chosen) for row in times]
        print(f"{chosen[-1]:8} {geometric([a / b for a, b in zip(mine, least)]):.3f} of the least time, "
              f"{geometric([row['torch'] / a for row, a in zip(times, mine)]):.3f} of PyTorch's speed")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["time", "choose"])
    parser.add_argument("times")
    parser.add_argument("--package")
    parser.add_argument("--shapes")
    parser.add_argument("--most", type=int, default=18)
    options = parser.parse_args()
    if options.step == "time" and not (options.package and options.shapes):
        parser.error("time needs --package and --shapes")
    return {"time": time, "choose": choose}[options.step](options)


if __name__ == "__main__":
    sys.exit(main())
