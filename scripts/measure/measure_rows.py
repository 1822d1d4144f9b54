#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures kernels of rows that stream through shared memory in turns with the points that were the best before.

    python3 scripts/measure/measure_rows.py OUTPUT_FOLDER                                   # on a GPU
    python3 scripts/measure/measure_rows.py OUTPUT_FOLDER --manifest small.json --device emulator     # costs, without one

Runs the experiment (default: experiments/row_streams.json), unless OUTPUT_FOLDER has its report. For every pair of runs
NAME_streamed and NAME_before their champions are then timed in turns (`alphakernel compare`). Writes
OUTPUT_FOLDER/rows.csv, the runs in the order of the manifest:

    run, shape, streamed_us, before_us
    ratio         before over streamed; basis: pairs (in turns) or estimated costs
    of_copy       bandwidth of the streamed one over the copy of the same experiment
    reason        why there is no ratio

On a GPU a run of the experiment searches for --minutes (default 0.12, so that all of them and the pairs take less than
eight minutes); after --seconds (default 450) no further pair begins. Exit code 1 where a pair has no ratio.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = ("run", "shape", "streamed_us", "before_us", "ratio", "basis", "of_copy", "reason")


def flags_of(run):
    flags = ["--algorithm", run["algorithm"], "--shape", ",".join("%s=%d" % size for size in run["shape"].items())]
    for name, value in run.get("params", {}).items():
        flags += ["--" + name.replace("_", "-"), str(value)]
    return flags


def in_turns(options, run, before):
    kernels = [options.output / "kernels" / (name + ".cu") for name in (run["name"], before)]
    command = [options.program, "compare", *kernels, *flags_of(run), "--device", options.device, "--db",
               options.output / "experiment.db", "--json"]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return {"reason": (result.stderr or result.stdout).strip().splitlines()[-1]}
    record = json.loads(result.stdout)["record"]
    if record["ratio"] is None:
        return {"reason": "one of the two is wrong"}
    times = record["times"][0]
    return {"streamed_us": "%.2f" % (times["first"]["median_ns"] / 1e3),
            "before_us": "%.2f" % (times["second"]["median_ns"] / 1e3),
            "ratio": "%.3f" % record["ratio"], "basis": record["basis"]}


def share_of_copy(report, name):
    searches = {each["run"]: each["search"] for each in report["runs"]}
    shares = [result["pct_of_copy"] for result in report["results"] if result["search"] == searches.get(name)]
    return "%.3f" % (shares[0] / 100) if shares and shares[0] else ""


def main():
    begin = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--manifest", type=pathlib.Path, default=SOURCE / "experiments/row_streams.json")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--program", default=str(SOURCE / "build/release/bin/alphakernel"))
    parser.add_argument("--minutes", type=float, default=0.12)
    parser.add_argument("--seconds", type=float, default=450)
    options = parser.parse_args()
    if not (options.output / "report.json").exists():
        command = [options.program, "experiment", "run", options.manifest, "--output", options.output, "--device",
                   options.device]
        if options.device != "emulator":
            command += ["--max-minutes", options.minutes]
        code = subprocess.run(list(map(str, command)), check=False).returncode
        if code not in (0, 8):  # 8: an expectation was missed
            sys.exit(code)
    runs = {run["name"]: run for run in json.loads(options.manifest.read_text())["runs"]}
    report = json.loads((options.output / "report.json").read_text())
    missing = 0
    with open(options.output / "rows.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for name, run in runs.items():
            if not name.endswith("_streamed"):
                continue
            row = dict.fromkeys(COLUMNS, "")
            row.update(run=name, shape=flags_of(run)[3], of_copy=share_of_copy(report, name))
            before = name.removesuffix("_streamed") + "_before"
            if before in runs:
                late = time.monotonic() - begin > options.seconds
                row.update({"reason": "out of time"} if late else in_turns(options, run, before))
                missing += not row["ratio"]
            writer.writerow(row)
            file.flush()
    print((options.output / "rows.csv").read_text(), end="")
    sys.exit(1 if missing else 0)


main()
