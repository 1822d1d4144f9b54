#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how well a model repairs wrong kernels from what AlphaKernel tells it.

  python3 scripts/score_repairs.py prepare FOLDER [--manifest experiments/live/repairs.json]
  python3 scripts/score_repairs.py round FOLDER      # then answer FOLDER/NAME.box, and again
  python3 scripts/score_repairs.py table FOLDER      # repairs.csv, and the shares that were fixed

Every case of the manifest is a shipped template with a planted bug. `prepare` evaluates the template, which has to pass, and the planted
kernel, which must not, and says which does not do so; then a session asks for a kernel of the problem, gets the planted one as the answer,
and waits with the question for its repair. `round` takes the answers that are there. The harness asks for a repair twice at most.

The cases run on the CPU device. A file FOLDER/notes.csv with the columns case, pointed_at (line, kind or no: whether the verdict alone
told where the bug is) and remark becomes a part of the table. ALPHAKERNEL and ALPHAKERNEL_TEMPLATES are as for live_curves.py.
"""

import argparse
import concurrent.futures
import contextlib
import csv
import json
import pathlib
import shutil
import sqlite3
import subprocess

import live_curves as live
from shares import share_text, wilson

MANIFEST = live.ROOT / "experiments/live/repairs.json"
REPAIRS = 2  # that the harness asks for
PLANTER = "planted bug"  # who gives the wrong kernel
NOT_OF_THE_SEARCH = "('held_out', 'comparison', 'examination', 'final', 'profile')"


def planted(run):
    """The template with its bug; every old text occurs exactly once."""
    text = (live.TEMPLATES / run["algorithm"] / run["template"]).read_text()
    for old, new in run["replace"]:
        if text.count(old) != 1:
            raise SystemExit(f"{run['name']}: to be replaced is what occurs {text.count(old)} times in {run['template']}: {old!r}")
        text = text.replace(old, new)
    return text


def keep_workloads(problem, kept):
    """Of the problem's shapes those that the case names; ranges stay."""
    path = problem / "workloads.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    missing = set(kept) - {line["name"] for line in lines}
    if missing:
        raise SystemExit(f"{problem.name}: no workload is called {', '.join(sorted(missing))}")
    lines = [line for line in lines if line["role"] == "held_out" or line["name"] in kept]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def evaluated(folder, run, kernel):
    """What `alphakernel evaluate` says of a kernel: status and the first line of the message."""
    flags = [f"--{key}={str(value).lower()}" for key, value in run["params"].items()]
    command = [live.PROGRAM, "evaluate", str(kernel), "--problem", str(folder / "problems" / run["name"]), *flags, "--device", "emulator",
               "--arch", "sm_90a", "--unaudited", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=live.environment(folder, 0))
    try:
        record = json.loads(done.stdout)["record"]
    except (ValueError, KeyError):
        return "no verdict", done.stderr.strip()
    return record["status"], (record.get("message") or "").split("\n")[0]


def check_case(folder, run):
    """Why the case is none, or an empty text."""
    template, message = evaluated(folder, run, live.TEMPLATES / run["algorithm"] / run["template"])
    if template != "ok":
        return f"the template does not pass: {template}: {message}"
    status, message = evaluated(folder, run, folder / "planted" / f"{run['name']}.cu")
    if status in ("ok", "no verdict"):
        return f"the planted kernel is not rejected: {status} {message}".rstrip()
    print(f"{run['name']:28} {status}: {message[:150]}", flush=True)
    return ""


def answer(folder, run):
    """Gives the planted kernel as a model's answer to the first question."""
    draft = folder / f"{run['name']}.box" / "0001.draft.md"
    draft.write_text(f"A kernel of my own.\n\n```cuda\n{planted(run)}```\n")
    command = [live.PROGRAM, "mailbox", "answer", str(draft), "--by", PLANTER, "--anyway"]
    subprocess.run(command, check=True, capture_output=True, env=live.environment(folder, 0))
    draft.unlink()


def questions(folder, name):
    return [json.loads(path.read_text()) for path in sorted((folder / f"{name}.box").glob("[0-9]*.json"))]


def is_open(question):
    return question["state"] == "open"


def has_answer(folder, name, question):
    return (folder / f"{name}.box" / question["answer"]).exists()


def to_continue(folder):
    """Cases that do not wait for an answer and have not ended."""
    found = []
    for name in live.names(folder):
        asked = [question for question in questions(folder, name) if is_open(question)]
        with contextlib.closing(database(folder, name)) as rows:
            state = rows.execute("SELECT status FROM sessions").fetchone()[0]
        if state != "finished" and all(has_answer(folder, name, question) for question in asked):
            found.append(name)
    return found


def run_sessions(folder, jobs, seconds, chosen):
    live.on_each_gpu(folder, range(jobs), seconds, lambda name: live.session_command(folder, name), chosen)


