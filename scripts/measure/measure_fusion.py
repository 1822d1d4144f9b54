#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what it is worth to fuse: each fused kernel in turns with the best separate ones, one after the other.

    python3 scripts/measure/measure_fusion.py OUTPUT_FOLDER [-- FLAGS of `experiment run`]              # on a GPU
    python3 scripts/measure/measure_fusion.py OUTPUT_FOLDER --manifest small.json --device emulator     # costs, without one

Runs the experiment (default: experiments/fusion.json), unless OUTPUT_FOLDER has its report. For every pair of the
pairs file (default: experiments/fusion/pairs.json) the separate champions then become one candidate of the fused problem,
a launch after the other with memory between them, which passes all gates and is timed in turns with the fused
champion. Writes OUTPUT_FOLDER/chains/PAIR.cu and OUTPUT_FOLDER/fusion.csv:

    pair, shape       what was fused, at which sizes
    fused_us          of the fused champion (a cost on the CPU device, as separate_us)
    separate_us       of the chain; of the champions alone, added up, where the chain fails
    ratio             separate over fused
    basis             of the ratio: pairs (in turns), estimated costs, or sums
    bandwidth_us      the fewest bytes of the fused problem over the device's bandwidth: no kernel is faster
    of_bandwidth      its share of fused_us
    pytorch eager, pytorch compile    their times over the fused champion's, in turns
    reason            why the chain has no time, or PyTorch none

