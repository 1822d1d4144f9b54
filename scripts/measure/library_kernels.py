#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names the kernels that PyTorch's library runs for products, with their times: the names of cuBLAS's say their tiles.

    python3 scripts/measure/library_kernels.py OUT.csv 4096x4096x4096 1608x3144x1256
    python3 scripts/measure/library_kernels.py OUT.csv --shapes RANDOM.csv      # those of measure_set.py

A shape is MxNxK: a of [M, K] times b of [K, N], rows by rows. Times are CUPTI's, of kernels alone, the median of --calls
calls behind a flushed L2. Needs a GPU and PyTorch.
"""

import argparse
import csv
import re
import statistics
import sys


def shape_of(text):
    found = re.fullmatch(r"(?:timed_)?m?(\d+)[x_]n?(\d+)[x_]k?(\d+)", text)
    if not found:
        raise SystemExit(f"'{text}' is no shape: expected one such as 4096x4096x1024")
    return tuple(map(int, found.groups()))


def kernels_of(torch, shape, dtype, calls, flush):
    """Kernel -> its times in us, of all calls."""
    m, n, k = shape
    a = torch.randn(m, k, device="cuda").to(dtype)
    b = torch.randn(k, n, device="cuda").to(dtype)
    torch.matmul(a, b)  # the library chooses and loads
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(calls):
            flush.zero_()
            torch.matmul(a, b)
        torch.cuda.synchronize()
    times = {}
    for event in profile.events():
        fills = "FillFunctor" in event.name or "Memset" in event.name or "memset" in event.name
        if event.device_type == torch.autograd.DeviceType.CUDA and not fills:
            times.setdefault(event.name, []).append(event.time_range.elapsed_us())
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("shape", nargs="*", type=shape_of)
    parser.add_argument("--shapes", help="a CSV file with a column `shape`")
    parser.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float16", "float32"])
    parser.add_argument("--calls", type=int, default=7, choices=range(1, 1001), metavar="1..1000")
    options = parser.parse_args()
    shapes = list(options.shape)
    if options.shapes:
        with open(options.shapes, newline="") as file:
            shapes += [shape_of(row["shape"]) for row in csv.DictReader(file)]
    if not shapes:
        parser.error("no shape: name some, or a file of them with --shapes")

    import torch  # here, so that a mistake in the arguments is said without it
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU here", file=sys.stderr)
        return 6
    flush = torch.empty(256 << 20, device="cuda", dtype=torch.uint8)  # more than the L2 of any GPU so far
    with open(options.out, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["m", "n", "k", "us", "kernels"])
        for shape in shapes:
            times = kernels_of(torch, shape, getattr(torch, options.dtype), options.calls, flush)
            # Of one call: a kernel that runs several times in it counts as often.
            medians = [statistics.median(of) * len(of) / options.calls for of in times.values()]
            table.writerow([*shape, f"{sum(medians):.2f}", " + ".join(name[:100] for name in times)])
            file.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
