#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch on the timed workloads of a problem, by the protocol of docs/timing.md.

  python3 scripts/measure/pytorch_baseline.py --algorithm gemm --param dtype=bfloat16 --param bias=true
  python3 scripts/measure/pytorch_baseline.py --algorithm softmax --compile --db run.db --search 3
  python3 scripts/measure/pytorch_baseline.py --db run.db          # every search of the database

Prints the median of cold-L2 samples, TFLOP/s and GB/s of the problem's own formulas, the median with a warm cache, and
the bandwidth of a large copy in the same run. With --db the medians become baselines of a search, so that the column
speedup_vs_pytorch of the view benchmark_results fills. --selftest needs neither PyTorch nor a GPU.
"""
import argparse
import csv
import json
import math
import os
import random
import sqlite3
import struct
import sys

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [SCRIPTS, os.path.join(SCRIPTS, "..", "app", "baselines", "python")]
import problem_folder  # noqa: E402
from expressions import EAGER  # noqa: E402

MINIMUM_SAMPLES, MAXIMUM_SAMPLES, GPU_MS, RELATIVE_ERROR, WARM_UPS = 10, 200, 40.0, 0.005, 3  # docs/timing.md
SPIN_CYCLES = 400_000  # about 0.2 ms: longer than the host takes to enqueue a handful of operators
COPY_BYTES = 1 << 30


SDPA_BACKENDS = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION", "efficient": "EFFICIENT_ATTENTION"}


def variants(torch, instance, with_compile):
    """{label: f(**inputs)}."""
    eager = EAGER[instance.name]

    def call(**inputs):
        return eager(torch, instance.params, **inputs)

    found = {"pytorch eager": call}
    if with_compile:
        found["pytorch compile"] = torch.compile(call, dynamic=False)
    if instance.name == "flash_attention":
        from torch.nn.attention import SDPBackend, sdpa_kernel
        for name, member in SDPA_BACKENDS.items():
            def pinned(backend=getattr(SDPBackend, member), **inputs):
                with sdpa_kernel(backend):
                    return call(**inputs)
            found[f"pytorch sdpa {name}"] = pinned
    return found


def set_precision(torch, params):
    """TF32 where the problem's params ask for it: outside of what is compiled and timed."""
    torch.set_float32_matmul_precision("high" if wants_tf32(params) else "highest")


def wants_tf32(params):
    return params.get("precision") == "tf32"


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def median_interval_95(values):
    """Order statistics whose ranks enclose the median with 95 %, by the normal approximation of the binomial."""
    ordered, n = sorted(values), len(values)
    reach = 0.98 * math.sqrt(n)
    low, high = math.floor(n / 2 - reach), math.ceil(n / 2 + reach)
    return ordered[max(low, 0)], ordered[min(high, n - 1)]


