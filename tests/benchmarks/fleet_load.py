#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a search costs the machine that controls it, with the workers of as many virtual nodes: processes that speak the worker
protocol and answer every evaluation with a recorded result after the time that one takes on a GPU.

    fleet_load.py PROGRAM [--workers 64] [--rate 0.3] [--seconds 60] [--strategy exhaustive] [--csv FILE]
                  [--most-share 0.9] [--most-mb 120] [--cache FOLDER]

Everything is built before, so that no compiler runs meanwhile: compilers are processes of their own. Counted is the
processor time of the search's own process, with all its threads, and its memory. Exit code 1 where that is more of a core,
or more memory, than --most-share and --most-mb say, or the evaluations do not come as often as asked for. The goal is 5 %
of a core and 100 MB; experiments/results/2026-11-28_controller_cpu and 2026-11-28_controller_memory have what was reached.
The limits are where one thread does not keep up with its workers any more, and half as much memory again as was seen.
"""
import argparse
import csv
import hashlib
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

LEAST_RATE = 0.9  # of what was asked for
SAMPLES = 100  # of a workload, as many as a GPU gives of a kernel of 20 us
START_S = 300
STAGE_OF_VERDICT = 8  # StageId
SEARCH = ["--algorithm", "softmax", "--arch", "sm_90a", "--seed", "1", "--proposer", "search", "--unaudited", "--no-prior", "--quiet"]
GPU = {"kind": "cuda", "name": "NVIDIA H200", "arch": "sm_90a", "ordinal": 0, "sm_count": 132, "max_threads_per_sm": 2048,
       "l2_bytes": 62914560, "memory_bytes": 150754820096, "shared_bytes_per_block": 232448, "clock_mhz": 1980,
       "memory_clock_mhz": 3201, "memory_bus_bits": 6144, "driver_version": 13000}


def checks_of(task, outputs):
    return [{"workload": w["workload"], "distribution": d, "seed": 1, "tensor": tensor, "passed": True, "max_error": 1e-7,
             "mean_error": 1e-8, "tolerance": 1e-4, "worst_index": 0, "worst_expected": 1.0, "worst_got": 1.0,
             "nonfinite_mismatches": 0} for w in task["workloads"] for d in w["distributions"] for tensor in outputs]


def time_of(workload, image, role):
    """The same for a program at every place, between 1 and 2 ms."""
    digest = hashlib.sha256((json.dumps(image) + workload).encode()).digest()
    ns = 1_000_000 + int.from_bytes(digest[:4], "big") % 1_000_000
    return {"workload": workload, "role": role, "label": "naive" if role == 2 else "", "method": "event", "cold": True,
            "samples_ns": [ns + i % 7 for i in range(SAMPLES)], "launches_per_sample": 1, "truncated": False,
            "median_ns": ns + 3, "ci_low_ns": ns + 2, "ci_high_ns": ns + 4, "sm_clock_mhz": 1980, "memory_clock_mhz": 3201,
            "temperature_c": 45, "power_w": 300.0, "throttle_reasons": "", "throttled": [], "counts": {}, "line_counts": [],
            "energy": None, "prepare_ns": 0, "prepared_bytes": 0}


def answer_to(task, outputs):
    timed = [w["workload"] for w in task["workloads"] if w["time"]]
    paired = bool(task["rival"]["image"])
    baseline = not task["image"]["image"]
    times = [time_of(w, task["image"], 2 if baseline else 0) for w in timed]
    if paired:
        times += [time_of(w, task["rival"], 1) for w in timed]
    return {"status": "ok", "stage": STAGE_OF_VERDICT, "message": "", "diagnostics": [], "gate": None,
            "checks": [] if paired or baseline else checks_of(task, outputs), "measurements": times, "profiles": [],
            "rival_failed": False, "check_ms": 1, "time_ms": 1, "reference_ms": 0, "busy_ms": 1, "lost": False}


def work(seconds):
    """One worker, until its parent's end closes."""
    gpu = GPU | {"uuid": f"GPU-{os.getpid()}"}
    outputs = []
    answers = {"hello": ("hello", {"protocol": 1, "pid": os.getpid(), "version": "", "unix_ms": 0, "free_bytes": None}),
               "describe": ("devices", {"devices": [gpu]}),
               "calibrate": ("calibrated", {"compute_ns": 1e5, "copy_ns": 1e5, "sm_clock_mhz": 1980, "memory_errors": 0}),
               "open": ("opened", {})}
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "open":
            outputs = [t["name"] for t in message["body"]["tensors"] if t["output"]]
        if message["type"] == "evaluate":
            time.sleep(seconds)
            message["type"], message["body"] = "evaluated", answer_to(message["body"], outputs)
        elif message["type"] in answers:
            message["type"], message["body"] = answers[message["type"]]
        else:
            continue
        print(json.dumps(message), flush=True)


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def evaluated(database):
    try:
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=60)
        try:
            return connection.execute("SELECT count(*) FROM evaluations WHERE status <> 'compiled_only'").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.OperationalError:
        return 0


