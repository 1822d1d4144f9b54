#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scores how well `alphakernel explain` understands kernels, on the CPU device.

    scripts/score_explain.py OUT [--program build/release/bin/alphakernel] [--kernels FILE] [--only NAME ...]

explains every kernel of experiments/understanding/kernels.json, compares what is said with what is written there,
prints what is wrong and writes OUT/scores.csv. The result is the same on every machine. Needs Python and the program.
Exit code 0 where at least 90 % of all facts are right, 1 below, 2 for bad arguments, 3 where a kernel has no explanation.
"""
import argparse
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from shares import share_text

WANTED = 0.9
# What limits a kernel on the counts of the CPU device, by how the program says it (profiler/analysis/bottleneck_rules.cpp).
CLASSES = {
    "memory": ["device memory", "loads of a warp that are far apart", "stores that fill only a part"],
    "shared memory": ["shared memory: at its limit", "threads of a warp that meet at a bank"],
    "atomics": ["atomics that wait for each other"],
    "matrix units unused": ["a matrix product without the matrix units"],
    "local memory": ["registers that spill to local memory"],
    "compute": ["the matrix units: at their limit", "float32 arithmetic", "float64 arithmetic", "16-bit arithmetic",
                "special functions", "addresses and other integer work", "the number of instructions",
                "threads of a warp that go different ways"],
}
COLUMNS = ["kernel", "held_out", "true_positives", "false_positives", "false_negatives", "traps", "traps_avoided",
           "launches", "launches_right", "bottleneck", "bottleneck_said", "bottleneck_right", "tunables",
           "tunables_right", "facts", "right", "wrong"]


def explain(program, root, kernel, scratch):
    command = [program, "explain", str(root / kernel["file"]), "--algorithm", kernel["algorithm"], "--shape",
               kernel["shape"], "--device", "emulator", "--arch", kernel.get("arch", "sm_90a"), "--unaudited",
               "--json", "--db", f"{scratch}/explained.db"]
    for name, value in kernel.get("params", {}).items():
        command += [f"--{name}", value]
    environment = {**os.environ, "ALPHAKERNEL_TEMPLATES": str(root / "templates"),
                   "ALPHAKERNEL_CONFIG": f"{scratch}/config.json", "ALPHAKERNEL_CACHE": f"{scratch}/cache"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=580, check=False)
    answer = json.loads(done.stdout) if done.returncode == 0 else {}
    if answer.get("status") != "ok":
        sys.stderr.write(f"{kernel['file']} has no explanation: {' '.join(command)}\n{done.stderr or answer.get('status')}\n")
        sys.exit(3)
    return answer


def said_launches(answer):
    """[(kernel, its optimisations)]; an answer without them names launches on its page and optimisations for all."""
    if "launches" in answer["record"]:
        return [(one["kernel"], one["optimisations"]) for one in answer["record"]["launches"]]
    names = [one["name"] for one in answer["record"]["optimisations"]]
    page = answer["page"].split("## What the kernel does", 1)[1].split("\n## ", 1)[0]
    return [(name, names) for name in re.findall(r"^- `([^`]+)`: ", page, re.M)]


def said_bottleneck(answer):
    title = (answer["record"]["limits"] or [{}])[0].get("bottleneck", "")
    for name, titles in CLASSES.items():
        if any(title.startswith(one) for one in titles):
            return name
    return title or "nothing"


def score(kernel, answer):
    named = {one["name"]: one for one in answer["record"]["optimisations"]}
    true, open_ones = set(kernel["optimisations"]), set(kernel.get("open", []))
    said, traps = set(named) - open_ones, set(kernel.get("looks_like", []))
    row = {"kernel": pathlib.Path(kernel["file"]).stem, "held_out": int(kernel.get("held_out", False)),
           "true_positives": len(said & true), "false_positives": len(said - true), "false_negatives": len(true - said),
           "traps": len(traps), "traps_avoided": len(traps - said)}
    wrong = [f"+{name}" for name in sorted(said - true)] + [f"-{name}" for name in sorted(true - said)]

    # The list of launches is one fact, what each shows another one.
    launches = said_launches(answer)
    facts = [("launches", [name for name, _ in launches] == [one["kernel"] for one in kernel["launches"]])]
    for one in kernel["launches"]:
        if "shows" in one:
            shows = any(name == one["kernel"] and one["shows"] in words for name, words in launches)
            facts.append((f"{one['kernel']}: {one['shows']}", shows))
    row["launches"], row["launches_right"] = len(facts), sum(right for _, right in facts)

    limit = kernel.get("bottleneck", "")
    row["bottleneck"], row["bottleneck_said"] = limit, said_bottleneck(answer)
    row["bottleneck_right"] = int(row["bottleneck_said"] == limit) if limit else ""
    if limit:
        facts.append((f"limited by {limit}, said {row['bottleneck_said']}", bool(row["bottleneck_right"])))

    tunables = [(f"{name} governs {what}", name in named.get(what, {}).get("tunables", []))
                for name, what in kernel.get("tunables", {}).items()]
    row["tunables"], row["tunables_right"] = len(tunables), sum(right for _, right in tunables)
    facts += tunables
    wrong += [f"not {text}" for text, right in facts if not right]

    row["facts"] = len(said | true) + len(traps - said) + len(facts)
    row["right"] = len(said & true) + len(traps - said) + sum(right for _, right in facts)
    row["wrong"] = "; ".join(wrong)
    return row


def summary(rows):
    total = {name: sum(row[name] or 0 for row in rows) for name in COLUMNS if name not in ("kernel", "bottleneck", "bottleneck_said", "wrong")}
    judged = [row for row in rows if row["bottleneck"]]
    return "\n".join([
        share_text("precision of optimisations", total["true_positives"], total["true_positives"] + total["false_positives"]),
        share_text("recall of optimisations", total["true_positives"], total["true_positives"] + total["false_negatives"]),
        share_text("traps avoided", total["traps_avoided"], total["traps"]),
        share_text("launches", total["launches_right"], total["launches"]),
        share_text("bottlenecks", total["bottleneck_right"], len(judged)),
        share_text("tunables", total["tunables_right"], total["tunables"]),
        share_text("all facts", total["right"], total["facts"])])


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("out", type=pathlib.Path, help="folder for scores.csv")
    parser.add_argument("--program", default=str(root / "build/release/bin/alphakernel"))
    parser.add_argument("--kernels", type=pathlib.Path, default=root / "experiments/understanding/kernels.json")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these kernels, by the names of their files")
    arguments = parser.parse_args()
    if not os.access(arguments.program, os.X_OK):
        parser.error(f"there is no program {arguments.program}; expected a built alphakernel, or --program")

    kernels = json.loads(arguments.kernels.read_text())["kernels"]
    if arguments.only:
        names = {pathlib.Path(kernel["file"]).stem: kernel for kernel in kernels}
        unknown = [name for name in arguments.only if name not in names]
        if unknown:
            parser.error(f"no kernel is called {unknown[0]}; expected one of {', '.join(names)}")
        kernels = [names[name] for name in arguments.only]

    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for kernel in kernels:
            rows.append(score(kernel, explain(arguments.program, root, kernel, scratch)))
            print(f"{rows[-1]['kernel']}: {rows[-1]['right']} of {rows[-1]['facts']}  {rows[-1]['wrong']}", flush=True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    with open(arguments.out / "scores.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for held_out in (0, 1):
        chosen = [row for row in rows if row["held_out"] == held_out]
        if chosen and len(chosen) < len(rows):
            print(f"\n{'Held out' if held_out else 'Not held out'}, {len(chosen)} kernels\n{summary(chosen)}")
    print(f"\nAll, {len(rows)} kernels\n{summary(rows)}")
    return 0 if sum(row["right"] for row in rows) >= WANTED * sum(row["facts"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
