#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the time of a build goes, from ninja's log.

    build_times.py BUILD_FOLDER             the slowest steps, as the table of docs/building.md
    build_times.py BUILD_FOLDER --headers   the headers that cost most: the units that include each times its seconds alone
    build_times.py BUILD_FOLDER --budget    one line: the sum of all steps next to the budget

A step's time is its wall time: on as many jobs as cores it is close to its CPU time. Steps that a compiler cache
answered are short. The budget is for a 2.5 GHz core without a cache; going over it prints a warning, never an error,
because no build may fail on a slow machine.
"""
import argparse
import collections
import json
import pathlib
import shlex
import subprocess
import time

BUDGET_S = 2040  # 40 % of the 5,096 CPU seconds that a build took before headers were precompiled (docs/building.md)
SHOWN = 15
MEASURED = 60  # headers that most units include; a minute or two of compiling; chosen


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


def units_of_headers(deps, root):
    """How many units include each header below `root`, from the text of `ninja -t deps`. Files of the build folder, such as
    precompiled headers, are none."""
    units, seen = collections.Counter(), set()
    for line in deps.splitlines():
        if not line.startswith(" "):
            seen = set()
            continue
        name = line.strip()
        if name.startswith(f"{root}/"):
            name = name[len(root) + 1:]
        if name.startswith(("/", "build/")) or not name.endswith((".h", ".cuh")) or name in seen:
            continue
        seen.add(name)
        units[name] += 1
    return units


def flags_of(folder, root):
    """Compiler, and the flags that say where headers are, of all units together."""
    flags, compiler = [], "c++"
    for unit in json.loads((folder / "compile_commands.json").read_text()):
        words = shlex.split(unit["command"])
        compiler = next((w for w in words if pathlib.Path(w).name.startswith(("c++", "g++", "clang++"))), compiler)
        for at, word in enumerate(words):
            pair = [word, words[at + 1]] if word == "-isystem" else [word] if word.startswith(("-I", "-std=")) else []
            if pair and pair not in flags:
                flags.append(pair)
    return [compiler, *(word for pair in flags for word in pair), f"-I{root}"]


def print_headers(folder):
    root = str(folder.resolve().parent.parent)
    deps = subprocess.run(["ninja", "-C", str(folder), "-t", "deps"], check=True, capture_output=True, text=True).stdout
    command = flags_of(folder, root)
    costs = []
    for name, units in units_of_headers(deps, root).most_common(MEASURED):
        begin = time.monotonic()
        ended = subprocess.run([*command, "-fsyntax-only", "-x", "c++", f"{root}/{name}"], capture_output=True)
        if ended.returncode == 0:
            costs.append((units * (time.monotonic() - begin), units, name))
    print("| header | units | seconds alone | product |\n|---|---|---|---|")
    for product, units, name in sorted(costs, reverse=True)[:SHOWN]:
        print(f"| `{name}` | {units} | {product / units:.2f} | {product:.0f} |")


def selftest():
    deps = """a.o: #deps 4, deps mtime 1 (VALID)
    /src/core/a.cpp
    /src/core/a.h
    /src/core/a.h
    /src/build/release/pch.h
    /usr/include/stdio.h

b.o: #deps 2, deps mtime 1 (VALID)
    /src/core/a.h
    /src/core/b.cuh
"""
    found = units_of_headers(deps, "/src")
    assert found == {"core/a.h": 2, "core/b.cuh": 1}, found


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=pathlib.Path, nargs="?", default=pathlib.Path("build/release"))
    arguments.add_argument("--budget", action="store_true", help="print only the sum next to the budget")
    arguments.add_argument("--headers", action="store_true", help="print the headers that cost most; takes a minute or two")
    arguments.add_argument("--selftest", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.selftest:
        return selftest()
    if options.headers:
        return print_headers(options.folder)
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