def prepare(folder, manifest, jobs, seconds):
    for part in ("problems", "planted"):
        (folder / part).mkdir(parents=True)
    shutil.copy(manifest, folder / "manifest.json")
    runs = json.loads(manifest.read_text())["runs"]
    for run in runs:
        problem = live.copy_problem(folder, run)
        if "workloads" in run:
            keep_workloads(problem, run["workloads"])
        live.write_session(folder, run, 2 + REPAIRS, "emulator")  # the reference's twin, the planted kernel and its repairs
        (folder / "planted" / f"{run['name']}.cu").write_text(planted(run))
    with concurrent.futures.ThreadPoolExecutor(jobs) as threads:
        wrong = dict(zip(live.names(folder), threads.map(lambda run: check_case(folder, run), runs)))
    run_sessions(folder, jobs, seconds, None)
    for run in runs:
        answer(folder, run)
    run_sessions(folder, jobs, seconds, None)
    for name in live.names(folder):
        if not wrong[name] and not any(is_open(one) and one["arm"] == "repair" for one in questions(folder, name)):
            wrong[name] = "the search asks for no repair"
    for name, why in wrong.items():
        if why:
            print(f"{name}: {why}")
    return 1 if any(wrong.values()) else 0


def database(folder, name):
    return sqlite3.connect(f"file:{folder / f'{name}.db'}?mode=ro", uri=True)


def attempts(folder, name):
    """The planted kernel and what came of each answer, in order."""
    with contextlib.closing(database(folder, name)) as rows:
        found = rows.execute(
            "SELECT e.status, e.gate, e.message, e.variant_id FROM evaluations e JOIN proposals p ON p.id = e.proposal_id "
            f"WHERE p.llm_call_id IS NOT NULL AND p.arm NOT IN {NOT_OF_THE_SEARCH} ORDER BY e.id LIMIT {1 + REPAIRS}").fetchall()
    return [dict(zip(("status", "gate", "message", "variant"), row)) for row in found]


def approach(folder, name, variant):
    """The words of the program for how a kernel of the database works; it ends with an error where the kernel is wrong."""
    command = [live.PROGRAM, "explain", str(variant), "--db", str(folder / f"{name}.db"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=live.environment(folder, 0))
    if not done.stdout:
        raise SystemExit(f"{name}: {done.stderr.strip()}")
    return json.loads(done.stdout)["approach"]


def notes(folder):
    path = folder / "notes.csv"
    return {row["case"]: row for row in csv.DictReader(path.open())} if path.exists() else {}


def row_of(folder, run, note):
    name = run["name"]
    tried = attempts(folder, name)
    if not tried:
        return None
    passed = next((i for i, one in enumerate(tried) if one["status"] == "ok"), None)
    answers = passed if passed else "not fixed" if len(tried) > REPAIRS else "open"
    kept = ""
    if passed:
        kept = "yes" if approach(folder, name, tried[0]["variant"]) == approach(folder, name, tried[passed]["variant"]) else "no"
    by = {question["by"] for question in questions(folder, name) if question.get("by")} - {PLANTER}
    return {"case": name, "problem": run["algorithm"], "bug": run["bug"], "status": tried[0]["status"], "gate": tried[0]["gate"],
            "message": tried[0]["message"].split("\n")[0], "answers": answers, "approach_kept": kept, "by": " ".join(sorted(by)),
            "pointed_at": note.get("pointed_at", ""), "remark": note.get("remark", "")}


def table(folder):
    noted = notes(folder)
    rows = [row_of(folder, run, noted.get(run["name"], {})) for run in json.loads((folder / "manifest.json").read_text())["runs"]]
    rows = [row for row in rows if row]
    if not rows:
        raise SystemExit("nothing was evaluated yet")
    with open(folder / "repairs.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    done = [row["answers"] for row in rows if row["answers"] != "open"]
    if done:
        print(share_text("fixed by the first answer", done.count(1), len(done)))
        print(share_text("fixed by one of two answers", len(done) - done.count("not fixed"), len(done)))
    for row in rows:
        print(f"{row['case']:28} {row['gate'] or row['status']:18} {row['answers']}")


def selftest():
    """Every planted bug fits its template, and names give none away."""
    runs = json.loads(MANIFEST.read_text())["runs"]
    assert len({run["name"] for run in runs}) == len(runs)
    for run in runs:
        assert run["name"].rstrip("_0123456789") == run["algorithm"].rstrip("_0123456789"), run["name"]
        assert planted(run) != (live.TEMPLATES / run["algorithm"] / run["template"]).read_text(), run["name"]
    assert [round(end, 3) for end in wilson(8, 10)] == [0.49, 0.943]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("command", choices=["prepare", "round", "table"], nargs="?")
    arguments.add_argument("folder", type=pathlib.Path, nargs="?")
    arguments.add_argument("--manifest", type=pathlib.Path, default=MANIFEST)
    arguments.add_argument("--jobs", type=int, default=2, help="cases at the same time")
    arguments.add_argument("--seconds", type=float, default=600, help="of a round; what is not done goes on in the next one")
    arguments.add_argument("--selftest", action="store_true", help="whether the manifest fits the templates")
    options = arguments.parse_args()
    if options.selftest:
        return selftest()
    if options.folder is None:
        arguments.error("expected a command and a folder")
    folder = options.folder.resolve()
    if options.command == "prepare":
        return prepare(folder, options.manifest, options.jobs, options.seconds)
    if options.command == "table":
        table(folder)
    else:
        run_sessions(folder, options.jobs, options.seconds, to_continue(folder))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
