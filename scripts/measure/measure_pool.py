#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a pool of the GPUs of this machine against one of them, and takes workers of the pool away while it searches.

  python3 scripts/measure/measure_pool.py OUT --evaluations 200

Searches softmax and gemm on each set of devices with the same budgets and counts evaluations an hour (OUT/pool.csv); searches once
more while a worker of a GPU is killed with SIGKILL every few seconds (OUT/kills.json); and times one kernel on each GPU, five times
in turns (OUT/same_kernel.csv). Needs two GPUs or more. ALPHAKERNEL names the program (build/release/bin/alphakernel).
"""

import argparse
import csv
import json
import os
import pathlib
import random
import signal
import sqlite3
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(os.environ.get("ALPHAKERNEL", ROOT / "build/release/bin/alphakernel"))
# With the shapes that a search takes by itself.
SEARCHES = {"softmax": ["--algorithm", "softmax", "--dtype", "float32"], "gemm": ["--algorithm", "gemm", "--dtype", "bf16"]}


def environment(out, cache="cache"):
    return dict(os.environ, ALPHAKERNEL_CACHE=str(out / cache), ALPHAKERNEL_CONFIG=str(out / "config.json"))


def command(out, name, device, evaluations, database):
    return [PROGRAM, "generate", *SEARCHES[name], "--device", device, "--max-evaluations", str(evaluations), "--seed", "1",
            "--db", str(database), "--output", str(out / f"{name}.cu"), "--baselines", ""]


def counted(database):
    """Evaluations of the search, the seconds from the first submission to the last commit, and how many each GPU did."""
    with sqlite3.connect(database) as rows:
        arms = ("SELECT e.id, e.status, e.device_id, julianday(e.ended_at) * 86400, e.total_ms FROM evaluations e "
                "JOIN proposals p ON p.id = e.proposal_id WHERE p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', "
                "'profile') ORDER BY e.id")
        found = rows.execute(arms).fetchall()
    first = min(end - (total or 0) / 1000 for _, _, _, end, total in found)
    last = max(end for _, _, _, end, _ in found)
    status, device = {}, {}
    for row in found:
        status[row[1]] = status.get(row[1], 0) + 1
        device[row[2]] = device.get(row[2], 0) + 1
    return {"evaluations": len(found), "seconds": last - first, "status": status, "by_device": sorted(device.values())}


STAGES = ("build_ms", "device_wait_ms", "check_ms", "time_ms", "gpu_busy_ms", "total_ms")


def stage_medians(database):
    """Milliseconds of an evaluation's stages: what more GPUs make slower shows there."""
    with sqlite3.connect(database) as rows:
        found = rows.execute(f"SELECT {', '.join(STAGES)} FROM evaluations WHERE status = 'ok'").fetchall()
    return {stage: f"{statistics.median(column):.1f}" for stage, column in zip(STAGES, zip(*found))} if found else {}


def measure_rate(out, name, device, evaluations):
    database = out / f"{name}_{device.replace(':', '_').replace(',', '_')}.db"
    # A build cache of its own: the second search would find what the first one compiled.
    began = time.monotonic()
    with open(out / f"{database.stem}.log", "w") as log:
        ended = subprocess.run(command(out, name, device, evaluations, database), env=environment(out, database.name + ".cache"),
                               check=False, stderr=log)
    one = counted(database)
    return {"search": name, "device": device, "exit": ended.returncode, "evaluations": one["evaluations"],
            "seconds": f"{one['seconds']:.1f}", "an_hour": f"{3600 * one['evaluations'] / one['seconds']:.0f}",
            "whole_run_s": f"{time.monotonic() - began:.1f}", "by_device": " ".join(map(str, one["by_device"])),
            "status": json.dumps(one["status"]), **stage_medians(database)}


