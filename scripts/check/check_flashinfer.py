#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has FlashInfer-Bench's own evaluator judge exported solutions, and writes its verdict beside ours as CSV.

    python3 scripts/check/check_flashinfer.py flashinfer-bench/ flashinfer/ --output judged.csv

The folders are checkouts of the evaluator and of the library whose timer it uses. `evaluate` of each kernel, and of the
starting kernels of --tasks, a folder of KernelBench tasks; one `exchange export` of all; the evaluator's build of each
solution and its verdict on a timed shape; the same for results that are off by a tenth of their size; and, of
tasks, `baselines` in turns with the file for our speed-up.
`alphakernel` is on the PATH; needs a GPU, nvcc and PyTorch 2.8. Packages that only their files name (pydantic,
docstring_parser, flashinfer's compiled parts) may be missing.
Times: ours_us of a cold L2 in our search; theirs_us, reference_us and speedup by the evaluator, with a cold L2, too.
The exit status is 1 where a verdict differs from ours.
"""
import argparse
import concurrent.futures
import csv
import glob
import importlib
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import types
import typing

COLUMNS = ("definition", "workload", "ours", "theirs", "wrong_result_refused", "ours_us", "theirs_us", "reference_us",
           "speedup", "our_speedup", "our_interval", "note")
KERNELS = ("softmax/softmax_registers.cu --dtype bf16", "softmax/softmax_online.cu --dtype fp32",
           "layernorm/layernorm_registers.cu --dtype bf16", "rmsnorm/rmsnorm_registers.cu --dtype fp16",
           "reduce_sum/reduce_sum_single_pass.cu --dtype fp32", "vector_add/vector_add.cu --dtype fp32",
           "transpose/transpose_tiles.cu --dtype fp16", "activation/activation.cu --dtype bf16 --function relu",
           "activation/activation.cu --dtype fp32 --function silu", "gemm/gemm_wgmma.cu --dtype bf16",
           "gemm/gemm_wgmma.cu --dtype fp16 --b_layout column", "flash_attention/attention_wgmma.cu --dtype bf16 --causal")
LIMIT_S = 400  # nvcc takes most of it
NOTE_LETTERS = 300  # of a row: what a person reads in a table
WRONG = 1.1
EVALUATIONS = 4  # at once
SHAPES = 1  # of a definition: a shape in turns takes half a minute


# ---- what stands in for packages that are not installed

class FieldInfo:
    def __init__(self, default=..., default_factory=None):
        self.default, self.default_factory = default, default_factory


def converted(hint, value):
    """`value`, parsed JSON, as what an annotation asks for."""
    arms = typing.get_args(hint)
    if typing.get_origin(hint) is typing.Union:
        if value is None:
            return None
        models = [arm for arm in arms if isinstance(arm, type) and issubclass(arm, BaseModel)]
        if isinstance(value, dict) and models:
            hint = next((arm for arm in models if vars(arm).get("type") == value.get("type")), models[0])
        else:
            return converted(next(arm for arm in arms if arm is not type(None)), value)
    if typing.get_origin(hint) is list:
        return [converted(arms[0], one) for one in value]
    if typing.get_origin(hint) is dict:
        return {key: converted(arms[1], one) for key, one in value.items()}
    if isinstance(hint, type) and isinstance(value, dict) and issubclass(hint, BaseModel):
        return hint(**value)
    return hint(value) if isinstance(hint, type) and hasattr(hint, "__members__") else value


class BaseModel:
    """What the evaluator takes of pydantic's: fields by keyword, nested models, defaults, validators of the whole."""

    def __init__(self, **given):
        for name, hint in typing.get_type_hints(type(self)).items():
            if name.startswith("_") or name == "model_config" or typing.get_origin(hint) is typing.ClassVar:
                continue
            default = getattr(type(self), name, ...)
            if name in given:
                value = converted(hint, given[name])
            elif isinstance(default, FieldInfo):
                value = default.default_factory() if default.default_factory else default.default
            else:
                value = default
            if value is ...:
                raise ValueError(f"{type(self).__name__} has no {name}")
            object.__setattr__(self, name, value)
        for one in vars(type(self)).values():
            if getattr(one, "validates", False):
                one(self)
        if hasattr(self, "model_post_init"):
            self.model_post_init(None)


def model_validator(mode):
    def marked(function):
        function.validates = mode == "after"
        return function
    return marked


def stand_in(name, **members):
    """A module of that name where none is installed."""
    try:
        importlib.import_module(name)
    except ImportError:
        module = types.ModuleType(name)
        vars(module).update(members)
        sys.modules[name] = module


def prepare_imports(bench, flashinfer):
    stand_in("pydantic", BaseModel=BaseModel, ConfigDict=dict, model_validator=model_validator,
             Field=lambda default=..., default_factory=None, **_: FieldInfo(default, default_factory),
             field_validator=lambda *_, **__: lambda function: function, PrivateAttr=lambda *_, **__: None)
    stand_in("docstring_parser")
    stand_in("flashinfer")
    stand_in("flashinfer.utils", round_up=lambda value, step: math.ceil(value / step) * step)
    # Their timer's own file: the package around it compiles kernels when it is imported.
    spec = importlib.util.spec_from_file_location("flashinfer.testing", flashinfer / "flashinfer/testing/utils.py")
    sys.modules["flashinfer.testing"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["flashinfer.testing"])
    sys.path.insert(0, str(bench))


# ---- the evaluator, in processes of its own

def solutions_of(folder):
    for file in sorted(glob.glob(f"{folder}/solutions/*/*/*/*.json")):
        yield json.loads(pathlib.Path(file).read_text())


def fastest_traces(folder, definition):
    """Of every timed shape the fastest solution that passed: workload -> trace."""
    found = {}
    for file in glob.glob(f"{folder}/traces/*/*/{definition}.jsonl"):
        for trace in map(json.loads, pathlib.Path(file).read_text().splitlines()):
            performance = trace["evaluation"]["performance"]
            key = trace["workload"]["uuid"]
            if performance and (key not in found or performance["latency_ms"]
                                < found[key]["evaluation"]["performance"]["latency_ms"]):
                found[key] = trace
    return found


def definition_of(folder, name):
    from flashinfer_bench.data import Definition
    [file] = glob.glob(f"{folder}/definitions/*/{name}.json")
    return Definition(**json.loads(pathlib.Path(file).read_text()))


def build_one(arguments):
    """What the evaluator builds it keeps; several processes build at once."""
    from flashinfer_bench.compile import BuilderRegistry
    from flashinfer_bench.data import Solution
    [solution] = [one for one in solutions_of(arguments.judge) if one["name"] == arguments.build]
    BuilderRegistry.get_instance().build(definition_of(arguments.judge, solution["definition"]), Solution(**solution))


def judge(arguments):
    from flashinfer_bench.bench.config import BenchmarkConfig
    from flashinfer_bench.bench.evaluators import resolve_evaluator
    from flashinfer_bench.compile import BuilderRegistry, Runnable
    from flashinfer_bench.data import Solution, Workload
    registry, device = BuilderRegistry.get_instance(), "cuda:0"
    solutions = {one["name"]: one for one in solutions_of(arguments.judge)}
    for file in sorted(glob.glob(f"{arguments.judge}/definitions/*/*.json")):
        definition = definition_of(arguments.judge, pathlib.Path(file).stem)
        evaluator, config = resolve_evaluator(definition), BenchmarkConfig().resolve_eval_config(definition)
        for trace in list(fastest_traces(arguments.judge, definition.name).values())[:SHAPES]:
            row = {"definition": definition.name, "workload": trace["workload"]["uuid"], "axes": trace["workload"]["axes"],
                   "solution": trace["solution"], "ours_us": trace["evaluation"]["performance"]["latency_ms"] * 1e3}
            try:
                baseline = evaluator.build_baseline(definition, Workload(**trace["workload"]), config, device)
                runnable = registry.build(definition, Solution(**solutions[trace["solution"]]))

                def evaluated(one):
                    return evaluator.evaluate(definition=definition, sol_runnable=one, inputs=baseline.inputs,
                                              ref_outputs=baseline.outputs, ref_mean_latency_ms=baseline.mean_latency_ms,
                                              cfg=config, log_path="", device=device)

                def wrong(*args):
                    results = runnable(*args)
                    written = args[-len(definition.outputs):] if runnable.metadata.destination_passing_style else results
                    for output in written if isinstance(written, (list, tuple)) else [written]:
                        output.mul_(WRONG)
                    return results

                found, refused = evaluated(runnable), evaluated(Runnable(wrong, runnable.metadata))
                row |= {"theirs": found.status.value, "wrong_refused": refused.status.value != "PASSED"}
                if found.performance is not None:
                    row |= {"theirs_us": found.performance.latency_ms * 1e3, "speedup": found.performance.speedup_factor,
                            "reference_us": found.performance.reference_latency_ms * 1e3}
            except Exception as error:  # one solution's must not end those of the others
                row |= {"theirs": "none", "note": f"{type(error).__name__}: {error}"[-NOTE_LETTERS:]}
            print("JUDGED " + json.dumps(row), flush=True)


# ---- our side

def run(*command, limit=LIMIT_S):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace",
                          timeout=limit, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} {command[1]} ended with {done.returncode}: "
                           f"{(done.stderr or done.stdout)[-NOTE_LETTERS:]}")
    return done.stdout