def wait_until(condition, process, what):
    end = time.monotonic() + START_S
    while not condition():
        if process.poll() is not None or time.monotonic() > end:
            sys.exit(f"waited in vain for {what}")
        time.sleep(0.2)


def main():
    if sys.argv[1:2] == ["--work"]:
        return work(float(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.3, help="evaluations a second of each worker")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--strategy", default="exhaustive")
    parser.add_argument("--csv", default="/dev/stdout")
    parser.add_argument("--most-share", type=float, default=0.9)
    parser.add_argument("--most-mb", type=float, default=120)
    parser.add_argument("--cache", type=pathlib.Path, help="keeps what was built, for the next run")
    wanted = parser.parse_args()
    rate = wanted.workers * wanted.rate
    # Those of the beginning, and what two to a worker are in flight.
    evaluations = int(rate * wanted.seconds + 4 * wanted.workers)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        environment = {**os.environ, "ALPHAKERNEL_CONFIG": str(folder / "none.json"),
                       "ALPHAKERNEL_CACHE": str((wanted.cache or folder / "cache").resolve())}

        def search(name, *more):
            return [wanted.program, "generate", *SEARCH, "--strategy", wanted.strategy, "--max-evaluations", str(evaluations),
                    "--max-compilations", str(10 * evaluations), "--db", str(folder / f"{name}.db"), "--output",
                    str(folder / f"{name}.cu"), *more]

        (folder / "pool.json").write_text(json.dumps({"devices": [
            {"launch": [sys.executable, str(pathlib.Path(__file__).resolve()), "--work", str(1 / wanted.rate)],
             "count": wanted.workers}]}))
        (folder / "fast.json").write_text(json.dumps({"devices": [
            {"launch": [sys.executable, str(pathlib.Path(__file__).resolve()), "--work", "0"], "count": 4}]}))
        subprocess.run(search("built", "--pool", str(folder / "fast.json")), env=environment, check=True,
                       stdout=subprocess.DEVNULL)
        database = folder / "measured.db"
        with subprocess.Popen(search("measured", "--pool", str(folder / "pool.json")), env=environment,
                              stdout=subprocess.DEVNULL) as process:
            try:
                wait_until(lambda: evaluated(database) >= 2 * wanted.workers, process, "the first evaluations")
                before, used, began = evaluated(database), processor_seconds(process.pid), time.monotonic()
                time.sleep(wanted.seconds)
                took = time.monotonic() - began
                if process.poll() is not None:
                    sys.exit("the search ended before it was measured")
                share = (processor_seconds(process.pid) - used) / took
                reached, memory = (evaluated(database) - before) / took, peak_mb(process.pid)
            finally:
                process.send_signal(signal.SIGINT)
                process.wait()
    with open(wanted.csv, "w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["workers", "strategy", "evaluations_per_s", "wanted_per_s", "share_of_a_core", "peak_mb"])
        table.writerow([wanted.workers, wanted.strategy, f"{reached:.2f}", f"{rate:.2f}", f"{share:.4f}", f"{memory:.1f}"])
    print(f"fleet: {wanted.workers} workers, {reached:.1f} evaluations a second, {100 * share:.1f} % of a core, {memory:.0f} MB")
    if share > wanted.most_share or memory > wanted.most_mb or reached < LEAST_RATE * rate:
        sys.exit(f"fleet: expected at most {100 * wanted.most_share:.0f} % and {wanted.most_mb:.0f} MB, at {rate:.1f} "
                 "evaluations a second")


if __name__ == "__main__":
    main()
