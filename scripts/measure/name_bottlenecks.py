#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles the kernels of tests/profiles/suite.json and compares the bottlenecks named with those expected.
scripts/measure/name_bottlenecks.sh calls it and says what it writes."""
import argparse
import csv
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITE = ROOT / "tests" / "profiles"


def command(program, row, flags):
    words = [program, "profile", str(SUITE / row["file"]), "--algorithm", row["algorithm"], "--shape", row["shape"],
             "--json"]
    for name, value in row.get("params", {}).items():
        words += ["--" + name.replace("_", "-"), value]
    return words + flags


def duration(launch):
    return launch.get("metrics", {}).get("time/duration", 0)


def profile(row, options):
    """What the program printed, or why it printed nothing."""
    done = subprocess.run(command(options.program, row, options.flags), capture_output=True, text=True)
    name = pathlib.Path(row["file"]).stem
    (options.output / f"{name}.json").write_text(done.stdout)
    try:
        return json.loads(done.stdout.strip().splitlines()[-1]), ""
    except (IndexError, json.JSONDecodeError):
        return None, (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]


def judged(row, options):
    """A line of the table, and what is to be kept of the profile."""
    expected = [row["expected"]] + row.get("or", [])
    line = {"kernel": pathlib.Path(row["file"]).stem, "expected": " or ".join(expected), "named": "", "at_most": "",
            "right": "no", "evidence": ""}
    printed, problem = profile(row, options)
    if printed is None:
        return line | {"evidence": problem}, None
    record = printed["record"]
    analysis, seen = record.get("analysis", {}), record.get("profile", {})
    seen = seen[0] if isinstance(seen, list) else seen
    named = analysis.get("bottleneck", "")
    line |= {"named": named, "at_most": f"{analysis.get('at_most', 0):.2f}", "evidence": analysis.get("evidence", ""),
             "right": "yes" if named in expected else "no"}
    launches = seen.get("launches", [])
    if not launches:
        return line, None
    return line, {"name": line["kernel"], "expected": expected, "method": seen.get("method", ""),
                  "launch": max(launches, key=duration) | {"lines": []}}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("flags", nargs=argparse.REMAINDER, help="of alphakernel profile")
    options = parser.parse_args()
    rows = [row for row in json.loads((SUITE / "suite.json").read_text()) if options.only in row["file"]]
    lines, recorded = [], []
    for row in rows:
        line, kept = judged(row, options)
        lines.append(line)
        recorded += [kept] if kept else []
        print(f"{line['right']:<4}{line['kernel']:<30}{line['expected']:<26}{line['named']:<26}{line['at_most']:>6}  "
              f"{line['evidence']}", flush=True)
    text = ",\n".join(" " + json.dumps(one) for one in recorded)
    (options.output / "recorded.json").write_text(f"[\n{text}\n]\n")
    with open(options.output / "bottlenecks.csv", "w", newline="") as file:
        table = csv.DictWriter(file, lines[0].keys() if lines else [])
        table.writeheader()
        table.writerows(lines)
    right = sum(line["right"] == "yes" for line in lines)
    print(f"{right} of {len(lines)} named right")
    return 0 if right == len(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
