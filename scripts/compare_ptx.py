# SPDX-License-Identifier: Apache-2.0
"""Whether two versions of the shipped templates compile to the same machine code.

  python3 scripts/compare_ptx.py BEFORE AFTER [--points 4] [--arch sm_90a] [--only gemm/gemm_wgmma.cu] [--keep FOLDER]
  python3 scripts/compare_ptx.py --selftest

BEFORE and AFTER are commits, or "." for the working tree. Every template is compiled by nvcc at its default point and at
random ones, for some choices of parameters. PTX is compared without comments, line information and names of registers,
labels and variables; where it differs, the machine code that ptxas makes of it is. Prints a row a template, with the
medians of nvcc's times to PTX in ms. Exits with 1 where machine code differs.
"""
import argparse
import concurrent.futures
import itertools
import json
import pathlib
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from problem_folder import tried_values

ROOT = pathlib.Path(__file__).resolve().parent.parent
NVCC = "/usr/local/cuda/bin/nvcc"
# sm_90a: the most dynamic shared memory of a block (CUDA C++ Programming Guide, compute capabilities).
DEVICE = {"ARCH": 90, "SM_COUNT": 132, "SHARED_BYTES_PER_BLOCK": 232448, "L2_BYTES": 50 << 20}
CPP_TYPES = {"float32": "float", "float16": "__half", "bfloat16": "__nv_bfloat16", "int8": "signed char",
             "float8_e4m3fn": "__nv_fp8_e4m3", "float8_e5m2": "__nv_fp8_e5m2"}
