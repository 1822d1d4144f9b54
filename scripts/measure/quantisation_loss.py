#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the formats of the quantised linear layers cost: results of quantised numbers against those before quantisation.

Kernels are checked against the quantised numbers that they receive; this says how far these are from the ones they stand
for. Weights and rows are drawn, quantised by rounding to nearest with scales from the largest number of each tensor, row,
group or block, and multiplied in double precision. The loss is the root of the mean squared difference of the results,
over that of the results: no calibration, no training, no choice of clipping. Standard library only; about a minute.

    scripts/measure/quantisation_loss.py [--rows 8] [--columns 256] [--depth 1024] [--seed 1]
"""
import argparse
import math
import random
import struct


def to_bfloat16(x):
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return struct.unpack("<f", struct.pack("<I", (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000))[0]


def to_e4m3(x):
    """Nearest e4m3fn number, ties to even, saturated at 448; below 2^-6 its steps are 2^-9."""
    if x == 0:
        return 0.0
    step = 2.0 ** (max(math.frexp(x)[1] - 1, -6) - 3)
    return math.copysign(min(abs(round(x / step)) * step, 448.0), x)


def largest(values):
    return max(map(abs, values)) or 1.0


def e4m3(values):
    scale = largest(values) / 448
    return [to_e4m3(v / scale) * scale for v in values]


def int8(values):
    scale = largest(values) / 127
    return [max(-128, min(127, round(v / scale))) * scale for v in values]


def int8_rounded_scale(values):
    scale = to_bfloat16(largest(values) / 127)
    return [max(-128, min(127, round(v / scale))) * scale for v in values]


def int4(values):
    scale = to_bfloat16(largest(values) / 7)
    return [max(-8, min(7, round(v / scale))) * scale for v in values]


def int4_zero_point(values):
    low, high = min(min(values), 0.0), max(max(values), 0.0)
    scale = to_bfloat16((high - low) / 15 or 1.0)
    zero = max(0, min(15, round(-low / scale)))
    return [(max(0, min(15, round(v / scale) + zero)) - zero) * scale for v in values]


def by_rows(quantise, rows):
    return [quantise(row) for row in rows]


def by_groups(quantise, rows):
    return [[v for g in range(0, len(row), 128) for v in quantise(row[g:g + 128])] for row in rows]


def by_blocks(quantise, rows):
    result = [list(row) for row in rows]
    for n in range(0, len(rows), 128):
        for k in range(0, len(rows[0]), 128):
            block = quantise([v for row in rows[n:n + 128] for v in row[k:k + 128]])
            width = len(rows[n][k:k + 128])
            for i in range(len(rows[n:n + 128])):
                result[n + i][k:k + width] = block[i * width:(i + 1) * width]
    return result


def by_tensor(quantise, rows):
    flat = quantise([v for row in rows for v in row])
    return [flat[i * len(rows[0]):(i + 1) * len(rows[0])] for i in range(len(rows))]


def as_they_are(rows):
    return rows


# Problem and params: how rows of x and weights are quantised.
FORMATS = {
    "linear_w4a16": (as_they_are, lambda w: by_groups(int4, w)),
    "linear_w4a16 --zero-points": (as_they_are, lambda w: by_groups(int4_zero_point, w)),
    "linear_w8a16": (as_they_are, lambda w: by_rows(int8_rounded_scale, w)),
    "linear_int8": (lambda x: by_rows(int8, x), lambda w: by_rows(int8, w)),
    "linear_fp8 --scales tensor": (lambda x: by_tensor(e4m3, x), lambda w: by_tensor(e4m3, w)),
    "linear_fp8 --scales row": (lambda x: by_rows(e4m3, x), lambda w: by_rows(e4m3, w)),
    "linear_fp8 --scales block": (lambda x: by_groups(e4m3, x), lambda w: by_blocks(e4m3, w)),
}


def product(x, weight):
    return [[math.fsum(a * b for a, b in zip(row, line)) for line in weight] for row in x]


def loss(exact, quantised):
    error = math.fsum((a - b) ** 2 for p, q in zip(exact, quantised) for a, b in zip(p, q))
    return math.sqrt(error / math.fsum(a * a for row in exact for a in row))


def draw(count, depth, rng, outliers):
    """Standard normal; with outliers one in 1024 is 20 times as large, as of activations of language models."""
    return [[rng.gauss(0, 1) * (20 if outliers and rng.random() < 1 / 1024 else 1) for _ in range(depth)]
            for _ in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--depth", type=int, default=1024)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    weight = draw(options.columns, options.depth, rng, False)
    rows = {"normal rows": draw(options.rows, options.depth, rng, False),
            "rows with outliers": draw(options.rows, options.depth, rng, True)}
    exact = {name: product(x, weight) for name, x in rows.items()}
    print("| problem | " + " | ".join(rows) + " |")
    print("|---|" + "---|" * len(rows))
    for problem, (of_rows, of_weights) in FORMATS.items():
        quantised = of_weights(weight)
        losses = [loss(exact[name], product(of_rows(x), quantised)) for name, x in rows.items()]
        print(f"| `{problem}` | " + " | ".join(f"{100 * value:.1f} %" for value in losses) + " |")


if __name__ == "__main__":
    main()
