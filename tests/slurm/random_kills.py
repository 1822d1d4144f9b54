#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills parts of sessions in a Slurm of virtual nodes at random instants: workers, their device processes, the search, the
job's own process, slurmd and slurmstepd. Every session has to end with the rows of one that is left alone.

    random_kills.py PROGRAM [--kills N] [--nodes N] [--seed N] [--kind KIND] [--csv FILE]

Exit code 77: there is no Slurm here. The CSV has a line a kill: seconds until the next evaluation was committed, and whether
the session had to be submitted again.
"""
import argparse
import csv
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE_S = 600
EVALUATIONS = 120  # of a session
KINDS = ("worker", "device", "search", "slurmd", "slurmstepd", "job")
# Evaluations of a search whose course does not depend on which ends first, by what does not depend on it either: a baseline is
# timed with the first.
ROWS = """SELECT p.iteration, p.arm, hex(v.variant_hash), v.tunables, e.depth, e.input_seed, e.status, e.stage, e.message,
  e.gate, e.score_ns, e.occupancy_ratio, e.shared_bytes, (SELECT group_concat(hex(g.uid)) FROM evaluation_checks c
  JOIN check_groups g ON g.id = c.group_id WHERE c.evaluation_id = e.id),
  (SELECT count(*) FROM measurements m WHERE m.evaluation_id = e.id AND m.role = 'candidate')
  FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN variants v ON v.id = e.variant_id
  WHERE p.arm IN ('start', 'exhaustive') ORDER BY p.iteration, v.variant_hash"""


def query(database, sql):
    """Rows, or none where the database is not there yet."""
    try:
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=60)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()
    except sqlite3.OperationalError:
        return []


def processes():
    """Number, program and command line of every process."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                yield int(entry.name), os.readlink(entry / "exe"), (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue


def children_of(parents):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) in parents:
                    found.append(int(entry.name))
            except (OSError, IndexError):
                continue
    return found


class Cluster:
    def __init__(self, folder, nodes):
        self.folder, self.nodes = folder, nodes
        up = self.script("up", str(nodes))
        if up.returncode == 77:
            print(up.stderr.strip())
            sys.exit(77)
        up.check_returncode()

    def script(self, verb, *more):
        return subprocess.run(["bash", HERE / "slurm_cluster.sh", verb, self.folder, *more], capture_output=True, text=True)

    def run(self, *argv, env=None):
        return subprocess.run(["bash", "-c", '. "$0/env" && exec "$@"', self.folder, *argv], capture_output=True, text=True,
                              env=env)

    def daemons(self, name):
        program = str(self.folder / "unpacked/usr/sbin" / name)
        return [(pid, line) for pid, exe, line in processes() if exe == program]

    def start_lost_daemons(self):
        there = {line.split("\0")[3] for _, line in self.daemons("slurmd-wlm") if line.startswith("slurmd-wlm\0-D\0-N\0")}
        for node in range(1, self.nodes + 1):
            if f"n{node}" not in there:
                self.script("node", str(node))


class Session:
    def __init__(self, cluster, program, folder):
        self.cluster, self.program, self.folder = cluster, program, folder
        folder.mkdir()
        self.lost_since = None
        self.database, self.home = folder / "ak.db", folder / "home.db"
        self.env = {**os.environ, "ALPHAKERNEL_DB": str(self.database), "ALPHAKERNEL_CONFIG": str(folder / "config.json"),
                    "ALPHAKERNEL_CACHE": str(folder.parent / "cache")}
        (folder / "night.json").write_text(json.dumps({"runs": [{
            "algorithm": "vector_add", "shape": {"N": 50000}, "device": "emulator", "arch": "sm_80", "proposer": "search",
            "strategy": "exhaustive", "seed": 3, "max_evaluations": EVALUATIONS, "transfer": False, "output": str(folder / "k.cu")}]}))
        begun = self.session("start", str(folder / "night.json"), "--slurm", "--merge-into", str(self.home), "--",
                             f"--nodes={cluster.nodes}", "--ntasks-per-node=1")
        if begun.returncode != 0:
            sys.exit(begun.stderr)

    def session(self, *arguments):
        return self.cluster.run(self.program, "session", *arguments, env=self.env)

    def log(self):
        return pathlib.Path(f"{self.database}-session-1.log").read_text()

    def status(self):
        return json.loads(self.session("status", "--json").stdout)

    def evaluated(self):
        return (query(self.database, "SELECT count(*) FROM evaluations") or [(0,)])[0][0]

    def mine(self, *words):
        begin = "\0".join([self.program, *words])
        return [pid for pid, _, line in processes() if line.startswith(begin) and str(self.folder) in line]

    def go_on(self):
        """Submits it again where neither it nor Slurm goes on; True where that was needed. Jobs that wait begin now."""
        self.cluster.start_lost_daemons()
        now = self.status()
        job = now["record"]["job"]
        if "held" in (job["reason"] or ""):  # Slurm does so where slurmstepd of the job itself is killed
            self.cluster.run("scontrol", "release", job["id"])
        if job["state"] == "PENDING":
            self.cluster.run("scontrol", "update", f"jobid={job['id']}", "StartTime=now")
        # Slurm takes minutes to see that slurmstepd of the job itself is gone.
        lost = job["state"] == "RUNNING" and now["state"] in ("stopped", "killed")
        self.lost_since = (self.lost_since or time.monotonic()) if lost else None
        if lost and time.monotonic() - self.lost_since > 15:
            self.session("stop", "1")
        merged = now["state"] == "finished" and job["state"] == "COMPLETED"
        if merged or now["state"] == "running" or job["in_queue"] is not False:
            return False
        return self.session("resume", "1").returncode == 0

    def is_done(self):
        now = self.status()
        return now["state"] == "finished" and (now["record"]["job"]["state"] == "COMPLETED" or
                                               now["record"]["job"]["in_queue"] is False and self.home.exists())