class Timer:
    def __init__(self, torch):
        self.torch = torch
        l2 = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 64 << 20)
        # Over twice the L2; written and then read, so that what stays is clean.
        self.flush = torch.empty(max(64 << 20, 2 * l2 + (16 << 20)) // 4, dtype=torch.float32, device="cuda")

    def sample_ns(self, call, inputs, cold):
        torch = self.torch
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(SPIN_CYCLES)
        if cold:
            self.flush.zero_()
            self.flush.sum()
        before.record()
        call(**inputs)
        after.record()
        torch.cuda.synchronize()
        return before.elapsed_time(after) * 1e6

    def samples(self, call, sets, cold):
        for i in range(WARM_UPS):
            self.sample_ns(call, sets[i % len(sets)], cold)
        taken = []
        while len(taken) < MAXIMUM_SAMPLES:
            taken.append(self.sample_ns(call, random.choice(sets), cold))
            if len(taken) < MINIMUM_SAMPLES:
                continue
            low, high = median_interval_95(taken)
            if (high - low) / 2 <= RELATIVE_ERROR * median(taken) or sum(taken) > GPU_MS * 1e6:
                break
        return taken


def make_inputs(torch, instance, workload, seed):
    generator = torch.Generator("cuda").manual_seed(seed)
    inputs = {}
    for tensor in instance.inputs:
        dtype = getattr(torch, tensor.dtype)
        shape = instance.shape(tensor, workload)
        if dtype.is_floating_point:
            inputs[tensor.name] = torch.randn(shape, generator=generator, device="cuda", dtype=torch.float32).to(dtype)
        else:
            inputs[tensor.name] = torch.randint(-3, 4, shape, generator=generator, device="cuda").to(dtype)
    return inputs


def check_expression(torch, instance):
    """The timed expression against the problem's reference on its largest small workload; sys.exit on a mismatch."""
    workload = max((w for w in instance.workloads if w.tier == "emulator"),
                   key=lambda w: instance.amount("flops", w), default=None)
    if workload is None or (instance.params.get("causal") and workload.sizes.get("S") != workload.sizes.get("T")):
        return
    if any(tensor.name == "seed" for tensor in instance.inputs):  # PyTorch draws other numbers
        return
    inputs = make_inputs(torch, instance, workload, 1)
    expected = problem_folder.call_reference(instance, {n: t.clone() for n, t in inputs.items()})[0].double()
    got = EAGER[instance.name](torch, instance.params, **inputs)
    got = (got[0] if isinstance(got, tuple) else got).double()
    error = ((got - expected).abs().max() / expected.pow(2).mean().sqrt().clamp(min=1e-30)).item()
    if not error < 0.1:
        sys.exit(f"the PyTorch expression of {instance.name} differs from its reference on {workload.name} "
                 f"by {error:.2g}")


def copy_bandwidth_gbps(torch, timer):
    source = torch.zeros(COPY_BYTES, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * COPY_BYTES / median(timer.samples(lambda: target.copy_(source), [{}], True))


def time_all(torch, instance, options):
    if any(tensor.dtype in ("int32", "int64") for tensor in instance.inputs):
        print(f"# {instance.definition}: not timed, for only the program draws its indices: alphakernel baselines",
              file=sys.stderr)
        return []
    timer = Timer(torch)
    set_precision(torch, instance.params)
    print(f"# PyTorch {torch.__version__}, {torch.cuda.get_device_name(0)}, {instance.definition}; copy bandwidth "
          f"{copy_bandwidth_gbps(torch, timer):.0f} GB/s", file=sys.stderr)
    torch.backends.cuda.matmul.allow_tf32 = instance.params.get("precision") == "tf32"
    check_expression(torch, instance)
    rows = []
    for workload in instance.workloads:
        if "time" not in workload.roles or (options.workload and workload.name not in options.workload):
            continue
        if workload.tier == "deep" and not options.workload:
            continue
        sets = [make_inputs(torch, instance, workload, seed) for seed in (1, 2)]
        for label, call in variants(torch, instance, options.compile).items():
            row = {"workload": workload.name, "label": label, "reason": ""}
            try:
                with torch.no_grad():
                    row["samples"] = timer.samples(call, sets, True)
                    row["warm_samples"] = timer.samples(call, sets, False)
            except (RuntimeError, TypeError) as error:
                row["reason"] = str(error).splitlines()[0]
                rows.append(row)
                continue
            ns = median(row["samples"])
            moved = instance.amount("bytes_read", workload) + instance.amount("bytes_written", workload)
            row.update(median_us=ns / 1e3, warm_us=median(row["warm_samples"]) / 1e3, gbps=moved / ns,
                       tflops=instance.amount("flops", workload) / ns / 1e3)
            rows.append(row)
        del sets
    return rows


def searches_of(path):
    """(search, problem, params as texts) of every search of a database that has a verified evaluation."""
    with sqlite3.connect(path) as database:
        found = database.execute("SELECT s.id, d.problem, d.params FROM searches s JOIN definitions d "
                                 "ON d.id = s.definition_id WHERE EXISTS (SELECT 1 FROM evaluations e "
                                 "WHERE e.search_id = s.id AND e.status = 'ok') ORDER BY s.id").fetchall()
    return [(search, problem, {name: str(value).lower() for name, value in json.loads(params).items()})
            for search, problem, params in found]


def write_baselines(path, search, instance, rows):
    """Attaches the rows to the first evaluation of the search that passed."""
    with sqlite3.connect(path) as database:
        found = database.execute("SELECT s.definition_id, d.name FROM searches s JOIN definitions d "
                                 "ON d.id = s.definition_id WHERE s.id = ?", (search,)).fetchone()
        if found is None:
            sys.exit(f"{path} has no search {search}")
        if found[1] != instance.definition:
            sys.exit(f"search {search} is about {found[1]}, not {instance.definition}: give its params with --param")
        evaluation = database.execute("SELECT min(id) FROM evaluations WHERE search_id = ? AND status = 'ok'",
                                      (search,)).fetchone()[0]
        if evaluation is None:
            sys.exit(f"search {search} has no evaluation that passed")
        written = 0
        for row in rows:
            workload = database.execute("SELECT id FROM workloads WHERE definition_id = ? AND name = ?",
                                        (found[0], row["workload"])).fetchone()
            if workload is None or row["reason"]:
                continue
            for cold, samples in ((1, row["samples"]), (0, row["warm_samples"])):
                low, high = median_interval_95(samples)
                packed = struct.pack(f"<{len(samples)}I", *(min(round(s), 0xFFFFFFFF) for s in samples))
                database.execute(
                    "INSERT INTO measurements (uid, evaluation_id, workload_id, role, label, method, cold, samples, "
                    "launches_per_sample, truncated, median_ns, ci_low_ns, ci_high_ns, throttle_reasons) "
                    "VALUES (?, ?, ?, 'baseline', ?, 'event', ?, ?, 1, 0, ?, ?, ?, '')",
                    (os.urandom(16), evaluation, workload[0], row["label"], cold, packed, median(samples), low, high))
                written += 1
        return written


def show(rows, options):
    kept = ["workload", "label", "median_us", "warm_us", "tflops", "gbps", "reason"]
    plain = [{key: row.get(key) for key in kept} for row in rows]
    if options.json:
        print(json.dumps(plain, indent=2))
    elif options.csv:
        writer = csv.DictWriter(sys.stdout, kept)
        writer.writeheader()
        writer.writerows(plain)
    else:
        print(f"{'workload':<24} {'label':<22} {'median us':>10} {'warm us':>10} {'TFLOP/s':>8} {'GB/s':>7}")
        for row in plain:
            numbers = (f"{row['median_us']:10.2f} {row['warm_us']:10.2f} {row['tflops']:8.1f} {row['gbps']:7.0f}"
                       if not row["reason"] else row["reason"])
            print(f"{row['workload']:<24} {row['label']:<22} {numbers}")


def selftest(root):
    """What needs no GPU: expressions, statistics, and that every problem is read and has an expression here."""
    names = {"N": 12, "dtype": "float16", "VEC": 4}
    for text, expected in {"-7 // 2": -4, "-7 % 2": 1, "12 / 4": 3, "-2 ** 2": -4, "2 ** 3 ** 2": 512,
                           "1 <= VEC < 8": 1, "0 or 5": 5, "3 and 0": 0, "4 if dtype == 'float32' else 2": 2,
                           "VEC in [1, 2, 4]": 1, "dtype not in ('int8',)": 1, "ceil_div(N, 5)": 3,
                           "round_up(N, 8)": 16, "is_pow2(VEC) + ilog2(9)": 4, "not N": 0}.items():
        assert problem_folder.evaluate(text, names) == expected, text
    for text in ("7 / 2", "Q + 1", "__import__('os')", "(1).real", "[x for x in [1]]", "1.5"):
        try:
            problem_folder.evaluate(text, names)
        except ValueError:
            continue
        raise AssertionError(f"'{text}' was accepted")
    assert median([3, 1, 2]) == 2 and median([4, 1, 2, 3]) == 2.5
    assert median_interval_95(list(range(100))) == (40, 60)
    folders = problem_folder.template_folders(root)
    assert folders, f"no problems in {root}"
    for folder in folders:
        instance = problem_folder.load(folder)
        assert instance.name in EAGER, f"{folder}: add its PyTorch expression to EAGER"
        timed = [w for w in instance.workloads if "time" in w.roles]
        assert timed, f"{folder}: no timed workload"
        for workload in timed:
            read, flops = instance.amount("bytes_read", workload), instance.amount("flops", workload)
            assert (read > 0 or math.isnan(read)) and (flops >= 0 or math.isnan(flops))
            assert all(extent > 0 for t in instance.inputs for extent in instance.shape(t, workload))
        compile(instance.reference, str(folder), "exec")
    print(f"selftest passed: {len(folders)} problems")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algorithm", help="name of a template folder")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="a param of the problem")
    parser.add_argument("--workload", action="append", help="only this timed workload; may be repeated")
    parser.add_argument("--templates", default=problem_folder.default_root(), help="folder of the problem folders")
    parser.add_argument("--compile", action="store_true", help="time torch.compile too")
    parser.add_argument("--db", help="database to write the baselines to")
    parser.add_argument("--search", type=int, help="search in that database; all where no algorithm is given")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--csv", action="store_true")
    parser.add_argument("--selftest", action="store_true")
    options = parser.parse_args()
    if options.selftest:
        return selftest(options.templates)
    if options.algorithm:
        if (options.db is None) != (options.search is None):
            parser.error("with --algorithm, --db and --search go together")
        jobs = [(options.search, options.algorithm, dict(item.split("=", 1) for item in options.param))]
    elif options.db:
        jobs = searches_of(options.db)
    else:
        parser.error("--algorithm or --db is needed")
    import torch
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU")
    timed = {}  # by definition: two searches may ask the same
    for search, algorithm, params in jobs:
        try:
            instance = problem_folder.load(os.path.join(options.templates, algorithm), params)
        except (OSError, ValueError) as error:
            parser.error(str(error))
        if instance.definition not in timed:
            timed[instance.definition] = time_all(torch, instance, options)
            show(timed[instance.definition], options)
        if options.db:
            written = write_baselines(options.db, search, instance, timed[instance.definition])
            print(f"search {search}: wrote {written} baselines", file=sys.stderr)


if __name__ == "__main__":
    main()
