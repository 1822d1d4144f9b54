#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of measured speed-ups in README.md, from the recorded runs in experiments/results.

    scripts/readme_table.py            writes the table into README.md
    scripts/readme_table.py --check    exits with 1 where README.md has another table than the records give

A cell is baseline time over kernel time, on the timed shape with the least and on that with the most of it. Of each shape it
takes the fastest recorded kernel, and of that record the fastest baseline that is PyTorch or a vendor's library. A record that is
a database has 95 % intervals of both medians; the interval of the ratio has the least of one over the most of the other as its
low end.
"""
import argparse
import csv
import dataclasses
import gzip
import lzma
import pathlib
import re
import sqlite3
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "experiments" / "results"
BEGIN, END = "<!-- speed-ups: scripts/readme_table.py -->", "<!-- end of speed-ups -->"
DEVICE = "H200"  # of all records below
DTYPES = ("fp32", "bf16", "fp16", "int8")

# Rows of the table: title, and the pattern of its definitions with the dtype as its group.
ROWS = (
    ("vector_add", r"vector_add_(fp32|bf16)"),
    ("reduce_sum", r"reduce_sum_(fp32|bf16)"),
    ("softmax", r"softmax_(fp32|bf16)"),
    ("layernorm", r"layernorm_(fp32|bf16)"),
    ("rmsnorm", r"rmsnorm_(fp32|bf16)"),
    ("transpose", r"transpose_(fp32|bf16)"),
    ("transpose_inplace", r"transpose_inplace_(fp32|bf16)"),
    ("activation: relu, silu, gelu", r"activation_\w+_(bf16)"),
    ("gemm", r"gemm_(fp32|bf16|fp16|i8)_ieee_row_row_no_bias_none"),
    ("gemm, tf32", r"gemm_(fp32)_tf32_row_row_no_bias_none"),
    ("gemm, operands by columns", r"gemm_(bf16)_ieee_column_column_no_bias_none"),
    ("gemm + bias + relu", r"gemm_(bf16)_ieee_row_row_bias_relu"),
    ("flash_attention, head dimension 64", r"flash_attention_d64_(bf16)_(?:no_)?causal"),
    ("flash_attention, head dimension 128", r"flash_attention_d128_(bf16)_(?:no_)?causal"),
    ("flash_attention, head dimension 256", r"flash_attention_d256_(bf16)_(?:no_)?causal"),
)
DTYPE_NAMES = {"i8": "int8"}
# What the label of a baseline in the records begins with, and its name in the table.
BASELINES = {"pytorch": "PyTorch", "cublaslt": "cuBLASLt", "cudnn": "cuDNN"}
# Pairs of a file of kernels' times and a file of baselines' times, and databases.
TABLES = (
    ("2026-11-21_h200_kernels/figures.csv", "2026-11-21_h200_kernels/baselines.csv"),
    ("2026-11-21_h200_benchmark_suite/best.csv", "2026-11-21_h200_benchmark_suite/baselines.csv"),
)
# Head dimension 256 is in no other record with a library; the other cases of this one are.
SDPA, SDPA_CASE = "2026-11-21_h200_kernels/sdpa.csv", re.compile(r"\w+_D(256)")
DATABASES = ("2026-11-22_h200_week/week.db.xz", "2026-11-22_h200_llm_sessions/sessions.db.gz")

# The last cold measurement of each session's best kernel on each shape, next to a baseline of the same session.
QUERY = """
WITH kernel AS (
  SELECT e.session_id, m.workload_id, m.median_ns, m.ci_low_ns, m.ci_high_ns, max(m.id)
  FROM sessions s JOIN evaluations e ON e.session_id = s.id AND e.variant_id = s.best_variant_id AND e.status = 'ok'
  JOIN measurements m ON m.evaluation_id = e.id JOIN devices d ON d.id = e.device_id AND d.name LIKE '%' || ?
  WHERE m.role = 'candidate' AND m.cold = 1 AND m.method = 'event' GROUP BY 1, 2),
baseline AS (
  SELECT e.session_id, m.workload_id, m.label, m.median_ns, m.ci_low_ns, m.ci_high_ns, max(m.id)
  FROM evaluations e JOIN measurements m ON m.evaluation_id = e.id
  WHERE m.role = 'baseline' AND m.cold = 1 AND m.method = 'event' GROUP BY 1, 2, 3)