def victims(session, kind):
    if kind == "worker":
        return session.mine("worker", "--connect")
    if kind == "device":
        return children_of(session.mine("worker", "--connect"))
    if kind in ("search", "job"):
        return session.mine("session", "work" if kind == "search" else "job")
    return [pid for pid, _ in session.cluster.daemons(kind + "-wlm")]


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"waited in vain for {what}")
        time.sleep(0.2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=24)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", action="append", choices=KINDS, help="kill these alone; may be repeated")
    parser.add_argument("--csv", default="/dev/stdout")
    wanted = parser.parse_args()
    draw, killed, sessions = random.Random(wanted.seed), 0, 0
    program = str(pathlib.Path(wanted.program).resolve())
    kinds = wanted.kind or KINDS
    with tempfile.TemporaryDirectory() as folder, open(wanted.csv, "w", newline="") as out:
        folder = pathlib.Path(folder)
        table = csv.writer(out)
        table.writerow(["kill", "session", "what", "seconds_to_next_commit", "submitted_again"])
        cluster = Cluster(folder / "slurm", wanted.nodes)
        try:
            calm = Session(cluster, program, folder / "calm")
            wait_for(calm.is_done, "the session that is left alone")
            expected = query(calm.database, ROWS)
            if len(expected) < EVALUATIONS:
                sys.exit(f"the session that was left alone has {len(expected)} rows, expected {EVALUATIONS} and more")
            while killed < wanted.kills:
                sessions += 1
                session = Session(cluster, program, folder / f"s{sessions}")
                wait_for(lambda: session.go_on() or session.evaluated() > 0, "the first evaluation")
                while killed < wanted.kills and session.status()["state"] != "finished":
                    time.sleep(draw.uniform(0, 1.5))
                    kind = kinds[killed % len(kinds)]
                    found, before, began = victims(session, kind), session.evaluated(), time.monotonic()
                    if not found:
                        if session.go_on():
                            wait_for(lambda: session.status()["state"] != "queued", "the session")
                        continue
                    try:
                        os.kill(draw.choice(found), signal.SIGKILL)
                    except ProcessLookupError:  # it has ended by itself
                        continue
                    killed += 1
                    again = []
                    wait_for(lambda: again.append(session.go_on()) or session.evaluated() > before
                             or session.status()["state"] == "finished", f"a commit after the death of a {kind}")
                    table.writerow([killed, sessions, kind, f"{time.monotonic() - began:.1f}", int(any(again))])
                    out.flush()
                wait_for(lambda: session.go_on() or session.is_done(), "the end of a session")
                wait_for(session.is_done, "the end of a session")
                if session.status()["record"]["job"]["state"] != "COMPLETED":  # it was killed while it merged
                    wait_for(lambda: session.session("resume", "1").returncode == 0, "the rest of the merge")
                for database in (session.database, session.home):
                    found = query(database, ROWS)
                    if found != expected:
                        print(f"session {sessions} after {killed} kills: rows that differ in {database}")
                        for row in sorted(set(found) ^ set(expected), key=str)[:10]:
                            print("more:" if row in found else "missing:", row)
                        print(f"{len(found)} rows, expected {len(expected)}\n{session.log()}")
                        sys.exit(1)
                    if query(database, "PRAGMA integrity_check") != [("ok",)]:
                        sys.exit(f"{database} is damaged")
        finally:
            cluster.script("down")
    print(f"slurm: {killed} kills in {sessions} sessions, rows as undisturbed")


if __name__ == "__main__":
    main()
