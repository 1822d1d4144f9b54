# SPDX-License-Identifier: Apache-2.0
"""Turns with PyTorch: what a side may answer, what is made of its times, and a rehearsal where PyTorch is installed."""
import importlib.util
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "app" / "baselines" / "python"))
import turns as pytorch_turns  # noqa: E402
import turn_client  # noqa: E402
import turn_outputs  # noqa: E402

SIDE = """
import json, os, sys, time
how = sys.argv[1]
for line in sys.stdin:
    request = json.loads(line)
    answer = {"id": request["id"], "ok": {"ns": [5, 6], "late": 0}}
    if how == "hang": time.sleep(3600)
    if how == "crash": sys.stderr.write("out of luck"); sys.stderr.flush(); os._exit(7)
    if how == "flood": sys.stdout.write("x" * (4 << 20)); sys.stdout.flush()
    if how == "prints": sys.stderr.write("x" * (40 << 20)); sys.stderr.flush()
    if how == "turn": answer["id"] += 1
    if how == "twice": print(json.dumps(answer))
    if how == "text": print("splendid", flush=True); continue
    if how == "list": answer = [1]
    if how == "empty": del answer["ok"]
    if how == "refusal": answer = {"id": request["id"], "error": "no such module"}
    print(json.dumps(answer), flush=True)
"""
REFUSED = {"hang": "did not answer", "crash": "ended; its last words: out of luck", "flood": "more than it may",
           "prints": "more than it may", "turn": "out of turn", "text": "no JSON", "list": "out of turn",
           "empty": "without a result", "refusal": "no such module"}
NO_TIMES = ({"ns": [5], "late": 0}, {"ns": [5, -1], "late": 0}, {"ns": [5, math.nan], "late": 0}, {"ns": [5, "6"], "late": 0},
            {"ns": [5, 10**18], "late": 0}, {"ns": [5, 6], "late": 3}, {"ns": [5, 6]}, {"ns": 5, "late": 0})
def output(name, shape, dtype):
    return {"name": name, "shape": shape, "dtype": dtype, "alias": "", "zeroed": False}


SOFTMAX = ([["x", [3, 31], "float32"]], [output("y", [3, 31], "float32")])
LINEAR = ([["x", [3, 31], "float32"], ["fc_weight", [5, 31], "float32"], ["scale", None, 2.0]],
          [output("y", [3, 5], "float32"), output("most", [3], "int64")])
MODULE = """
import torch
M, N, K = 3, 31, 5
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(N, K, bias=False)
    def forward(self, x, scale):
        y = self.fc(x) * scale
        return y, y.argmax(1)
def get_inputs():
    return [torch.rand(M, N), 2.0]
def get_init_inputs():
    return []
"""
FUNCTION = """
import torch
M, N = 3, 31
def run(x):
    return torch.softmax(x, 1)%s
def get_inputs():
    return [torch.rand(M, N)]
"""
UNSTEADY = """
import os
FIRST = %r
if not os.path.exists(FIRST):
    open(FIRST, "w").write(str(os.getpid()))
FACTOR = 1 if open(FIRST).read() == str(os.getpid()) else 2  # another process, another result
"""
BOARD = """
import torch
def generate_input(M, N, seed):
    return torch.rand(M, N, generator=torch.Generator().manual_seed(seed))
def ref_kernel(data):
    return torch.softmax(data, 1)
"""
BOARD_TASK = "benchmarks:\\n  - {M: 3, N: 31}\\n".replace("\\n", "\n")


def asked(how, limit_s):
    with turn_client.Side("it", [sys.executable, "-c", SIDE, how]) as side:
        return side.ask({"do": "block"}, limit_s)


def test_a_side_that_misbehaves_is_refused():
    assert asked("well", 60) == {"ns": [5, 6], "late": 0}
    for how, expected in REFUSED.items():
        try:
            asked(how, 0.2 if how == "hang" else 60)
        except turn_client.SideError as error:
            assert expected in str(error), (how, str(error))
        else:
            raise AssertionError(how + " was believed")