A pair names the run of the fused kernel, its parts in order, and what lies between them. A part is a run, whose
champion it is, or a kernel file beside the pairs file at the defaults of its tunables; `tensors` says what its tensors
are in the fused problem, `axes` the sizes of a file's axes over those of the fused problem.
Exit code 1 where a pair has no ratio.
"""
import argparse
import csv
import json
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TEMPLATES = SOURCE / "templates"
COLUMNS = ("pair", "shape", "fused_us", "separate_us", "ratio", "basis", "bandwidth_us", "of_bandwidth", "pytorch eager",
           "pytorch compile", "reason")
SHORT = {"float32": "float", "float16": "__half", "bfloat16": "__nv_bfloat16"}
WORD = re.compile(r"'[^']*'|\"[^\"]*\"|[A-Za-z_]\w*")


def ask(program, *arguments, may_fail=False):
    """What a command prints. Its exit code may say that a candidate failed where `may_fail`."""
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    if result.returncode != 0 and not (may_fail and result.stdout):
        raise RuntimeError((result.stderr or result.stdout).strip().splitlines()[-1])
    return result.stdout


def renamed(expression, names):
    """An expression of a launch plan with names replaced; what is quoted is left alone."""
    if not isinstance(expression, str):
        return expression
    return WORD.sub(lambda word: names.get(word[0], word[0]), expression)


def without_comments(source):
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.S)


class Part:
    """A kernel of its own in a chain: its source in a namespace, its plan with its names made the chain's."""

    def __init__(self, number, source, params, sizes, fixed, tunables, tensors):
        self.space, self.tensors = "part_%d" % number, tensors
        comment, self.code = source.split("*/", 1)
        self.plan = json.loads(comment.split("alphakernel", 1)[1])
        for name, tunable in self.plan.get("tunables", {}).items():
            tunables.setdefault(name, tunable.get("default", tunable["values"][0]))
        self.constants = {**{name.upper(): value for name, value in params.items() if not isinstance(value, str)},
                          **fixed, **tunables}
        self.params, self.own = params, {}
        for list_name in ("workspace", "tensor_maps"):
            for entry in self.plan.get(list_name, []):
                self.own[entry["name"]] = "%s_%s" % (self.space, entry["name"])
        self.names = {**{name: repr(value) if isinstance(value, str) else str(int(value))
                         for name, value in {**params, **sizes, **tunables}.items()},
                      **{name: "%s_%s" % (self.space, name) for name in self.plan.get("let", {})}}

    def text(self, expression):
        return renamed(expression, self.names)

    def pointer(self, name):
        return self.own.get(name) or self.tensors.get(name, name)

    def argument(self, argument):
        if isinstance(argument, str):
            return self.pointer(argument)
        kind, value = next(iter(argument.items()))
        return {kind: self.pointer(value) if kind == "optional" else self.text(value)}

    def kernel(self, name):
        base, _, arguments = name.partition("<")
        code = without_comments(self.code)

        def qualified(word):
            if word[0] in self.constants:
                return "(%d)" % self.constants[word[0]]
            declared = re.search(r"\b(struct|class|enum|using)\s+%s\b|\b%s\s*=[^=]" % (word[0], word[0]), code)
            return "%s::%s" % (self.space, word[0]) if declared or word[0] == "scalar_t" else word[0]

        return "%s::%s%s" % (self.space, base, "<" + WORD.sub(qualified, arguments) if arguments else "")

    def launch(self, launch):
        entry = dict(launch, kernel=self.kernel(launch["kernel"]), args=list(map(self.argument, launch["args"])))
        for key in ("grid", "block", "cluster"):
            if key in launch:
                entry[key] = list(map(self.text, launch[key]))
        for key in ("shared_bytes", "when"):
            if key in launch:
                entry[key] = self.text(launch[key])
        if "for" in launch:
            entry["for"] = launch["for"][:1] + list(map(self.text, launch["for"][1:]))
        return entry

    def add_to(self, plan):
        plan["constraints"] += map(self.text, self.plan.get("constraints", []))
        for name, expression in self.plan.get("let", {}).items():
            plan["let"][self.names[name]] = self.text(expression)
        for space in self.plan.get("workspace", []):
            plan["workspace"].append(dict(space, name=self.own[space["name"]], count=self.text(space["count"]),
                                          dtype=self.params.get(space.get("dtype"), space.get("dtype", "float32"))))
        for tensor_map in self.plan.get("tensor_maps", []):
            entry = dict(tensor_map, name=self.own[tensor_map["name"]], tensor=self.pointer(tensor_map["tensor"]))
            entry["dtype"] = self.params.get(tensor_map["dtype"], tensor_map["dtype"])
            for key in ("dims", "strides_bytes", "box", "element_strides"):
                if key in entry:
                    entry[key] = list(map(self.text, entry[key]))
            plan["tensor_maps"].append(entry)
        plan["prepare"] += map(self.launch, self.plan.get("prepare", []))
        plan["launches"] += map(self.launch, self.plan["launches"])

    def source(self, undefined):
        """(includes, text)"""
        includes = re.findall(r"^[ \t]*#[ \t]*include[^\n]*\n", self.code, flags=re.M)
        code = re.sub(r"^[ \t]*#[ \t]*include[^\n]*\n", "", self.code, flags=re.M)
        macros = {"AK_" + name: int(value) for name, value in self.constants.items()}
        macros.update({"AK_%s_%s" % (name.upper(), value.upper()): 1 for name, value in self.params.items()
                       if isinstance(value, str)})
        macros.update({"AK_" + name.upper(): int(value) for name, value in self.params.items()
                       if not isinstance(value, str)})
        own = set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", code, flags=re.M))
        lines = ["#undef %s\n" % name for name in sorted(undefined)]
        lines += ["#define %s %d\n" % macro for macro in macros.items()]
        lines.append("namespace %s {\n" % self.space)
        lines += ["constexpr long long %s = %d;\n" % (name, value) if abs(int(value)) >= 2**31 else
                  "constexpr int %s = %d;\n" % (name, value) for name, value in self.constants.items()]
        if self.params.get("dtype") in SHORT:
            lines.append("using scalar_t = %s;\n" % SHORT[self.params["dtype"]])
        lines += [code.strip(), "\n}  // namespace %s\n" % self.space]
        lines += ["#undef %s\n" % name for name in sorted(own | set(macros))]
        return includes, "".join(lines)


def macros_of(problem):
    """Macros that the harness may define for a problem."""
    names = set()
    for name, param in problem["params"].items():
        names.add("AK_" + name.upper())
        names.update("AK_%s_%s" % (name.upper(), str(choice).upper()) for choice in param.get("choices", []))
    return names


