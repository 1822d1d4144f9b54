#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the time of a build goes, from ninja's log.

    build_times.py BUILD_FOLDER             the slowest steps and headers, as the table of docs/building.md
    build_times.py BUILD_FOLDER --budget    one line: the sum of all steps beside the budget

A step's time is its wall time: on as many jobs as cores it is close to its CPU time. Steps that a compiler cache
answered are short. The budget is for a 2.5 GHz core without a cache; going over it prints a warning, never an error,
because no build may fail on a slow machine.
"""
import argparse
import pathlib

BUDGET_S = 2040  # 40 % of the 5,096 CPU seconds that a build took before headers were precompiled (docs/building.md)
SHOWN = 15


def steps(folder):
    """Seconds by output: the last time each was made. A step of several outputs counts once."""
    seconds, seen = {}, set()
    for line in reversed((folder / ".ninja_log").read_text().splitlines()[1:]):
        start, end, _, output, command = line.split("\t")
        if output in seen or (start, end, command) in seen:
            continue
        seen.update((output, (start, end, command)))
        seconds[output] = (int(end) - int(start)) / 1000
    return seconds


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--budget", action="store_true", help="print only the sum beside the budget")
    options = arguments.parse_args()
    seconds = steps(options.folder)
    total = sum(seconds.values())
    if options.budget:
        over = "" if total <= BUDGET_S else ": over the budget, see docs/building.md"
        print(f"build: {len(seconds)} steps took {total:.0f} s in all, budget {BUDGET_S} s{over}")
        return
    print("| step | seconds |\n|---|---|")
    for output, time_s in sorted(seconds.items(), key=lambda item: -item[1])[:SHOWN]:
        name = output.replace(".dir/Unity/unity_folder_", "/").replace("_cxx.cxx.o", "/").replace("CMakeFiles/ak_", "")
        print(f"| `{name}` | {time_s:.1f} |")
    print(f"| all {len(seconds)} | {total:.0f} |")


if __name__ == "__main__":
    main()
