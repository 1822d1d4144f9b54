#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes each mistake that a draft lists the reference itself, no longer listed, with the draft's right examples, and
prints as CSV whether `alphakernel problem judge` refuses that.

    plant_mistakes.py DRAFTS [PROGRAM]
"""
import csv
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

DRAFTS, PROGRAM = pathlib.Path(sys.argv[1]), (sys.argv + ["alphakernel"])[2]


def judged(draft, mistake):
    """What the judge says of the draft with this mistake as its reference."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / draft.name
        shutil.copytree(draft, folder)
        problem = json.loads((folder / "problem.json").read_text())
        problem["mutations"] = [m for m in problem["mutations"] if m["name"] != mistake["name"]]
        (folder / "problem.json").write_text(json.dumps(problem))
        plan, rest = (folder / "reference.cu").read_text().split("*/\n", 1)
        (folder / "reference.cu").write_text(f"{plan}*/\n#define {mistake['macro']} 1\n{rest}")
        run = subprocess.run([PROGRAM, "problem", "judge", folder, "--json"], capture_output=True, text=True, check=True)
        return json.loads(run.stdout)


table = csv.writer(sys.stdout, lineterminator="\n")
table.writerow(["problem", "mistake", "what", "verdict", "by", "first finding"])
for draft in sorted(DRAFTS.iterdir()):
    for mistake in json.loads((draft / "problem.json").read_text())["mutations"]:
        said = judged(draft, mistake)
        first = (said["faults"] + [""])[0]
        by = "examples" if "by the example" in first else "formula" if "formula" in first else "audit" if first else ""
        table.writerow([draft.name, mistake["name"], mistake["what"], "passed" if said["passed"] else "refused", by, first])
