#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures which share of an experiment over tasks of KernelBench the reference process works, and writes it as CSV.

    python3 scripts/reference_share.py KernelBench/ --tasks 1,9,19 --output share.csv

The folder is a checkout of KernelBench (level1/ with its tasks). `exchange import`, then one `experiment run` with a
search from the starting kernel of each task, nothing cached. Every 10 ms the script looks whether a reference process
waits for a request, which is a read of its socket, or for the starter a poll (/proc/PID/syscall): the rest of its time
it imports, draws or computes.
`alphakernel` is on the PATH. Columns: tasks, wall_s, reference_s, share, starter_s (of the reference's time: the process
that imports PyTorch and makes copies), evaluations, exit code of the run, share_of_level (over all 100 tasks of level 1,
of which the starter works once: these tasks stand for the others).
"""
import argparse
import csv
import glob
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

COLUMNS = ("tasks", "wall_s", "reference_s", "share", "starter_s", "evaluations", "exit_code", "share_of_level")
LEVEL_TASKS = 100
INTERVAL_S = 0.01
SOCKET = 3  # that a reference process reads requests from (runtime/reference/reference_worker.h)
READING, POLL = ("0", "45"), "7"  # numbers of read, recvfrom and poll on x86-64


def children(pid):
    for task in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            yield from (int(child) for child in pathlib.Path(task).read_text().split())
        except OSError:
            continue


def descendants(pid):
    for child in children(pid):
        yield child
        yield from descendants(child)


def is_reference(pid):
    """Before it becomes an interpreter its command line has the role; afterwards it runs boot.py by -c."""
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"reference" in words or (b"python" in words[0] and b"-S" in words)


def works(pid):
    """Not one that has ended and is only not waited for yet."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        call = pathlib.Path(f"/proc/{pid}/syscall").read_text().split()
    except OSError:
        return False
    return state != "Z" and call[0] != POLL and not (call[0] in READING and int(call[1], 16) == SOCKET)


class Sampler(threading.Thread):
    """Seconds in which at least one reference process below `pid` worked, and those of the first one, the starter."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.seconds, self.starter_seconds, self.ended = pid, 0.0, 0.0, threading.Event()
        self.start()

    def run(self):
        last, known, looked, starter = time.monotonic(), [], 0.0, None
        while not self.ended.wait(INTERVAL_S):
            now = time.monotonic()
            if now - looked > 20 * INTERVAL_S:
                known, looked = [pid for pid in descendants(self.pid) if is_reference(pid)], now
                starter = starter or min(known, default=None)
            busy = [pid for pid in known if works(pid)]
            self.seconds += (now - last) * bool(busy)
            self.starter_seconds += (now - last) * (starter in busy)
            last = now


def experiment(folders, evaluations, limit_s, work):
    database, manifest = work / "results" / "experiment.db", work / "share.json"
    runs = [{"problem": str(folder), "name": folder.name.lower()[:40], "max_evaluations": int(evaluations), "seed": 1}
            for folder in folders]
    manifest.write_text(json.dumps({"name": "share", "question": "What does the reference process cost?", "runs": runs}))
    command = ["alphakernel", "experiment", "run", manifest, "--unaudited", "--arch", "native",
               "--output", work / "results"]
    started = time.monotonic()
    with (work / "share.log").open("w") as log, \
            subprocess.Popen([str(word) for word in command], stdout=log, stderr=log) as process:
        sampler = Sampler(process.pid)
        try:
            code = process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # it ends with what it has found
            process.wait()
            code = 0
    wall = time.monotonic() - started
    sampler.ended.set()
    counted = subprocess.run(["alphakernel", "query", "--db", database, "--format", "csv",
                              "SELECT count(*) FROM evaluations"], capture_output=True, text=True, check=False)
    lines = counted.stdout.split()
    if code != 0:
        print((work / "share.log").read_text()[-2000:], file=sys.stderr)
    saved = sampler.starter_seconds * (1 - len(folders) / LEVEL_TASKS)  # of the wall time too: the first task waits for it
    return {"tasks": len(folders), "wall_s": round(wall, 2), "reference_s": round(sampler.seconds, 2),
            "share": round(sampler.seconds / wall, 4), "starter_s": round(sampler.starter_seconds, 2),
            "evaluations": lines[-1] if lines else "", "exit_code": code,
            "share_of_level": round((sampler.seconds - saved) / (wall - saved), 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelbench", type=pathlib.Path)
    parser.add_argument("--tasks", default="1,3,9,16,19,20,22,23,36,40,47,88", help="numbers of level 1")
    parser.add_argument("--evaluations", default="40", help="of each search")
    parser.add_argument("--seconds", type=float, help="ends the experiment after so many")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("reference_share.csv"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, arguments.output.open("w", newline="", encoding="utf-8") as file:
        work = pathlib.Path(temporary)
        (work / "tasks").mkdir()
        numbers = arguments.tasks.split(",")
        for number in numbers:
            for task in glob.glob(f"{arguments.kernelbench}/level1/{number}_*.py"):
                (work / "tasks" / pathlib.Path(task).name).write_text(pathlib.Path(task).read_text())
        subprocess.run(["alphakernel", "exchange", "import", work / "tasks", "--problems", work / "problems"],
                       check=True, stdout=subprocess.DEVNULL)
        folders = [folder for number in numbers for folder in (work / "problems").glob(f"{number}_*")]
        row = experiment(folders, arguments.evaluations, arguments.seconds, work)
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerow(row)
        print(*row.values(), sep="\t")
    return row["exit_code"]


if __name__ == "__main__":
    sys.exit(main())
