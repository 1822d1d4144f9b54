#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures which share of searches the reference process works, over tasks of KernelBench, and writes a row each as CSV.

    python3 scripts/reference_share.py KernelBench/ --tasks 1,9,19 --output share.csv

The folder is a checkout of KernelBench (level1/ with its tasks). One task after the other: `exchange import`, then a
search from the starting kernel with nothing cached. Every 10 ms the script looks whether the reference process waits for
a request, which is a read of its socket, or for the starter a poll (/proc/PID/syscall): the rest of its time it
imports, draws or computes.
`alphakernel` is on the PATH. Columns: task, wall_s, reference_s, share, evaluations, exit code of the search.
"""
import argparse
import csv
import glob
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

COLUMNS = ("task", "wall_s", "reference_s", "share", "evaluations", "exit_code")
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
    try:
        call = pathlib.Path(f"/proc/{pid}/syscall").read_text().split()
    except OSError:
        return False
    return call[0] != POLL and not (call[0] in READING and int(call[1], 16) == SOCKET)


class Sampler(threading.Thread):
    """Seconds in which at least one reference process below `pid` worked."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.seconds, self.ended = pid, 0.0, threading.Event()
        self.start()

    def run(self):
        last, known, looked = time.monotonic(), [], 0.0
        while not self.ended.wait(INTERVAL_S):
            now = time.monotonic()
            if now - looked > 20 * INTERVAL_S:
                known, looked = [pid for pid in descendants(self.pid) if is_reference(pid)], now
            if any(works(pid) for pid in known):
                self.seconds += now - last
            last = now


def search(folder, evaluations, work):
    database = work / f"{folder.name}.db"
    command = ["alphakernel", "generate", "--problem", folder, "--seed", "1", "--unaudited",
               "--max-evaluations", evaluations, "--db", database, "--output", work / f"{folder.name}.cu"]
    started = time.monotonic()
    with (work / f"{folder.name}.log").open("w") as log, \
            subprocess.Popen([str(word) for word in command], stdout=log, stderr=log) as process:
        sampler = Sampler(process.pid)
        code = process.wait()
    wall = time.monotonic() - started
    sampler.ended.set()
    counted = subprocess.run(["alphakernel", "query", "--db", database, "--format", "csv",
                              "SELECT count(*) FROM evaluations"], capture_output=True, text=True, check=False)
    lines = counted.stdout.split()
    return {"task": folder.name, "wall_s": round(wall, 2), "reference_s": round(sampler.seconds, 2),
            "share": round(sampler.seconds / wall, 4), "evaluations": lines[-1] if lines else "", "exit_code": code}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelbench", type=pathlib.Path)
    parser.add_argument("--tasks", default="1,3,9,16,19,20,22,23,36,40,47,88", help="numbers of level 1")
    parser.add_argument("--evaluations", default="24", help="of each search")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("reference_share.csv"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, arguments.output.open("w", newline="", encoding="utf-8") as file:
        work = pathlib.Path(temporary)
        (work / "tasks").mkdir()
        for number in arguments.tasks.split(","):
            for task in glob.glob(f"{arguments.kernelbench}/level1/{number}_*.py"):
                (work / "tasks" / pathlib.Path(task).name).write_text(pathlib.Path(task).read_text())
        subprocess.run(["alphakernel", "exchange", "import", work / "tasks", "--problems", work / "problems"],
                       check=True, stdout=subprocess.DEVNULL)
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for number in arguments.tasks.split(","):
            for folder in (work / "problems").glob(f"{number}_*"):
                row = search(folder, arguments.evaluations, work)
                writer.writerow(row)
                file.flush()
                print(*row.values(), sep="\t", flush=True)
                if row["exit_code"] != 0:
                    print((work / f"{folder.name}.log").read_text()[-1500:], file=sys.stderr)


if __name__ == "__main__":
    main()
