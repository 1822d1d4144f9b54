#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares every problem's Python reference with its reference.cu on the same inputs (needs PyTorch).

  python3 scripts/check/check_python_references.py --program build/release/bin/alphakernel [--device cuda] [--algorithm NAME ...]

alphakernel problem dump writes the inputs and what the exact reference gives for them, by default on the CPU emulator;
the Python reference runs in fp64 on a GPU where PyTorch has one. It rounds its result to the declared type, so the two
may differ by one rounding of that type (docs/checking.md); integers must be equal. Exits 1 on any mismatch.
"""
import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import problem_folder  # noqa: E402

ROUNDOFF = {"float64": 2.0 ** -53, "float32": 2.0 ** -24, "float16": 2.0 ** -11, "bfloat16": 2.0 ** -8,
            "float8_e4m3fn": 2.0 ** -4, "float8_e5m2": 2.0 ** -3}
# Sums in fp64 in another order, and special functions of another library: far below any declared type's roundoff.
WIDE_ERROR = 1e-9
MAX_COMBINATIONS = 64  # of params, a problem


def exists(problem, given):
    """Whether the problem has this combination of params."""
    params = problem_folder.choose_params(problem, given)
    return all(problem_folder.evaluate(text, params) for text in problem.get("param_constraints", []))


def param_sets(problem):
    """Every combination of params where that is few; else each value of each param by itself, or with one other value
    where the problem has it only so."""
    values = {name: problem_folder.tried_values(spec) for name, spec in problem.get("params", {}).items()}
    total = 1
    for choices in values.values():
        total *= len(choices)
    if total <= MAX_COMBINATIONS:
        found = [dict(zip(values, chosen)) for chosen in itertools.product(*values.values())]
        return [given for given in found if exists(problem, given)]
    singles = [{name: value} for name, choices in values.items() for value in choices]
    found = [{}]
    for one in singles:
        found += [both for both in ({**other, **one} for other in [one] + singles) if exists(problem, both)][:1]
    return found


def dump(options, folder, params, output):
    flags = [f"--{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in params.items()]
    command = [options.program, "problem", "dump", "--problem", str(folder), "--output", str(output), "--device",
               options.device, *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads((output / "index.json").read_text())


PACKED = ("int4x2", "uint4x2")  # bytes in PyTorch


def read(torch, folder, entry, device):
    if entry["shape"] is None:  # a scalar by value
        return bool(entry["value"]) if entry["dtype"] == "bool" else entry["value"]
    data = bytearray((folder / entry["file"]).read_bytes())
    return torch.frombuffer(data, dtype=torch_type(torch, entry["dtype"])).reshape(entry["shape"]).to(device)


def torch_type(torch, dtype):
    return torch.uint8 if dtype in PACKED else getattr(torch, dtype)


def worst_error(torch, got, expected, entry):
    """Largest difference as a share of what is allowed; infinity where NaN or infinities differ."""
    declared = torch_type(torch, entry["declared_dtype"])
    if not declared.is_floating_point:
        return 0.0 if torch.equal(got.long(), expected.long()) else float("inf")
    roundoff = ROUNDOFF[entry["declared_dtype"]]
    # What overflows the declared type does so on both sides. Compared as doubles: fp8 has no operators.
    got, rounded = got.double(), expected.to(declared).double()
    finite = rounded.isfinite()
    same = (got == rounded) | (got.isnan() & rounded.isnan())
    if not bool((same | finite).all()) or not bool(got.isfinite()[finite].all()):
        return float("inf")
    rms = expected[finite].pow(2).mean().sqrt() if bool(finite.any()) else torch.zeros(())
    smallest = torch.finfo(declared).tiny * roundoff  # results below the normal range round to its spacing
    allowed = 2 * roundoff * expected.abs() + WIDE_ERROR * (expected.abs() + rms) + 2 * smallest
    share = (got - expected).abs() / allowed
    return share[finite].max().item() if bool(finite.any()) else 0.0


def check(torch, options, folder, params):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    instance = problem_folder.load(folder, params)
    worst, count = 0.0, 0
    with tempfile.TemporaryDirectory() as name:
        output = pathlib.Path(name)
        for data in dump(options, folder, params, output)["data_sets"]:
            inputs = {entry["name"]: read(torch, output, entry, device) for entry in data["inputs"]}
            results = problem_folder.call_reference(instance, inputs)
            for entry, got in zip(data["outputs"], results, strict=True):
                expected = read(torch, output, entry, device)
                if list(got.shape) != entry["shape"]:
                    sys.exit(f"{instance.definition}: {entry['name']} has shape {list(got.shape)}, "
                             f"not {entry['shape']}")
                error = worst_error(torch, got, expected, entry)
                if not error <= 1:
                    print(f"  {data['workload']} {data['distribution']} {entry['name']}: "
                          f"{error:.3g} of what is allowed")
                worst, count = max(worst, error), count + 1
    return instance.definition, count, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/alphakernel")
    parser.add_argument("--templates", default=problem_folder.default_root())
    parser.add_argument("--algorithm", action="append", help="only this one; may be repeated")
    parser.add_argument("--device", default="emulator", help="where reference.cu runs: emulator or cuda")
    options = parser.parse_args()
    import torch
    failed = 0
    print(f"{'definition':<44} {'tensors':>7} {'worst error, share of allowed':>30}")
    for folder in problem_folder.template_folders(options.templates):
        if options.algorithm and folder.name not in options.algorithm:
            continue
        for params in param_sets(json.loads((folder / "problem.json").read_text())):
            definition, count, worst = check(torch, options, folder, params)
            passed = worst <= 1
            failed += not passed
            print(f"{definition:<44} {count:>7} {worst:>30.3g} {'' if passed else 'MISMATCH'}", flush=True)
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