SELECT d.name, w.name, b.label, k.median_ns, b.median_ns / k.median_ns, b.ci_low_ns / k.ci_high_ns, b.ci_high_ns / k.ci_low_ns
FROM kernel k JOIN baseline b USING (session_id, workload_id)
JOIN workloads w ON w.id = k.workload_id JOIN definitions d ON d.id = w.definition_id
"""


@dataclasses.dataclass
class Comparison:
    """A kernel's time on one shape, and a baseline's time over it; `low` and `high` where the record has intervals."""
    definition: str
    shape: str
    label: str
    kernel_us: float
    ratio: float
    low: float | None = None
    high: float | None = None


def rows_of(name):
    with open(RESULTS / name, newline="") as file:
        return list(csv.DictReader(file))


def from_tables(kernels, baselines):
    fastest = {}
    for row in rows_of(kernels):
        key, time_us = (row["definition"], row["workload"]), float(row["us"])
        fastest[key] = min(time_us, fastest.get(key, time_us))
    for row in rows_of(baselines):
        time_us = fastest.get((row["definition"], row["workload"]))
        if time_us:
            yield Comparison(row["definition"], row["workload"], row["label"], time_us, float(row["us"]) / time_us)


def from_sdpa():
    for row in rows_of(SDPA):
        match = SDPA_CASE.fullmatch(row["case"])
        if match:
            mask = "causal" if row["mask"] == "causal" else "no_causal"
            time_us = float(row["attention_wgmma_us"])
            for backend in ("cudnn", "flash"):
                yield Comparison(f"flash_attention_d{match[1]}_bf16_{mask}", row["case"], f"pytorch sdpa {backend}", time_us,
                                 float(row[f"pytorch_sdpa_{backend}_us"]) / time_us)


def from_database(name):
    unpack = lzma.open if name.endswith(".xz") else gzip.open
    with tempfile.NamedTemporaryFile(suffix=".db") as file:
        with unpack(RESULTS / name) as packed:
            file.write(packed.read())
        file.flush()
        with sqlite3.connect(f"file:{file.name}?mode=ro", uri=True) as database:
            for definition, shape, label, time_ns, *ratio in database.execute(QUERY, (DEVICE,)):
                yield Comparison(definition, shape, label, time_ns / 1000, *ratio)


def comparisons():
    for tables in TABLES:
        yield from from_tables(*tables)
    yield from from_sdpa()
    for name in DATABASES:
        yield from from_database(name)


def baseline_name(label):
    """The name of a baseline in the table, with its version; none where it is no library."""
    for start, name in BASELINES.items():
        if label.startswith(start):
            return name if start == "pytorch" else name + label[len(start):]
    return None


def cells_of(pattern, found):
    """By dtype, one comparison for each shape, by rising ratio."""
    best = {}
    for item in found:
        match = re.fullmatch(pattern, item.definition)
        if not match or not baseline_name(item.label):
            continue
        shapes = best.setdefault(DTYPE_NAMES.get(match[1], match[1]), {})
        key = (item.definition, item.shape)
        if key not in shapes or (item.kernel_us, item.ratio) < (shapes[key].kernel_us, shapes[key].ratio):
            shapes[key] = item
    return {dtype: sorted(shapes.values(), key=lambda item: item.ratio) for dtype, shapes in best.items()}


def shown(item):
    interval = f" [{item.low:.3f}, {item.high:.3f}]" if item.low else ""
    return (f"{item.ratio:.3f}" if interval else f"{item.ratio:.2f}") + interval


def cell(items):
    if not items:
        return ""
    return shown(items[0]) if len(items) == 1 else f"{shown(items[0])} to {shown(items[-1])}"


def table():
    found = list(comparisons())
    lines = ["| algorithm | " + " | ".join(DTYPES) + " | device | against | shapes |", "|---" * (len(DTYPES) + 4) + "|"]
    for title, pattern in ROWS:
        cells = cells_of(pattern, found)
        if not cells:
            sys.exit(f"readme_table: no record has '{title}' ({pattern})")
        against = sorted({baseline_name(item.label) for items in cells.values() for item in items})
        shapes = max(len(items) for items in cells.values())
        lines.append(f"| {title} | " + " | ".join(cell(cells.get(dtype)) for dtype in DTYPES) +
                     f" | {DEVICE} | {', '.join(against)} | {shapes} |")
    return "\n".join(lines)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true", help="compare with README.md instead of writing it")
    options = arguments.parse_args()
    readme = ROOT / "README.md"
    text = readme.read_text()
    parts = re.split(f"({re.escape(BEGIN)}\n|{re.escape(END)})", text)
    if len(parts) != 5:
        sys.exit(f"readme_table: README.md needs the lines '{BEGIN}' and '{END}', once each")
    new = "".join((*parts[:2], "\n", table(), "\n\n", *parts[3:]))
    if options.check:
        if new != text:
            sys.exit("readme_table: the table of README.md is not what the records give: run scripts/readme_table.py")
        return
    readme.write_text(new)


if __name__ == "__main__":
    main()
