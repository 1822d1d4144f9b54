#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Walks a newcomer's first hour and says when each milestone was reached.

    scripts/check/first_hour.py                         on a clean clone of the last commit: what the README says, building included
    scripts/check/first_hour.py --archive FILE.tar.gz   from an archive (docs/install.md), which needs no build
    scripts/check/first_hour.py --programs FOLDER       with programs that are built already

Flags after `--` go to the search, such as `-- --max-evaluations 2`; `--json FILE` writes the seconds to a file, too. Wall time
depends on what else the machine does; the CPU time of all processes until then is next to it. Exit code 1: a command
failed, or a milestone was not reached or not in its order.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# In the order in which a newcomer meets them.
MILESTONES = ("first line", "program built", "first verified kernel", "search done", "first query", "first report")


def cpu_seconds():
    """CPU time of all processes that this one started, those that still run included."""
    processes = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
        except OSError:  # it has ended
            continue
        fields = rest.split()
        # proc(5): parent; utime, stime, and those of children that were waited for
        processes[int(name.split()[0])] = (int(fields[1]), sum(map(int, fields[11:15])))
    ours, ticks = {os.getpid()}, 0
    while found := {process for process, (parent, _) in processes.items() if parent in ours} - ours:
        ours |= found
        ticks += sum(processes[process][1] for process in found)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


class Walk:
    """Runs commands and notes when milestones are reached: wall and CPU seconds since the start."""

    def __init__(self):
        self.start = time.monotonic()
        self.reached = {}

    def reach(self, milestone):
        if milestone not in self.reached:
            self.reached[milestone] = (time.monotonic() - self.start, cpu_seconds())

    def run(self, command, folder, on_line=lambda line: None):
        print("$ " + " ".join(map(str, command)), flush=True)
        with subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace") as process:
            for line in process.stdout:
                self.reach("first line")
                print("  " + line.rstrip(), flush=True)
                on_line(line)
        if process.returncode:
            sys.exit(f"first_hour: the command ended with code {process.returncode}")


def prepare(walk, options, folder):
    """The folder that a newcomer starts in, and the flags of the quick start there."""
    tree = folder / "alphakernel"
    if not options.archive and not options.programs:
        walk.run(["git", "clone", "-q", str(ROOT), str(tree)], folder)
        return tree, []
    (tree / "tools").mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "quickstart.sh", tree / "tools")
    programs = options.programs
    if options.archive:
        walk.run(["tar", "xf", str(options.archive.resolve())], folder)
        programs = next(folder.glob("*/bin"))
    return tree, ["--programs", str(programs.resolve())]


def walk_in(folder, options):
    walk = Walk()
    tree, flags = prepare(walk, options, folder)
    kernel = tree / "quickstart" / "softmax.cu"

    def look(line):
        if "searching for a softmax kernel" in line:
            walk.reach("program built")
        if kernel.exists():
            walk.reach("first verified kernel")

    walk.run(["bash", "tools/quickstart.sh", *flags, *options.search], tree, look)
    walk.reach("first verified kernel" if kernel.exists() else "no kernel")
    walk.reach("search done")
    program = str(pathlib.Path(flags[1] if flags else tree / "build/release/bin") / "alphakernel")
    walk.run([program, "query", "leaderboard", "--db", "quickstart/alphakernel.db"], tree)
    walk.reach("first query")
    walk.run([program, "report", "--db", "quickstart/alphakernel.db", "--output", "quickstart/report.html"], tree)
    if (tree / "quickstart" / "report.html").exists():
        walk.reach("first report")
    return walk.reached


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    start = arguments.add_mutually_exclusive_group()
    start.add_argument("--archive", type=pathlib.Path)
    start.add_argument("--programs", type=pathlib.Path, help="folder of alphakernel and generate_kernel")
    arguments.add_argument("--json", type=pathlib.Path, help="file for the milestones")
    arguments.add_argument("search", nargs="*", help="flags of the search, after --")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="ak_first_hour_") as folder:
        reached = walk_in(pathlib.Path(folder), options)
    print(f"{'milestone':24}{'wall s':>8}{'CPU s':>8}")
    for milestone, (wall_s, cpu_s) in reached.items():
        print(f"{milestone:24}{wall_s:8.1f}{cpu_s:8.1f}")
    if options.json:
        seconds = {milestone: {"wall_s": round(wall_s, 1), "cpu_s": round(cpu_s, 1)} for milestone, (wall_s, cpu_s) in reached.items()}
        options.json.write_text(json.dumps(seconds, indent=1) + "\n", encoding="utf-8")
    if tuple(reached) != MILESTONES:
        sys.exit(f"first_hour: expected these milestones in this order: {', '.join(MILESTONES)}")


if __name__ == "__main__":
    main()
