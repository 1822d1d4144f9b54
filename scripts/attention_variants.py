#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the experiment attention_variants found as a page: its kernels by kind, what each is made of, what limits
it, and what differs between neighbours, which are alike but for head size, type, mask or kind.

    scripts/attention_variants.py experiments/results/DATE_DEVICE_attention_variants > variants.md
    scripts/attention_variants.py --selftest

Needs Python alone. Reads experiment.db and manifest.json of the result folder; a run that has no kernel yet is empty."""
import argparse
import json
import pathlib
import re
import sqlite3
import sys
import tempfile

NAME = re.compile(r"flash_fwd_(?:(?P<kind>split|sparse)_)?hdim(?P<head>\d+)_(?P<type>bf16|fp16|fp8)_(?P<mask>\w+)_sm\d+$")
KINDS = {"forward": "forward", "split": "split KV (decode, combine)", "sparse": "block-sparse"}
COUNTERS = {"tensor_pct": "matrix units", "dram_pct": "device memory", "l2_pct": "L2", "issue_pct": "issue"}
BUSY = 60  # percent of its peak from which on a unit counts as what limits a kernel; below, waiting does
WORDS = ("kind", "head", "type", "mask")


def named(run):
    """What a run's name says, or nothing."""
    found = NAME.match(run["name"])
    if not found:
        return None
    parts = found.groupdict()
    return {"kind": parts["kind"] or "forward", "head": int(parts["head"]), "type": parts["type"], "mask": parts["mask"]}


def rows_of(database, sql):
    database.row_factory = sqlite3.Row
    return [dict(row) for row in database.execute(sql)]


def limit(profile):
    """The unit that is nearest its peak, of the kernel that takes longest."""
    seen = {title: profile[key] for key, title in COUNTERS.items() if profile[key] is not None}
    if not seen:
        return ""
    unit = max(seen, key=seen.get)
    return f"{unit} ({seen[unit]:.0f} %)" if seen[unit] >= BUSY else f"waiting ({unit} {seen[unit]:.0f} %)"


def variants(manifest, database):
    """The runs whose names are those of variants, with what the database knows of each."""
    # A search says the file of its kernel, which has the run's name.
    searches = {}
    for row in rows_of(database, "SELECT id, command FROM searches ORDER BY id"):
        file = re.search(r"--output (\S+)\.cu", row["command"])
        if file:
            searches[file.group(1)] = row["id"]  # the last one counts
    best = {row["search"]: row for row in rows_of(database, "SELECT * FROM best_variants")}
    rates = {(row["search"], row["variant"]): row for row in rows_of(
        database, "SELECT search, variant, throughput_tflops, memory_bandwidth_gbs FROM benchmark_results ORDER BY evaluation")}
    profiles = {row["search"]: row for row in rows_of(database, "SELECT * FROM profiles ORDER BY duration_us")}
    found = []
    for run in manifest["runs"]:
        words = named(run)
        if not words:
            continue
        search = searches.get(run["name"])
        kernel = best.get(search)
        found.append(words | {
            "name": run["name"], "run": run, "kernel": kernel,
            "us": kernel and (kernel["score_us"] or kernel["emulated_cost_us"]),
            "tunables": json.loads(kernel["tunables"]) if kernel else {},
            "rate": rates.get((search, kernel["variant"])) if kernel else None,
            "limit": limit(profiles[search]) if search in profiles else "",
        })
    return found


def figure(value, digits=1):
    return "" if value is None else f"{value:.{digits}f}"


def assigned(values):
    return " ".join(f"{key}={value}" for key, value in values.items())


def table(head, lines):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
                     + ["| " + " | ".join(line) + " |" for line in lines]) + "\n"


def taxonomy(found):
    text = ""
    for kind, title in KINDS.items():
        own = [v for v in found if v["kind"] == kind]
        if not own:
            continue
        columns = list(dict.fromkeys((v["type"], v["mask"]) for v in own))
        lines = []
        for head in sorted({v["head"] for v in own}):
            times = {(v["type"], v["mask"]): figure(v["us"]) or "none" for v in own if v["head"] == head}
            lines.append([str(head)] + [times.get(column, "") for column in columns])
        text += f"### {title}\n\n" + table(["head size"] + [" ".join(column) for column in columns], lines) + "\n"
    return text


def parameter_map(found):
    lines = []
    for v in found:
        run, rate = v["run"], v["rate"] or {}
        lines.append([v["name"], run["algorithm"], assigned(run.get("params", {})), assigned(run.get("shape", {})),
                      v["kernel"]["template"] if v["kernel"] else "", assigned(v["tunables"]), figure(v["us"]),
                      figure(rate.get("throughput_tflops")), figure(rate.get("memory_bandwidth_gbs"), 0), v["limit"]])
    return table(["variant", "algorithm", "params", "shape", "template", "point", "us", "TFLOP/s", "GB/s", "limited by"],
                 lines)