FUNCTIONS = {"ceil_div": lambda a, b: -(-a // b), "round_up": lambda a, b: -(-a // b) * b,
             "is_pow2": lambda a: int(a > 0 and a & (a - 1) == 0), "ilog2": lambda a: a.bit_length() - 1}


def tree(version: str, scratch: pathlib.Path) -> pathlib.Path:
    """A folder that holds templates/ of that version."""
    if version == ".":
        return ROOT
    folder = scratch / version.replace("/", "_")
    folder.mkdir()
    archive = subprocess.run(["git", "archive", version, "templates"], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


def plan_of(text: str) -> dict:
    return json.loads(text[text.index("alphakernel") + len("alphakernel"):text.index("*/")])


def is_allowed(plan: dict, known: dict) -> bool:
    """Whether the constraints that can be decided hold."""
    for constraint in plan.get("constraints", []):
        try:
            if not eval(constraint, {"__builtins__": {"min": min, "max": max, "abs": abs}}, {**FUNCTIONS, **known}):
                return False
        except NameError:  # it asks for a size
            continue
    return True


def choices_of_params(problem: dict, draw: random.Random, count: int) -> list[dict]:
    """The default parameters, then each dtype, then random choices."""
    params = problem.get("params", {})
    values = {name: tried_values(one) for name, one in params.items()}
    default = {name: one["default"] for name, one in params.items()}
    chosen = [default] + [{**default, "dtype": dtype} for dtype in values.get("dtype", [])]
    chosen += [{name: draw.choice(list(some)) for name, some in values.items()} for _ in range(count)]
    return chosen


def constants(params: dict, point: dict) -> tuple[str, str]:
    """#define lines and declarations, as docs/candidate.md says."""
    macros, declarations = ["#define ALPHAKERNEL 1"], [f"#include <cuda_{name}.h>" for name in ("bf16", "fp16", "fp8")]
    for name, value in {**params, **point}.items():
        if isinstance(value, str):
            macros.append(f"#define AK_{name.upper()}_{value.upper()} 1")
            if name == "dtype":
                declarations.append(f"using scalar_t = {CPP_TYPES[value]};")
            continue
        macros.append(f"#define AK_{name.upper()} {int(value)}")
        declarations.append(f"constexpr int {name.upper()} = {int(value)};")
    if "head_dim" in params:
        declarations.append(f"constexpr int D = {params['head_dim']};")
    return "\n".join(macros), "\n".join(declarations)


def normal(ptx: str) -> str:
    """PTX without what does not reach the machine."""
    text = re.sub(r"//[^\n]*", "", ptx)
    text = re.sub(r"^\s*\.(loc|file|version|target|address_size|reg)\b[^\n]*", "", text, flags=re.M)
    kernels = set(re.findall(r"\.entry (\w+)", text))
    seen: dict[str, str] = {}

    def rename(match: re.Match) -> str:
        word = match.group(0)
        if word in kernels or any(word.startswith(f"{kernel}_param") for kernel in kernels):
            return word
        kind = re.sub(r"\d+$", "", word) if word[0] in "%$" else "name"
        return seen.setdefault(word, f"{kind}#{sum(1 for other in seen.values() if other.startswith(kind + '#'))}")

    text = re.sub(r"%(?:r|f|rd|rs|p|h|fd|rh|rx|b)\d+\b|\$L\w+|\bagain_\d+\b|\b_Z\w+", rename, text)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def machine_code(ptx: pathlib.Path, arch: str) -> dict[str, bytes]:
    """{section: bytes} of the kernels' instructions that ptxas makes."""
    cubin = ptx.with_suffix(".cubin")
    subprocess.run(["ptxas", f"-arch={arch}", str(ptx), "-o", str(cubin)], check=True, capture_output=True)
    elf = cubin.read_bytes()  # 64-bit ELF: e_shoff, then e_shentsize, e_shnum, e_shstrndx
    table, (size, count, names) = struct.unpack_from("<Q", elf, 40)[0], struct.unpack_from("<HHH", elf, 58)
    sections = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]
    text = {}
    for name, _, _, _, at, length in sections:
        begin = sections[names][4] + name
        label = elf[begin:elf.index(b"\0", begin)].decode()
        if label.startswith(".text."):
            text[label] = elf[at:at + length]
    return text


class Case:
    """One template with parameters and a point."""

    def __init__(self, name: str, params: dict, point: dict):
        self.name, self.params, self.point = name, params, point

    def compile(self, folder: pathlib.Path, out: pathlib.Path, arch: str) -> tuple[pathlib.Path, float]:
        out.mkdir(parents=True, exist_ok=True)
        macros, declarations = constants(self.params, self.point)
        unit, ptx = out / "unit.cu", out / "unit.ptx"
        unit.write_text(f"{macros}\n{declarations}\n#include \"{folder / 'templates' / self.name}\"\n")
        begin = time.monotonic()
        run = subprocess.run([NVCC, "-ptx", "-std=c++20", f"-arch={arch}", "-I", str(folder / "templates/include"),
                              str(unit), "-o", str(ptx)], capture_output=True, text=True)
        if run.returncode != 0:
            raise SystemExit(f"{self.name} {self.params} {self.point}:\n{run.stderr[:3000]}")
        return ptx, (time.monotonic() - begin) * 1000


def cases(folder: pathlib.Path, only: str, points: int) -> list[Case]:
    draw = random.Random(1)  # the same in every run
    found = []
    for template in sorted((folder / "templates").glob("*/*.cu")):
        name = f"{template.parent.name}/{template.name}"
        if template.name == "reference.cu" or only not in name:
            continue
        problem = json.loads((template.parent / "problem.json").read_text())
        plan = plan_of(template.read_text())
        tunables = plan.get("tunables", {})
        default = {key: one.get("default", one["values"][0]) for key, one in tunables.items()}
        space = [dict(zip(tunables, values)) for values in
                 itertools.islice(itertools.product(*(one["values"] for one in tunables.values())), 200000)]
        for number, params in enumerate(choices_of_params(problem, draw, points)):
            known = {**DEVICE, **params, "sizeof_x": {"float32": 4}.get(params.get("dtype"), 2), "D": params.get("head_dim")}
            allowed = [point for point in space if is_allowed(plan, {**known, **point})]
            if allowed:
                found.append(Case(name, params, default if default in allowed and number <= 4 else draw.choice(allowed)))
                found += [Case(name, params, draw.choice(allowed))] if number == 0 else []
    return found


def compared(case: Case, before: pathlib.Path, after: pathlib.Path, out: pathlib.Path, arch: str):
    (old, old_ms), (new, new_ms) = case.compile(before, out / "before", arch), case.compile(after, out / "after", arch)
    if normal(old.read_text()) == normal(new.read_text()):
        return case, "same PTX", old_ms, new_ms
    same = machine_code(old, arch) == machine_code(new, arch)
    return case, "same machine code" if same else "differs", old_ms, new_ms


def selftest() -> int:
    """Names, comments and lines do not count; an instruction does."""
    body = ".entry k()\n{\n.reg .b32 %r<9>;\n.loc 1 2 3\nadd.s32 %r1, %r2, 1; // one\nbra $L__BB0_1;\n}\n"
    other = ".entry k()\n{\n.reg .b32 %r<7>;\n.loc 2 9 9\nadd.s32 %r5, %r4, 1;\nbra $L__BB0_7;\n}\n"
    assert normal(body) == normal(other)
    assert normal(body) != normal(other.replace("%r4, 1", "%r4, 2"))
    assert normal(body) != normal(other.replace("%r5, %r4", "%r4, %r4"))
    assert is_allowed({"constraints": ["N % 2 == 0", "M // 4 >= 1"]}, {"M": 4})
    assert not is_allowed({"constraints": ["M // 4 >= 2"]}, {"M": 4})
    return 0


def main() -> int:
    if sys.argv[1:] == ["--selftest"]:
        return selftest()
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("before")
    options.add_argument("after")
    options.add_argument("--points", type=int, default=4)
    options.add_argument("--arch", default="sm_90a")
    options.add_argument("--only", default="")
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--keep", type=pathlib.Path, help="folder for the PTX")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        before, after = tree(given.before, folder), tree(given.after, folder)
        out = given.keep or folder / "out"
        all_cases = cases(after, given.only, given.points)
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            results = list(pool.map(lambda pair: compared(pair[1], before, after, out / str(pair[0]), given.arch),
                                    enumerate(all_cases)))
    print("| template | points | same PTX | same machine code | differs | ms before | ms after |\n|---|---|---|---|---|---|---|")
    for name, group in itertools.groupby(results, lambda result: result[0].name):
        rows = list(group)
        counts = [sum(1 for row in rows if row[1] == kind) for kind in ("same PTX", "same machine code", "differs")]
        times = [statistics.median(row[column] for row in rows) for column in (2, 3)]
        print(f"| {name} | {len(rows)} | {counts[0]} | {counts[1]} | {counts[2]} | {times[0]:.0f} | {times[1]:.0f} |")
    different = [(number, row) for number, row in enumerate(results) if row[1] == "differs"]
    for number, row in different:
        print(f"differs (case {number}): {row[0].name} {row[0].params} {row[0].point}", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
