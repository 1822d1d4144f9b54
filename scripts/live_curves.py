#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets a model that answers through mailboxes write kernels from the reference alone, a round of answers at a time.

  python3 scripts/live_curves.py prepare FOLDER [--manifest experiments/live/curves.json] [--device cuda]
  python3 scripts/live_curves.py round FOLDER [--gpus 0,1] [--seconds 240]    # then answer FOLDER/NAME.box, and again
  python3 scripts/live_curves.py best FOLDER [--gpus 0,1] [--seconds 240]     # the same problems with our templates, to compare with
  python3 scripts/live_curves.py table FOLDER                               # curves.csv, shares.csv

Every problem of the manifest is a copy of its folder without kernels and a session of its own, whose searches begin with the
reference's twin and ask one question at a time. `round` takes the answers that are there, evaluates them and ends when every session
waits again; FOLDER may move to another machine between two rounds, which need the same kind of GPU. ALPHAKERNEL names the program
(build/release/bin/alphakernel), and its templates are in ALPHAKERNEL_TEMPLATES (templates).
"""

import argparse
import csv
import json
import os
import pathlib
import queue
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("ALPHAKERNEL", str(ROOT / "build/release/bin/alphakernel"))
TEMPLATES = pathlib.Path(os.environ.get("ALPHAKERNEL_TEMPLATES", ROOT / "templates"))
ENDS_S = 20  # after an interrupt: the session writes what it has


def copy_problem(folder, run):
    """The problem of a run without its kernels."""
    copy = folder / "problems" / run["name"]
    shutil.copytree(TEMPLATES / run["algorithm"], copy)
    for kernel in copy.glob("*.cu"):
        if not kernel.name.startswith("reference"):
            kernel.unlink()
    return copy


def write_session(folder, run, evaluations, device):
    """A session of the run's problem, that asks through NAME.box and goes on as soon as there are answers."""
    session = {"problem": f"problems/{run['name']}", "model": f"mailbox:{run['name']}.box", "proposer": "llm",
               "mailbox_wait": "session", "unaudited": True, "max_evaluations": evaluations}
    session |= {key: run[key] for key in ("name", "params", "shape") if key in run}
    session |= {"device": device, "arch": "sm_90a"} if device == "emulator" else {"device": device}
    (folder / f"{run['name']}.json").write_text(json.dumps({"runs": [session]}, indent=1))


def prepare(folder, manifest, device):
    """Problems without kernels, and a session of each."""
    (folder / "problems").mkdir(parents=True)
    shutil.copy(manifest, folder / "manifest.json")
    plan = json.loads(manifest.read_text())
    for run in plan["runs"]:
        copy_problem(folder, run)
        write_session(folder, run, 3 * plan["answers"], device)


def names(folder):
    return [run["name"] for run in json.loads((folder / "manifest.json").read_text())["runs"]]


def environment(folder, gpu):
    return dict(os.environ, CUDA_VISIBLE_DEVICES=str(gpu), ALPHAKERNEL_CONFIG=str(folder / "none.json"),
                ALPHAKERNEL_CACHE=str(folder / "cache"), ALPHAKERNEL_TEMPLATES=str(TEMPLATES))


