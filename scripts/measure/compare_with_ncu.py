#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts metrics of alphakernel profile next to those of Nsight Compute; scripts/measure/compare_with_ncu.sh calls it.

  compare_with_ncu.py kernel FILE.json    name of the kernel that takes longest
  compare_with_ncu.py metrics FILE.json   CUPTI's names of its metrics, between commas
  compare_with_ncu.py table FOLDER        FOLDER/NAME.json and NAME.ncu.csv into FOLDER/side_by_side.csv, and a summary

Counts (bytes, sectors, requests, instructions, ...) agree within 2 %, all else (time, clocks, shares, stalls) within 5 %.
Near zero a ratio says nothing: values also agree when they differ by at most 0.5 % of the metric's scale, which is
100 for percent, else the largest value of the same unit in this kernel.
"""
import csv
import json
import pathlib
import re
import sys

COUNTS = ("bytes", "sectors", "requests", "wavefronts", "instructions", "branches")
WITHIN = {"count": 0.02, "rate": 0.05}
OF_SCALE = 0.005
FIELDS = ["kernel", "metric", "cupti", "alphakernel", "ncu", "ratio", "kind", "within"]


def catalog():
    """Our name to (unit, CUPTI's name); a test holds the page to the program's own table."""
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "profiling.md").read_text()
    rows = re.findall(r"^\| `([\w/]+)` \| (\S+) \| .* \| \w+ \| `([\w.]+)` \|$", page, re.M)
    return {name: (unit, cupti) for name, unit, cupti in rows}


def longest(path):
    """The launch that takes longest, of what the program printed."""
    launches = json.loads(path.read_text().strip().splitlines()[-1])["record"]["profile"]["launches"]
    return max(launches, key=lambda launch: launch["metrics"].get("time/duration", 0))


def ncu_row(path):
    """Metrics of the only launch by CUPTI's name. What the program and ncu say comes before the table, whose second
    line holds units."""
    lines = [line for line in path.read_text().splitlines() if line.startswith('"')]
    table = list(csv.DictReader(lines))
    if len(table) < 2:
        return {}
    found = {}
    for name, text in table[1].items():
        try:
            found[name] = float((text or "").replace(",", ""))
        except ValueError:
            pass  # words, or n/a
    return found


def compared(kernel, ours, theirs):
    known = catalog()
    both = {name: value for name, value in ours.items() if name in known and known[name][1] in theirs}
    scales = {"percent": 100.0}
    for name, value in both.items():
        unit, cupti = known[name]
        if unit != "percent":
            scales[unit] = max(scales.get(unit, 0), abs(value), abs(theirs[cupti]))
    for name, value in both.items():
        unit, cupti = known[name]
        other, kind = theirs[cupti], "count" if unit in COUNTS else "rate"
        apart = abs(value - other)
        within = apart <= WITHIN[kind] * abs(other) or apart <= OF_SCALE * scales[unit]
        yield {"kernel": kernel, "metric": name, "cupti": cupti, "alphakernel": value, "ncu": other,
               "ratio": round(value / other, 4) if other else "", "kind": kind, "within": "yes" if within else "no",
               "apart": apart / max(abs(other), OF_SCALE * scales[unit], 1e-300)}


def summary(rows):
    for kind in WITHIN:
        these = [row for row in rows if row["kind"] == kind]
        good = sum(row["within"] == "yes" for row in these)
        print(f"{kind}s: {good} of {len(these)} agree within {100 * WITHIN[kind]:.0f} %")
    for row in sorted((row for row in rows if row["within"] == "no"), key=lambda row: -row["apart"])[:20]:
        print(f"  {row['kernel']:<16}{row['metric']:<28}{row['alphakernel']:>16.6g}{row['ncu']:>16.6g}"
              f"  ratio {row['ratio']}")


def table(folder):
    rows = []
    for path in sorted(folder.glob("*.ncu.csv")):
        name = path.name[:-len(".ncu.csv")]
        theirs = ncu_row(path)
        if not theirs:
            print(f"{name}: ncu printed no launch")
            continue
        rows += compared(name, longest(folder / f"{name}.json")["metrics"], theirs)
    with open(folder / "side_by_side.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{len({row['kernel'] for row in rows})} kernels, {len(rows)} metrics")
    summary(rows)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("kernel", "metrics", "table"):
        sys.exit(__doc__)
    path = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "kernel":
        print(longest(path)["kernel"])
    elif sys.argv[1] == "metrics":
        known = catalog()
        print(",".join(known[name][1] for name in longest(path)["metrics"] if name in known))
    else:
        table(path)


if __name__ == "__main__":
    main()
