#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times single points of templates under CUPTI, which sees a kernel from its start to its end, beside the time of events.

    python3 scripts/measure/measure_durations.py OUT.csv                              # on a GPU, the cases of experiments/durations/points.json
    python3 scripts/measure/measure_durations.py OUT.csv --case decode --repeat 5     # those whose names begin so

An event pair around a call takes some microseconds of its own, which counts where a call takes ten. Every point is checked,
timed and profiled --repeat times (3) by `alphakernel profile`, a process each; cases take turns, so that a run that is cut
off, or ends after --seconds, has something of each. A line a point and turn:

    case, template, tunables, turn
    method, timed_us    `event` or `batch` (docs/timing.md), the median with cold caches
    cupti_us            while at least one launch of the call ran, in a profile with cold caches
    goal_us             what the case asks for
    reason              why there is no time

--summary prints the median of the turns of each point instead of measuring, the fastest of a case first.
ALPHAKERNEL names the program (build/release/bin/alphakernel), ALPHAKERNEL_TEMPLATES its templates.
"""
import argparse
import csv
import json
import os
import pathlib
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ALPHAKERNEL", str(SOURCE / "build/release/bin/alphakernel"))
TEMPLATES = pathlib.Path(os.environ.get("ALPHAKERNEL_TEMPLATES", SOURCE / "templates"))
COLUMNS = ("case", "template", "tunables", "turn", "method", "timed_us", "cupti_us", "goal_us", "reason")


def kernel_at(case, point):
    """The template's text with the point as its own, and what it is for in its plan."""
    text = (TEMPLATES / case["algorithm"] / point["template"]).read_text()
    for name, value in point.get("set", {}).items():
        text, found = re.subn(r'("%s": \{"values": \[[^\]]*\], "default": )\d+' % re.escape(name), r"\g<1>%d" % value, text, count=1)
        if not found:
            raise SystemExit(f"{point['template']} has no tunable {name}")
    head = json.dumps({"problem": case["algorithm"], "params": case.get("params", {})})[1:-1]
    return text.replace("{", "{" + head + ",", 1)


def busy_us(rows):
    """While at least one launch ran: durations without what overlaps, of launches in the order in which they began."""
    launches = []
    for name, value in rows:
        if name.endswith("/duration"):
            launches.append([value, 0.0])
        elif launches:
            launches[-1][1] = value
    busy = end = latest = 0.0
    for duration, gap in launches:
        start = end + gap
        end = start + duration
        busy += max(0.0, end - max(start, latest))
        latest = max(latest, end)
    return busy / 1000


def times_of(database):
    """Of the only profile there: method and microseconds of events, microseconds of CUPTI."""
    with sqlite3.connect(database) as rows:
        timed = rows.execute("SELECT method, median_ns FROM measurements WHERE role = 'candidate' AND cold = 1 "
                             "ORDER BY id DESC LIMIT 1").fetchone()
        launches = []
        for prefix in ("timeline", "time"):
            launches = launches or rows.execute("SELECT name, value FROM metrics WHERE name IN (?, ?) ORDER BY id",
                                                (prefix + "/duration", prefix + "/gap")).fetchall()
    if timed is None or not launches:
        raise ValueError("it was not " + ("timed" if timed is None else "profiled"))
    return timed[0], timed[1] / 1000, busy_us(launches)


def measure(case, point):
    with tempfile.TemporaryDirectory() as folder:
        file, database = pathlib.Path(folder, "kernel.cu"), pathlib.Path(folder, "profile.db")
        file.write_text(kernel_at(case, point))
        shape = ",".join(f"{axis}={size}" for axis, size in case["shape"].items())
        run = subprocess.run([PROGRAM, "profile", str(file), "--shape", shape, "--no-lines", "--unaudited", "--db", str(database)],
                             capture_output=True, text=True, check=False)
        try:
            method, timed_us, cupti_us = times_of(database)
        except (ValueError, sqlite3.Error) as error:
            said = (run.stderr or run.stdout).strip().splitlines()
            return {"reason": said[-1] if run.returncode != 0 and said else str(error)}
        return {"method": method, "timed_us": f"{timed_us:.2f}", "cupti_us": f"{cupti_us:.2f}"}


def summary(path):
    with open(path, newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["cupti_us"]]
    points = {}
    for row in rows:
        points.setdefault((row["case"], row["template"], row["tunables"], row["goal_us"]), []).append(row)
    medians = [(case, statistics.median(float(row["cupti_us"]) for row in turns),
                statistics.median(float(row["timed_us"]) for row in turns), goal, template, tunables, len(turns))
               for (case, template, tunables, goal), turns in points.items()]
    for case, cupti_us, timed_us, goal, template, tunables, turns in sorted(medians):
        print(f"{case:24} {cupti_us:8.2f} us by CUPTI {timed_us:8.2f} timed, goal {goal:>6}  {template} {tunables} ({turns} turns)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--cases", type=pathlib.Path, default=SOURCE / "experiments/durations/points.json")
    parser.add_argument("--case", action="append", help="only cases whose names begin so; may be repeated")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    if options.summary:
        return summary(options.output)
    begin = time.monotonic()
    cases = [case for case in json.loads(options.cases.read_text())["cases"]
             if not options.case or any(case["name"].startswith(one) for one in options.case)]
    failed = False
    with open(options.output, "w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        for turn in range(options.repeat):
            for case in cases:
                for point in case["points"]:
                    if time.monotonic() - begin > options.seconds:
                        return int(failed)
                    found = measure(case, point)
                    failed |= "reason" in found
                    table.writerow({"case": case["name"], "template": point["template"], "turn": turn, "goal_us": case["goal_us"],
                                    "tunables": " ".join(f"{name}={value}" for name, value in point.get("set", {}).items()), **found})
                    file.flush()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