def neighbours(found):
    """Pairs that differ in one word; of head sizes, the next one."""
    heads = sorted({v["head"] for v in found})
    for i, a in enumerate(found):
        for b in found[i + 1:]:
            words = [word for word in WORDS if a[word] != b[word]]
            if len(words) == 1 and (words[0] != "head" or heads.index(b["head"]) - heads.index(a["head"]) == 1):
                yield words[0], a, b


def differences(a, b):
    """What the kernels of two variants have different."""
    said = []
    if a["kernel"]["template"] != b["kernel"]["template"]:
        return f"template {a['kernel']['template']}, {b['kernel']['template']}"
    for key in a["tunables"]:
        if a["tunables"][key] != b["tunables"].get(key):
            said.append(f"{key} {a['tunables'][key]}, {b['tunables'].get(key)}")
    return "; ".join(said) or "the same point"


def neighbour_table(found):
    lines = []
    for word, a, b in neighbours(found):
        if not (a["us"] and b["us"]):
            continue
        limits = a["limit"] if a["limit"] == b["limit"] else f"{a['limit']}, {b['limit']}"
        lines.append([word, a["name"], b["name"], f"{b['us'] / a['us']:.2f}", differences(a, b), limits])
    return table(["differ in", "variant", "neighbour", "time of the neighbour", "kernels differ in", "limited by"], lines)


def page(manifest, database):
    found = variants(manifest, database)
    have = [v for v in found if v["kernel"]]
    emulated = any(v["kernel"]["score_us"] is None for v in have)
    unit = "emulated costs in us, which are estimates" if emulated else "times in us"
    devices = ", ".join(sorted({f"{v['kernel']['device']} ({v['kernel']['arch']})" for v in have})) or "no device yet"
    return (f"# Attention variants\n\n{len(have)} of {len(found)} have a kernel that is right; {devices}.\n\n"
            f"## By kind\n\nThe best kernel of each: {unit}.\n\n{taxonomy(found)}"
            f"## What each is made of, and what limits it\n\n{parameter_map(found)}\n"
            f"## What differs between neighbours\n\n{neighbour_table(found)}")


def opened(folder):
    database = sqlite3.connect(f"file:{folder / 'experiment.db'}?mode=ro", uri=True)
    return json.loads((folder / "manifest.json").read_text()), database


def selftest():
    names = ["flash_fwd_hdim64_bf16_causal_sm90", "flash_fwd_hdim128_bf16_causal_sm90",
             "flash_fwd_hdim128_fp16_causal_sm90", "flash_fwd_split_hdim128_bf16_full_sm90"]
    runs = [{"name": "copy", "algorithm": "copy"}]
    runs += [{"name": name, "algorithm": "a", "params": {"head_dim": 1}, "shape": {"B": 2}} for name in names]
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        (folder / "manifest.json").write_text(json.dumps({"runs": runs}))
        made = sqlite3.connect(folder / "experiment.db")
        made.executescript("""
            CREATE TABLE searches (id, command);
            CREATE TABLE best_variants (search, device, arch, variant, template, tunables, score_us, emulated_cost_us);
            CREATE TABLE benchmark_results (evaluation, search, variant, throughput_tflops, memory_bandwidth_gbs);
            CREATE TABLE profiles (search, duration_us, tensor_pct, dram_pct, l2_pct, issue_pct);
            INSERT INTO searches VALUES (1, 'x --output copy.cu');
            INSERT INTO best_variants VALUES (2, 'H200', 'sm_90a', 7, 'w.cu', '{"BN": 64}', 10.0, NULL),
                                             (3, 'H200', 'sm_90a', 8, 'w.cu', '{"BN": 128}', 15.0, NULL),
                                             (4, 'H200', 'sm_90a', 9, 'm.cu', '{"BM": 64}', 30.0, NULL);
            INSERT INTO benchmark_results VALUES (1, 2, 7, 500.0, 900.0);
            INSERT INTO profiles VALUES (2, 1.0, 5.0, 90.0, 1.0, 1.0), (2, 9.0, 77.0, 6.0, NULL, 47.0),
                                        (3, 9.0, 30.0, 20.0, 10.0, 40.0);""")
        for search, name in enumerate(names, 2):
            made.execute("INSERT INTO searches VALUES (?, ?)", (search, f"x --output {name}.cu"))
        made.commit()
        text = page(*opened(folder))
    for wanted in ("3 of 4 have a kernel that is right; H200 (sm_90a)", "| 64 | 10.0 |  |", "| 128 | none |",
                   "matrix units (77 %)", "waiting (issue 40 %)", "500.0 | 900 |", "BN 64, 128",
                   "| 1.50 |", "template w.cu, m.cu"):
        assert wanted in text, f"{wanted!r} is not in\n{text}"
    assert text.count("| head |") == 1 and text.count("| type |") == 1, text
    print("selftest passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, help="result folder of the experiment")
    parser.add_argument("--selftest", action="store_true", help="check this script on a small database")
    options = parser.parse_args()
    if options.selftest:
        return selftest()
    if not options.folder:
        parser.error("a result folder is missing")
    sys.stdout.write(page(*opened(options.folder)))


if __name__ == "__main__":
    main()
