#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of what scripts/measure/measure_search.sh measured: table.csv (a row a space and strategy), summary.csv (a row a strategy).

    scripts/measure/summarize_search.py OUT
"""

import csv
import json
import math
import pathlib
import sys

COUNTS = ("25", "50", "100", "200", "220")
EASY = 10  # a space that random search solves in so many evaluations does not distinguish strategies


def rows_of(out, name):
    return json.loads((out / name).read_text())["rows"]


def below_random(rows, random):
    """The worst difference to random over spaces and counts, in units of the 95 % interval of the difference."""
    worst = math.inf
    for row in rows:
        for count in COUNTS:
            other = random[row["space"]]
            band = math.hypot(row["half_band_95"][count], other["half_band_95"][count]) or 1
            worst = min(worst, (row["mean_fraction"][count] - other["mean_fraction"][count]) / band)
    return worst


def geometric_mean(values):
    if None in values:
        return ""
    return round(math.exp(sum(map(math.log, values)) / len(values)), 1)


def summary(name, rows, random, long):
    hard = [row for row in rows if (random[row["space"]]["expected_evaluations"] or math.inf) > EASY]
    overall = {count: sum(row["mean_fraction"][count] for row in rows) / len(rows) for count in COUNTS}
    result = {"strategy": name, **{f"at_{count}": round(overall[count], 4) for count in COUNTS}}
    result["within_5_pct"] = round(sum(row["success_share"] for row in rows) / len(rows), 3)
    result["geomean_evaluations_hard_spaces"] = geometric_mean([row["expected_evaluations"] for row in hard])
    result["least_gain_over_random_in_bands"] = round(below_random(rows, random), 2)
    for count, times in [*rows[0]["proposal_times"].items(), ("2000", None)]:
        chosen = [row["proposal_times"][count] for row in (rows if times else long) if count in row["proposal_times"]]
        if chosen:
            result[f"mean_us_at_{count}"] = round(sum(time["mean_us"] for time in chosen) / len(chosen))
            result[f"p99_us_at_{count}"] = round(max(time["percentile_99_us"] for time in chosen))
    return result


def write(path, rows):
    fields = list(dict.fromkeys(field for row in rows for field in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields)
        writer.writeheader()
        writer.writerows(rows)


def main():
    out = pathlib.Path(sys.argv[1])
    measured = [row for name in ("leaders.json", "others.json") for row in rows_of(out, name) if row["space"] != "all"]
    long = [row for row in rows_of(out, "long.json") if row["space"] != "all"]
    random = {row["space"]: row for row in measured if row["strategy"] == "random"}
    write(out / "table.csv", [
        {"space": row["space"], "strategy": row["strategy"],
         **{f"at_{count}": round(row["mean_fraction"][count], 4) for count in COUNTS},
         "within_5_pct": row["success_share"],
         **{key: None if row.get(key) is None else round(row[key], 2)
            for key in ("expected_evaluations", "serial_s", "parallel_s")}}
        for row in measured])
    names = list(dict.fromkeys(row["strategy"] for row in measured))
    write(out / "summary.csv", [
        summary(name, [row for row in measured if row["strategy"] == name], random,
                [row for row in long if row["strategy"] == name]) for name in names])


if __name__ == "__main__":
    main()