def on_each_gpu(folder, gpus, seconds, command_of, chosen=None):
    """One problem at a time on each GPU; what is not done in time is interrupted and goes on in the next round."""
    waiting, deadline = queue.Queue(), time.monotonic() + seconds
    for name in names(folder) if chosen is None else chosen:
        waiting.put(name)

    def work(gpu):
        while time.monotonic() < deadline:
            try:
                name = waiting.get_nowait()
            except queue.Empty:
                return
            with open(folder / f"{name}.log", "a") as log:
                child = subprocess.Popen(command_of(name), cwd=folder, stdout=log, stderr=log, env=environment(folder, gpu))
                try:
                    code = child.wait(max(1, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    child.send_signal(signal.SIGINT)
                    try:
                        code = child.wait(ENDS_S)
                    except subprocess.TimeoutExpired:
                        child.kill()
                        code = child.wait()
            print(f"{name:16} gpu {gpu}  exit {code}  {last_state(folder, name)}", flush=True)

    threads = [threading.Thread(target=work, args=(gpu,)) for gpu in gpus]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def session_command(folder, name):
    database = str(folder / f"{name}.db")
    if not pathlib.Path(database).exists():
        return [PROGRAM, "session", "start", f"{name}.json", "--db", database, "--foreground"]
    return [PROGRAM, "session", "resume", "1", "--db", database, "--folder", str(folder), "--foreground"]


def template_command(folder, name):
    run = next(run for run in json.loads((folder / "manifest.json").read_text())["runs"] if run["name"] == name)
    flags = [f"--{key}={str(value).lower()}" for key, value in run["params"].items()]
    device = json.loads((folder / f"{name}.json").read_text())["runs"][0]["device"]
    flags += ["--device", device] + (["--arch", "sm_90a"] if device == "emulator" else [])
    for shape in run.get("shape", []):
        flags += ["--shape", ",".join(f"{axis}={size}" for axis, size in shape.items())]
    (folder / "best").mkdir(exist_ok=True)
    return [PROGRAM, "generate", "--algorithm", run["algorithm"], *flags, "--unaudited", "--max-minutes", "0.7", "-q",
            "--db", str(folder / "best" / f"{name}.db"), "--output", str(folder / "best" / f"{name}.cu")]


def answered(folder, name):
    """What came of each answer of a model, in order: status, time where it passed (ns), the best so far (ns)."""
    with sqlite3.connect(f"file:{folder / f'{name}.db'}?mode=ro", uri=True) as rows:
        found = rows.execute(
            "SELECT e.status, e.score_ns, p.llm_call_id FROM evaluations e JOIN proposals p ON p.id = e.proposal_id "
            "WHERE p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile') ORDER BY e.id").fetchall()
    best, curve = None, []
    for status, score, call in found:
        if score is not None and status == "ok":
            best = score if best is None else min(best, score)
        curve.append({"by_model": call is not None, "status": status, "us": score and score / 1000, "best_us": best and best / 1000})
    return curve


def last_state(folder, name):
    try:
        curve = answered(folder, name)
    except sqlite3.Error:
        return "no database"
    questions = sorted(path.name for path in (folder / f"{name}.box").glob("*.question.md")
                       if not path.with_name(path.name.replace(".question.", ".answer.")).exists())
    if not curve:
        return "nothing evaluated"
    last = curve[-1]
    best = f"{last['best_us']:.2f} us" if last["best_us"] else "none"
    return f"{sum(one['by_model'] for one in curve)} answers, last {last['status']}, best {best}, open {' '.join(questions) or 'none'}"


def template_best_us(folder, name):
    path = folder / "best" / f"{name}.db"
    if not path.exists():
        return None
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as rows:
        best = rows.execute("SELECT min(score_ns) FROM evaluations e JOIN proposals p ON p.id = e.proposal_id "
                            "WHERE e.status = 'ok' AND p.arm NOT IN ('held_out', 'examination', 'final', 'profile')").fetchone()[0]
    return best and best / 1000


def table(folder):
    """curves.csv: a row an answer; shares.csv: after how many answers a share of the best template's speed was reached."""
    shares = json.loads((folder / "manifest.json").read_text())["shares"]
    with open(folder / "curves.csv", "w", newline="") as curves, open(folder / "shares.csv", "w", newline="") as reached:
        rows, sums = csv.writer(curves, lineterminator="\n"), csv.writer(reached, lineterminator="\n")
        rows.writerow(["problem", "answer", "status", "us", "best_us", "of_best_template"])
        sums.writerow(["problem", "answers", "reference_us", "best_us", "best_template_us", *(f"answers_to_{share}" for share in shares)])
        for name in names(folder):
            if not (folder / f"{name}.db").exists():
                continue
            curve, template, answers, first = answered(folder, name), template_best_us(folder, name), 0, {}
            for one in curve:
                answers += one["by_model"]
                share = template / one["best_us"] if template and one["best_us"] else None
                rows.writerow([name, answers, one["status"], *(value and round(value, 3) for value in (one["us"], one["best_us"], share))])
                for wanted in shares:
                    if share and share >= wanted:
                        first.setdefault(wanted, answers)
            sums.writerow([name, answers, curve[0]["us"] if curve else None, curve[-1]["best_us"] if curve else None, template,
                           *(first.get(share, "not reached") for share in shares)])
    print((folder / "shares.csv").read_text())


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("command", choices=["prepare", "round", "best", "table"])
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--manifest", type=pathlib.Path, default=ROOT / "experiments/live/curves.json")
    arguments.add_argument("--device", default="cuda")
    arguments.add_argument("--gpus", type=lambda text: text.split(","), default=["0"], help="their numbers, one search at a time on each")
    arguments.add_argument("--seconds", type=float, default=240)
    options = arguments.parse_args()
    folder = options.folder.resolve()
    if options.command == "prepare":
        prepare(folder, options.manifest, options.device)
    elif options.command == "table":
        table(folder)
    else:
        command_of = session_command if options.command == "round" else template_command
        on_each_gpu(folder, options.gpus, options.seconds, lambda name: command_of(folder, name))


if __name__ == "__main__":
    main()
