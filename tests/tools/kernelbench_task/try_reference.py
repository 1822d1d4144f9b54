"""Runs an exported torch/reference.py on the CPU: its run() computes what the task's module does with what it is given.

    python3 try_reference.py REFERENCE.py
"""
import sys

import torch

space = {"__name__": "reference"}
with open(sys.argv[1], encoding="utf-8") as file:
    exec(compile(file.read(), "reference.py", "exec"), space)

given = space["example"]("cpu")
x, weight, bias = given.values()
expected = torch.relu(torch.nn.functional.linear(x, weight, bias))
assert expected.any() and torch.equal(space["run"](x, weight, bias), expected)
others = [torch.randn_like(one) for one in (x, weight, bias)]
kept = [one.clone() for one in others]
assert torch.equal(space["run"](*others), torch.relu(torch.nn.functional.linear(*others)))
assert all(torch.equal(one, before) for one, before in zip(others, kept))
