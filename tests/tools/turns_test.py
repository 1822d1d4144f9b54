# SPDX-License-Identifier: Apache-2.0
"""Turns with PyTorch: what a side may answer, what is made of its times, and a rehearsal where PyTorch is installed."""
import argparse
import contextlib
import importlib.util
import io
import math
import os
import pathlib
import struct
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import pytorch_turns  # noqa: E402
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
CHECK = """
NAME = "softmax_fp32"
PARAMS = {"dtype": "float32"}
CONSTANTS = {}
INPUTS = [("x", ["M", "N"], "float32")]
OUTPUTS = [("y", ["M", "N"], "float32")]
WORKLOADS = [("m3_n31", {"M": 3, "N": 31})]
GIVEN_AXES = []
"""
MODEL = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return %s
def get_inputs():
    return [torch.rand(3, 31)]
def get_init_inputs():
    return []
"""


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
        self.label, self.spins, self.moves = "it", spins, []

    def ask(self, request, _):
        if request["do"] == "move":
            return self.moves.append(request["seeds"])
        self.spins.append(request["spin_cycles"])
        return {"ns": [7] * len(request["sets"]), "late": int(request["spin_cycles"] < 4000)}


def test_both_sides_wait_as_long_and_get_the_same_inputs():
    spins = []
    sides = [Waiting(spins), Waiting(spins)]
    turns = pytorch_turns.Turns(sides, [], 1000)
    assert len(turns.take("device", 3, 2)) == 3 and turns.late == [1, 1]
    assert spins == [1000, 1000, 2000, 2000] + [4000] * 14  # three pairs a round, of which the first does not count
    assert sides[0].moves == sides[1].moves and len(sides[0].moves) == 3


def test_one_kernel_on_both_sides_has_to_read_one():
    def row(ratio):
        return {"columns": [{"column": "device", "ratio": ratio}, {"column": "wall", "ratio": 2}]}
    assert pytorch_turns.apart(row(1.006)) and pytorch_turns.apart(row(0.994)) and not pytorch_turns.apart(row(1.004))


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


def rehearsed(folder, module):
    options = argparse.Namespace(folder=folder, module=module, problem=None, workload=None, baselines="eager", rounds=2,
                                 json=None)
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        code = pytorch_turns.run(options)
    return code, shown.getvalue()


def test_a_rehearsal_takes_turns_and_refuses_another_formula():
    if importlib.util.find_spec("torch") is None:
        return print("no PyTorch here: no rehearsal")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "torch").mkdir()
        pathlib.Path(folder, "torch", "check.py").write_text(CHECK)
        module = os.path.join(folder, "model.py")
        pathlib.Path(module).write_text(MODEL % "torch.softmax(x, 1)")
        code, text = rehearsed(folder, module)
        assert code == 0 and "a rehearsal on the CPU" in text and "2 rounds" in text, text
        pathlib.Path(module).write_text(MODEL % "2 * torch.softmax(x, 1)")
        code, text = rehearsed(folder, module)
        assert code == 1 and "gives other results" in text, text


def main():
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
    print("passed")


if __name__ == "__main__":
    main()