def measure_rates(out, name, evaluations, devices, table):
    for device in devices:
        table.append(measure_rate(out, name, device, evaluations))
        print(table[-1], flush=True)
        with open(out / "pool.csv", "w", newline="") as file:
            rows = csv.DictWriter(file, table[0].keys(), lineterminator="\n")
            rows.writeheader()
            rows.writerows(table)


def time_on_each(out, gpus):
    with open(out / "same_kernel.csv", "w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["round", "gpu", "median_us"])
        for turn in range(5):
            for gpu in random.Random(turn).sample(range(gpus), gpus):
                answer = subprocess.run([PROGRAM, "evaluate", str(out / "softmax.cu"), "--device", f"cuda:{gpu}", "--json", "--db",
                                         str(out / "same_kernel.db"), "--shape", "M=4096,N=4096"], env=environment(out), check=False,
                                        capture_output=True, text=True)
                try:
                    rows.writerow([turn, gpu, f"{json.loads(answer.stdout)['record']['score_ns'] / 1000:.3f}"])
                except (ValueError, KeyError, TypeError):
                    print("no time:", answer.stdout[-300:], answer.stderr[-300:], flush=True)


def workers_of(parent):
    """Processes of the device workers below a process."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            above = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if above == parent and any(b"device" in word for word in words[1:]):
            found.append(int(entry.name))
    return found


def kill_workers(out, evaluations):
    database = out / "kills.db"
    with open(out / "kills.log", "w") as log:
        search = subprocess.Popen(command(out, "softmax", "cuda:all", evaluations, database), env=environment(out, "kills.cache"),
                                  stderr=log)
    numbers, kills = random.Random(1), 0
    while search.poll() is None:
        time.sleep(numbers.uniform(1.5, 4))
        workers = workers_of(search.pid)
        if workers:
            try:
                os.kill(numbers.choice(workers), signal.SIGKILL)
                kills += 1
            except ProcessLookupError:
                pass
    with sqlite3.connect(database) as rows:
        twice = rows.execute("SELECT count(*) FROM (SELECT proposal_id FROM evaluations WHERE proposal_id IS NOT NULL "
                             "GROUP BY proposal_id HAVING count(*) > 1)").fetchone()[0]
        unanswered = rows.execute("SELECT count(*) FROM proposals WHERE id NOT IN (SELECT proposal_id FROM evaluations "
                                  "WHERE proposal_id IS NOT NULL)").fetchone()[0]
    answer = dict(counted(database), exit=search.returncode, kills=kills, proposals_answered_twice=twice,
                  proposals_without_answer=unanswered)
    (out / "kills.json").write_text(json.dumps(answer, indent=1) + "\n")
    print(answer, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--evaluations", type=int, default=200)
    parser.add_argument("--gpus", type=int, default=2, help="of this machine: which the same kernel is timed on")
    parser.add_argument("--device", action="append", dest="devices", help="as of generate; the first is what the others are compared with "
                        "(default: cuda:0 and cuda:all)")
    options = parser.parse_args()
    devices = options.devices or ["cuda:0", "cuda:all"]
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    table = []
    measure_rates(out, "softmax", options.evaluations, devices, table)
    kill_workers(out, options.evaluations)
    time_on_each(out, options.gpus)
    measure_rates(out, "gemm", options.evaluations, devices, table)
    rates = {(row["search"], row["device"]): float(row["an_hour"]) for row in table}
    for name in SEARCHES:
        for device in devices[1:]:
            print(f"{name}: on {device} {rates[name, device] / rates[name, devices[0]]:.2f} times the evaluations an hour of {devices[0]}")
    with open(out / "same_kernel.csv", newline="") as file:
        times = [(row["gpu"], float(row["median_us"])) for row in csv.DictReader(file)]
    for gpu in sorted({gpu for gpu, _ in times}):
        own = [one for which, one in times if which == gpu]
        print(f"GPU {gpu}: {statistics.median(own):.2f} us ({min(own):.2f} to {max(own):.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