def value_of(expression, names):
    """Of an expression of a problem (docs/candidate.md), which is one of Python."""
    helpers = {"ceil_div": lambda a, b: -(-a // b), "round_up": lambda a, b: -(-a // b) * b, "min": min, "max": max}
    return eval(str(expression), {"__builtins__": {}, **helpers}, names)


def params_of(problem, given):
    return {name: given.get(name, param["default"]) for name, param in problem["params"].items()}


def chain(problem, params, parts, between):
    """The parts as one candidate of the problem."""
    plan = {"problem": problem["name"], "params": params, "constraints": [], "let": {}, "workspace": [],
            "tensor_maps": [], "prepare": [], "launches": []}
    for name, buffer in between.items():
        plan["workspace"].append({"name": name, **buffer})
    includes, texts = [], []
    for part in parts:
        part.add_to(plan)
        own_includes, text = part.source(macros_of(problem))
        includes += [line for line in own_includes if line not in includes]
        texts.append(text)
    options = {tuple(part.plan.get("options", [])) for part in parts}
    if len(options) > 1:
        raise RuntimeError("the parts are compiled with different options")
    plan["options"] = list(options.pop())
    plan = {key: value for key, value in plan.items() if value}
    return "/* alphakernel\n%s\n*/\n// SPDX-License-Identifier: Apache-2.0\n%s%s" % (
        json.dumps(plan, indent=1), "".join(includes), "\n".join(texts))


class Measurement:
    """Pairs of kernels in the result folder of an experiment."""

    def __init__(self, options):
        self.options, self.folder = options, options.output
        self.runs = {run.get("name", run["algorithm"]): run for run in json.loads(options.manifest.read_text())["runs"]}
        self.database = options.output / "experiment.db"
        self.report = json.loads((options.output / "report.json").read_text())

    def problem(self, run):
        return json.loads((TEMPLATES / self.runs[run]["algorithm"] / "problem.json").read_text())

    def best(self, run):
        """Template and tunables of a run's champion."""
        searches = {each["run"]: each["search"] for each in self.report["runs"]}
        for result in self.report["results"]:
            if result["search"] == searches.get(run):
                return result
        raise RuntimeError("the run %s has no kernel" % run)

    def sizes(self, run, params):
        """Of all axes."""
        sizes = dict(self.runs[run]["shape"])
        for name, axis in self.problem(run)["definition"]["axes"].items():
            if axis["type"] != "var":
                sizes[name] = value_of(axis["value"], {**params, **sizes})
        return sizes

    def part(self, number, part, fused, params):
        if "file" in part:
            sizes = {name: value_of(text, self.sizes(fused, params)) for name, text in part["axes"].items()}
            source = (self.options.pairs.parent / part["file"]).read_text()
            return Part(number, source, {"dtype": params["dtype"]}, sizes, {}, {}, part["tensors"])
        run, problem, best = self.runs[part["run"]], self.problem(part["run"]), self.best(part["run"])
        own = params_of(problem, run.get("params", {}))
        source = (TEMPLATES / best["template"]).read_text()
        sizes = self.sizes(part["run"], own)
        fixed = {name: sizes[name] for name, axis in problem["definition"]["axes"].items() if axis["type"] == "const"}
        return Part(number, source, own, sizes, fixed, dict(best["tunables"]), part["tensors"])

    def compose(self, pair):
        fused = pair["fused"]
        problem = self.problem(fused)
        params = params_of(problem, self.runs[fused].get("params", {}))
        parts = [self.part(i + 1, part, fused, params) for i, part in enumerate(pair["parts"])]
        file = self.folder / "chains" / (pair["name"] + ".cu")
        file.parent.mkdir(exist_ok=True)
        file.write_text(chain(problem, params, parts, pair.get("between", {})))
        return file

    def flags(self, run):
        flags = ["--algorithm", self.runs[run]["algorithm"]]
        for name, value in self.runs[run].get("params", {}).items():
            flags += ["--" + name.replace("_", "-"), str(value).lower() if isinstance(value, bool) else value]
        return flags + ["--shape", ",".join("%s=%d" % size for size in self.runs[run]["shape"].items())]

    def pytorch(self, run):
        """Times of PyTorch over that of the run's champion, in turns, where the experiment's machine has it."""
        if self.options.device == "emulator":
            return {}
        answer = json.loads(ask(self.options.program, "baselines", self.kernel(run), *self.flags(run), "--baselines",
                                "eager,compile", "--db", self.database, "--json"))
        return {turn["baseline"]: "%.3f" % turn["speedup"] for turn in answer["turns"] if turn["times"] == "device"}

    def kernel(self, run):
        return self.folder / "kernels" / (run + ".cu")

    def time_us(self, run):
        best = self.best(run)
        return 1e3 * best["latency_ms"] if best["latency_ms"] else best["emulated_cost_us"]

    def in_turns(self, pair):
        fused, chained = self.kernel(pair["fused"]), self.compose(pair)
        record = json.loads(ask(self.options.program, "compare", fused, chained, *self.flags(pair["fused"]), "--device",
                                self.options.device, "--db", self.database, "--json"))["record"]
        if record["ratio"] is None:  # what the chain did wrong
            answer = json.loads(ask(self.options.program, "evaluate", chained, *self.flags(pair["fused"]), "--device",
                                    self.options.device, "--db", self.database, "--json", may_fail=True))
            if answer["record"]["status"] == "ok":
                raise RuntimeError("the chain is right on some inputs and wrong on others")
            raise RuntimeError("%(status)s: %(message)s" % answer["record"])
        times = record["times"][0]
        return {"fused_us": "%.2f" % (times["first"]["median_ns"] / 1e3),
                "separate_us": "%.2f" % (times["second"]["median_ns"] / 1e3),
                "ratio": "%.3f" % record["ratio"], "basis": record["basis"]}

    def in_sums(self, pair):
        """Of champions alone: nothing where a part is none."""
        if any("file" in part for part in pair["parts"]):
            return {}
        fused, separate = self.time_us(pair["fused"]), sum(self.time_us(part["run"]) for part in pair["parts"])
        return {"fused_us": "%.2f" % fused, "separate_us": "%.2f" % separate, "ratio": "%.3f" % (separate / fused),
                "basis": "sums"}

    def row(self, pair):
        row, reasons = dict.fromkeys(COLUMNS, ""), []
        row.update(pair=pair["name"], shape=self.flags(pair["fused"])[-1])
        for step in (self.in_turns, self.in_sums):
            try:
                row.update(step(pair))
                break
            except RuntimeError as error:
                reasons.append(str(error))
        try:
            share = self.best(pair["fused"])["pct_of_peak"]
            if share:
                row.update(of_bandwidth="%.3f" % (share / 100),
                           bandwidth_us="%.2f" % (share / 100 * self.time_us(pair["fused"])))
            row.update(self.pytorch(pair["fused"]))
        except RuntimeError as error:
            reasons.append(str(error))
        row["reason"] = "; ".join(reasons)
        return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--manifest", type=pathlib.Path, default=SOURCE / "experiments/fusion.json")
    parser.add_argument("--pairs", type=pathlib.Path, default=SOURCE / "experiments/fusion/pairs.json")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--program", default=str(SOURCE / "build/release/bin/alphakernel"))
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options, experiment_flags = parser.parse_args(sys.argv[1:end]), sys.argv[end + 1:]
    command = [options.program, "experiment", "run", options.manifest, "--output", options.output, "--device", options.device]
    if not (options.output / "report.json").exists():
        code = subprocess.run(list(map(str, command)) + experiment_flags, check=False).returncode
        if code not in (0, 4, 8):  # 4: a run has no kernel, which its pairs say; 8: an expectation was missed
            sys.exit(code)
    measurement = Measurement(options)
    rows = []
    with open(options.output / "fusion.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for pair in json.loads(options.pairs.read_text())["pairs"]:
            rows.append(measurement.row(pair))
            writer.writerow(rows[-1])
            file.flush()
            print("%(pair)-24s %(shape)-32s fused %(fused_us)s us, separate %(separate_us)s us, ratio %(ratio)s %(reason)s"
                  % rows[-1], flush=True)
    sys.exit(any(not row["ratio"] for row in rows))


if __name__ == "__main__":
    main()
