#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Audits every problem folder of an import in turn and writes one row each as CSV.

    alphakernel exchange import level1/ --problems problems/ --json > imported.json
    python3 scripts/check/audit_problems.py problems/ --imported imported.json --output audits.csv

Columns: folder, made (0 or 1), degenerate (0 or 1), audit (passed, failed, error, timeout, or empty where there is no
folder), seconds, reason. A row that the output has already is kept, so that an interrupted run continues.
Exit code 1 where a folder is neither degenerate nor passed its audit.
"""
import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

COLUMNS = ("folder", "made", "degenerate", "audit", "seconds", "reason")
AUDIT_FAILED = 9  # docs/exit_codes.md
REASON_LETTERS = 400  # of a row: what a person reads in a table


def run(command, limit_s):
    """(exit code, output, errors) of a command; the exit code is None where its time was up."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=limit_s)
            return process.returncode, output, errors
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, "", ""


def holes(output):
    """What the audit did not expect, in words."""
    parts = []
    for audit in json.loads(output):
        for finding in audit["findings"]:
            if not finding["as_expected"]:
                of = " of " + finding["tensor"] if finding["tensor"] else ""
                parts.append("%s%s %s: %s" % (finding["mutation"], of, finding["verdict"],
                                              finding["message"] or finding["what"]))
    return "; ".join(parts)


def audited(folder, options):
    """(verdict, reason) of one folder."""
    command = [options.program, "algorithms", "audit", "--problem", str(folder), "--device", options.device, "--json"]
    code, output, errors = run(command, options.limit)
    if code is None:
        return "timeout", "more than %d s" % options.limit
    if code == 0:
        return "passed", ""
    if code == AUDIT_FAILED:
        return "failed", holes(output)
    last = [line for line in errors.splitlines() if line.strip()][-1:]
    return "error", "exit code %d: %s" % (code, "".join(last))


def row_of(folder, options):
    started = time.monotonic()
    with open(folder / "problem.json", encoding="utf-8") as file:
        degenerate = json.load(file).get("degenerate", "")
    verdict, reason = audited(folder, options)
    return {"folder": folder.name, "made": 1, "degenerate": int(bool(degenerate)), "audit": verdict,
            "seconds": "%.1f" % (time.monotonic() - started), "reason": (degenerate or reason)[:REASON_LETTERS]}


def not_made(imported):
    """Rows of the tasks that became no folder."""
    if imported is None:
        return []
    with open(imported, encoding="utf-8") as file:
        tasks = json.load(file)
    return [{"folder": task["name"], "made": 0, "degenerate": 0, "audit": "", "seconds": "",
             "reason": without_path(task)[:REASON_LETTERS]} for task in tasks if not task["made"]]


def without_path(task):
    """Why a task became no folder, without where its file lay."""
    failure = task["failure"]
    return failure.partition("/" + task["name"] + ".py: ")[2] or failure


def known_rows(output):
    if not output.exists():
        return {}
    with open(output, encoding="utf-8", newline="") as file:
        return {row["folder"]: row for row in csv.DictReader(file)}


def write(output, rows):
    """The whole table, so that an interrupted run leaves a table too."""
    temporary = output.with_name(output.name + ".tmp")
    with open(temporary, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[name] for name in sorted(rows))
    temporary.replace(output)


def fine(row):
    return str(row["degenerate"]) == "1" or row["audit"] == "passed"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="folder with the problem folders")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="CSV file to write")
    parser.add_argument("--imported", type=pathlib.Path, help="what `exchange import --problems --json` printed")
    parser.add_argument("--program", default="alphakernel", help="program to run")
    parser.add_argument("--device", default="emulator", help="device that audits (default: emulator)")
    parser.add_argument("--limit", type=int, default=600, help="seconds for one folder (default: 600)")
    parser.add_argument("--jobs", type=int, default=1, help="audits at once (default: 1)")
    return parser.parse_args()


def main():
    options = arguments()
    rows = known_rows(options.output)
    rows.update({row["folder"]: row for row in not_made(options.imported)})
    folders = [path.parent for path in sorted(options.folder.glob("*/problem.json"))]
    left = [folder for folder in folders if folder.name not in rows]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        audits = [pool.submit(row_of, folder, options) for folder in left]
        for number, audit in enumerate(concurrent.futures.as_completed(audits), len(folders) - len(left) + 1):
            row = audit.result()
            rows[row["folder"]] = row
            write(options.output, rows)
            print("%d of %d: %s: %s%s" % (number, len(folders), row["folder"], row["audit"],
                                          ", degenerate" if row["degenerate"] else ""), file=sys.stderr)
    write(options.output, rows)
    made = sum(str(row["made"]) == "1" for row in rows.values())
    passed = sum(row["audit"] == "passed" for row in rows.values())
    degenerate = sum(str(row["degenerate"]) == "1" for row in rows.values())
    print("%d tasks: %d made, %d passed their audit, %d degenerate" % (len(rows), made, passed, degenerate))
    return 0 if all(fine(row) for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