def test_what_is_no_time_is_refused():
    assert pytorch_turns.checked_block({"ns": [5, 6], "late": 1}, 2) == ([5, 6], 1)
    for answer in NO_TIMES:
        try:
            pytorch_turns.checked_block(answer, 2)
        except turn_client.SideError:
            continue
        raise AssertionError("%s was believed" % answer)


def test_blocks_of_slow_calls_have_fewer_samples():
    sizes = [pytorch_turns.samples_of_block([[ns], [1000]]) for ns in (1000, 2_500_000, 5_000_000, 14_000_000, 10**9)]
    assert sizes == [8, 8, 4, 2, 2], sizes


def test_what_a_side_says_of_itself_is_checked():
    facts = {"torch": "2.11.0", "cuda": "13.0", "device": "NVIDIA H200", "uuid": "", "columns": ["device", "wall"]}
    opening = {"peak_bytes": 5, "tf32": {"matmul.allow_tf32": True, "cudnn.allow_tf32": None}, "spin_cycles": 9}
    assert pytorch_turns.checked_facts(facts) == facts and pytorch_turns.checked_opening(opening) == opening
    lies = [(pytorch_turns.checked_facts, dict(facts, **lie)) for lie in (
        {"torch": 2}, {"uuid": None}, {"device": "x" * 1000}, {"columns": "wall"}, {"columns": ["device"]})]
    lies += [(pytorch_turns.checked_opening, dict(opening, **lie)) for lie in (
        {"peak_bytes": -1}, {"peak_bytes": "5"}, {"peak_bytes": 1e3}, {"tf32": None}, {"tf32": {"matmul.allow_tf32": "no"}},
        {"spin_cycles": 0}, {"spin_cycles": 1 << 40}, {"spin_cycles": 9.5})]
    for check, lie in lies:
        try:
            check(lie)
        except turn_client.SideError:
            continue
        raise AssertionError("%s was believed" % lie)


def test_a_ratio_is_of_pairs_and_not_of_drift():
    drifting = [[([10 * (1 + i)] * 4, [20 * (1 + i)] * 4)] * 2 for i in range(16)]
    assert all(abs(value - 2) < 1e-9 for value in pytorch_turns.paired_ratio(drifting))
    noisy = [[([100], [100 + (-1) ** i])] * 2 for i in range(16)]
    ratio, low, high = pytorch_turns.paired_ratio(noisy)
    assert 0.99 < low < ratio < high < 1.01


def test_an_interval_is_as_wide_as_the_places_in_memory_make_it():
    by_place = [[([100] * 8, [100 + 2 * (-1) ** i] * 8)] * 50 for i in range(4)]
    few, low, high = pytorch_turns.paired_ratio(by_place)
    assert low < 0.98 and high > 1.02 and abs(few - 1) < 0.001  # 50 pairs a round do not narrow what four rounds say
    assert pytorch_turns.student_t(1) == 12.706 and pytorch_turns.student_t(17) == 2.131 and pytorch_turns.student_t(99) == 2.040


class Waiting:
    """A side that notes what it is asked; its calls come too late until the wait is four times the first."""

    def __init__(self, spins):
        self.label, self.spins, self.moves, self.parts = "it", spins, [], []

    def ask(self, request, _):
        if request["do"] == "move":
            return self.moves.append(request["seeds"])
        self.spins.append(request["spin_cycles"])
        self.parts.append(request["part"])
        return {"ns": [7] * len(request["sets"]), "late": int(request["spin_cycles"] < 4000)}


def test_both_sides_wait_as_long_and_get_the_same_inputs():
    spins = []
    sides = [Waiting(spins), Waiting(spins)]
    turns = pytorch_turns.Turns(sides, 1000)
    assert len(turns.take("device", 3, 2)) == 3 and turns.late == [1, 1]
    assert spins == [1000, 1000, 2000, 2000] + [4000] * 32  # six halves of three pairs, of which the first does not count
    assert sides[0].moves == sides[1].moves and len(sides[0].moves) == 6