def evaluate(arguments, words):
    """False, with the reason on standard error, where the kernel does not pass."""
    try:
        run("alphakernel", "evaluate", *words, "--unaudited", "--db", arguments.database)
        return True
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"{words[0]}: {error}", file=sys.stderr)
        return False


def evaluate_all(arguments):
    """Several at once: they take turns on the GPU while others compile."""
    kernels = [line.split() for line in filter(None, arguments.kernels.split(","))]
    commands = [[f"templates/{kernel}", "--algorithm", kernel.split("/")[0], *flags] for kernel, *flags in kernels]
    if arguments.tasks:
        run("alphakernel", "exchange", "import", arguments.tasks, "--problems", arguments.work / "problems")
        commands += [[folder / "start.cu", "--problem", folder]
                     for folder in sorted((arguments.work / "problems").iterdir())]
    with concurrent.futures.ThreadPoolExecutor(EVALUATIONS) as pool:
        list(pool.map(lambda words: evaluate(arguments, words), commands))


def our_turns(arguments, verdicts):
    """Of problems made of tasks our ratio of the file's time over the kernel's, in turns: definition -> (ratio, interval).

    A shipped problem's reference is written for exactness, in float64: its time says nothing of the library."""
    found = {}
    for folder in sorted((arguments.work / "problems").glob("*/")):
        name = json.loads((folder / "problem.json").read_text())["definition"]["name"]
        if name not in {one["definition"] for one in verdicts}:
            continue
        try:
            answer = json.loads(run("alphakernel", "baselines", folder / "start.cu", "--problem", folder, "--workload", "given",
                                    "--baselines", "eager", "--no-libraries", "--rounds", arguments.rounds,
                                    "--unaudited", "--json"))
            turn = next(one for one in answer["turns"] if one["times"] == "device")
            found[name] = turn["speedup"], f"{turn['low']} to {turn['high']}"
        except (RuntimeError, subprocess.TimeoutExpired, StopIteration, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
    return found


def row_of(verdict, turns):
    shape = ",".join(f"{axis}={size}" for axis, size in verdict["axes"].items())
    ratio, interval = turns.get(verdict["definition"], ("", ""))
    rounded = {key: round(verdict[key], 3) for key in ("ours_us", "theirs_us", "reference_us", "speedup") if key in verdict}
    return {"definition": verdict["definition"], "workload": shape, "ours": "right",
            "theirs": {"PASSED": "right", "none": "none"}.get(verdict["theirs"], verdict["theirs"]),
            "wrong_result_refused": int(verdict["wrong_refused"]) if "wrong_refused" in verdict else "",
            "our_speedup": ratio, "our_interval": interval, "note": verdict.get("note", ""), **rounded}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=pathlib.Path)
    parser.add_argument("flashinfer", type=pathlib.Path)
    parser.add_argument("--kernels", default=",".join(KERNELS), help="ALGORITHM/FILE and its params, with commas between")
    parser.add_argument("--tasks", type=pathlib.Path, help="a folder of KernelBench tasks, of which problems are made")
    parser.add_argument("--jobs", type=int, default=8, help="solutions that nvcc compiles at once")
    parser.add_argument("--rounds", default="8", help="of each ratio in turns")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("judged.csv"))
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("flashinfer_check"))
    parser.add_argument("--judge", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--build", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.judge:
        prepare_imports(arguments.bench, arguments.flashinfer)
        (build_one if arguments.build else judge)(arguments)
        return 0

    arguments.work.mkdir(parents=True, exist_ok=True)
    arguments.database = arguments.work / "judged.db"
    evaluate_all(arguments)
    problems = ["--problems", arguments.work / "problems"] if arguments.tasks else []
    run("alphakernel", "exchange", "export", arguments.work / "dataset", "--db", arguments.database, *problems)
    run("alphakernel", "exchange", "check", arguments.work / "dataset")
    environment = {"FIB_CACHE_PATH": str(arguments.work / "cache"), "TORCH_CUDA_ARCH_LIST": "9.0a"}
    os.environ.update({key: value for key, value in environment.items() if key not in os.environ})
    judging = [sys.executable, __file__, arguments.bench, arguments.flashinfer, "--judge", arguments.work / "dataset"]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for one in [pool.submit(run, *judging, "--build", solution["name"])
                    for solution in solutions_of(arguments.work / "dataset")]:
            if one.exception() is not None:
                print(one.exception(), file=sys.stderr)
    lines = run(*judging, limit=3 * LIMIT_S).splitlines()
    verdicts = [json.loads(line.removeprefix("JUDGED ")) for line in lines if line.startswith("JUDGED ")]
    turns = our_turns(arguments, verdicts)
    rows = [row_of(verdict, turns) for verdict in verdicts]
    with arguments.output.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    alike = sum(row["theirs"] == row["ours"] for row in rows)
    print(f"{alike} of {len(rows)} judged alike")
    return 0 if rows and alike == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