def test_what_the_driver_reads_is_laid_out_as_cuda_h_says():
    if importlib.util.find_spec("torch") is None:
        return
    import ctypes
    import cubin_kernel
    assert (ctypes.sizeof(cubin_kernel.LaunchAttribute), ctypes.sizeof(cubin_kernel.LaunchConfig)) == (72, 56)
    assert cubin_kernel.LaunchConfig.stream.offset == 32 and cubin_kernel.LaunchAttribute.value.offset == 8
    for kind, value, expected in (("i32", -2, b"\xfe\xff\xff\xff"), ("i64", 1 << 40, b"\0\0\0\0\0\1\0\0"),
                                  ("f32", 0.5, b"\0\0\0\x3f"), ("f64", 2, b"\0" * 7 + b"\x40"), ("bool", 3, b"\1")):
        assert cubin_kernel.Bound.packed(kind, value).raw[:len(expected)] == expected, kind


def test_each_part_runs_as_often_in_either_process():
    spins = []
    sides = [Waiting(spins), Waiting(spins)]
    pytorch_turns.Turns(sides, 4000).take("device", 5, 2)
    assert all(sorted(side.parts) == ["baseline"] * 15 + ["kernel"] * 15 for side in sides)


def test_other_results_differ():
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("a", "b")]

        def apart(*contents):
            for file, values in zip(files, contents):
                pathlib.Path(file).write_bytes(struct.pack("<%df" % len(values), *values))
            return turn_outputs.difference(files, "float32", 2)
        assert apart((1, 2), (1, 2)) == 0 and apart((1, 2), (1, 4)) > 0.5
        assert apart((1, 2), (1, math.nan)) == math.inf
        try:
            apart((1, 2), (1,))
        except ValueError:
            return
        raise AssertionError("half a result was compared")


def taken(request):
    """(exit status, the lines' objects, what it said) of the program for a request."""
    done = subprocess.run([sys.executable, "-B", str(ROOT / "app" / "baselines" / "python" / "turns.py")],
                          input=json.dumps(request) + "\n", capture_output=True, text=True, timeout=600)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def rehearsed(folder, form, source, tensors, baselines=("eager",), name="reference.py", drawn=None, **change):
    """The lines of a rehearsal of a file, whose kernel takes `tensors`; drawn: files of integers, by input."""
    root = pathlib.Path(folder)
    (root / "packages").mkdir(exist_ok=True)
    if not (root / "packages" / "alphakernel_reference").exists():
        (root / "packages" / "alphakernel_reference").symlink_to(ROOT / "runtime" / "reference" / "python")
    (root / name).write_text(source)
    subject = {"kind": "reference", "file": str(root / name), "form": form, "options": {},
               "package": str(root / "packages")}
    workload = {"name": "small", "axes": {"M": 3, "N": 31, "K": 5}, "inputs": tensors[0], "drawn": drawn or {},
                "outputs": tensors[1], "plan": None}
    request = {"subject": subject, "cubin": None, "symbols": {}, "baselines": list(baselines), "rounds": 2,
               "workloads": [workload], "rehearse": True, "tf32": False}
    code, lines, said = taken(dict(request, **change))
    assert code == 0 and lines[-1] == {"done": True}, (code, lines, said)
    return lines


def rows_in(lines):
    return [line["row"] for line in lines if "row" in line]


def faults_in(lines):
    return [line["fault"]["reason"] for line in lines if "fault" in line]


def test_files_of_every_form_take_turns_with_their_own_inputs_and_weights():
    if importlib.util.find_spec("torch") is None:
        return print("no PyTorch here: no rehearsal")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "task.yml").write_text(BOARD_TASK)
        for form, source, tensors in (("kernelbench", MODULE, LINEAR), ("function", FUNCTION % "", SOFTMAX),
                                      ("gpu_mode", BOARD, ([["data", [3, 31], "float32"]], SOFTMAX[1]))):
            lines = rehearsed(folder, form, source, tensors, baselines=("eager", "self"))
            rows = rows_in(lines)
            assert [row["label"] for row in rows] == ["pytorch eager", "itself"], (form, lines)
            for row in rows:
                assert row["rehearsal"] and row["column"] == "wall" and row["rounds"] == 2 and row["difference"] == 0
                assert row["low"] <= row["ratio"] <= row["high"] and row["settings"]["device"] == "cpu"
            assert any("taking turns" in line.get("progress", "") for line in lines)


def test_a_shipped_problem_takes_turns_and_an_unknown_one_says_what_to_do():
    if importlib.util.find_spec("torch") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        softmax = {"kind": "expression", "problem": "softmax", "params": {"dtype": "float32"}}
        lines = rehearsed(folder, "function", FUNCTION % "", SOFTMAX, subject=softmax)
        assert len(rows_in(lines)) == 1, lines
        lines = rehearsed(folder, "function", FUNCTION % "", SOFTMAX, subject=dict(softmax, problem="mine"))
        assert "no PyTorch expression of the problem mine" in faults_in(lines)[0], lines


def test_indices_of_a_shipped_problem_come_from_the_request():
    if importlib.util.find_spec("torch") is None:
        return
    masked = {"kind": "expression", "problem": "grouped_gemm", "params": {"dtype": "float32", "layout": "masked"}}
    inputs = [["x", [6, 4], "float32"], ["w", [2, 5, 4], "float32"], ["groups", [2], "int32"]]
    with tempfile.TemporaryDirectory() as folder:
        counts = pathlib.Path(folder, "groups")
        counts.write_bytes(struct.pack("<2q", 3, 1))
        tensors = (inputs, [output("out", [6, 5], "float32")])
        lines = rehearsed(folder, "function", "", tensors, subject=masked, drawn={"groups": str(counts)})
        assert len(rows_in(lines)) == 1, lines
        counts.write_bytes(struct.pack("<q", 3))
        assert not rows_in(rehearsed(folder, "function", "", tensors, subject=masked, drawn={"groups": str(counts)}))


def test_what_cannot_be_timed_is_a_fault_and_the_others_go_on():
    if importlib.util.find_spec("torch") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        other = (SOFTMAX[0] + [["bias", [31], "float32"]], SOFTMAX[1])
        assert "no input or weight bias" in faults_in(rehearsed(folder, "function", FUNCTION % "", other))[0]
        narrow = (SOFTMAX[0], [output("y", [3], "float32")])
        assert "expected" in faults_in(rehearsed(folder, "function", FUNCTION % "", narrow))[0]
        unsteady = UNSTEADY % os.path.join(folder, "first") + FUNCTION % " * FACTOR"
        lines = rehearsed(folder, "function", unsteady, SOFTMAX, baselines=("eager", "self"))
        assert len(faults_in(lines)) == 1 and "gives other results" in faults_in(lines)[0], lines
        assert [row["label"] for row in rows_in(lines)] == ["itself"], lines


def test_a_wrong_request_and_a_machine_without_a_gpu_are_refused():
    if importlib.util.find_spec("torch") is None:
        return
    request = {"subject": {}, "cubin": None, "symbols": {}, "workloads": [], "baselines": ["eager"], "rounds": 2, "rehearse": True,
               "tf32": False}
    for change in ({"baselines": ["lightning"]}, {"baselines": []}, {"rounds": 1}):
        code, lines, said = taken(dict(request, **change))
        assert code != 0 and not lines and "a request needs" in said, (code, lines, said)
    with tempfile.TemporaryDirectory() as folder:
        lines = rehearsed(folder, "function", FUNCTION % "", SOFTMAX, rehearse=False)
        assert faults_in(lines) == ["PyTorch sees no GPU"], lines


def has_torch(python):
    return subprocess.run([python, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"],
                          check=False).returncode == 0


def main():
    system = "/usr/bin/python3"  # where the packages of the system are, PyTorch perhaps
    if importlib.util.find_spec("torch") is None and os.path.exists(system) and has_torch(system):
        os.execv(system, [system, "-B", *sys.argv])
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
    print("passed")


if __name__ == "__main__":
    main()
