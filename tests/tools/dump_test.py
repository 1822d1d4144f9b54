# SPDX-License-Identifier: Apache-2.0
"""Dumps vector_add on the CPU emulator and adds by hand. Usage: dump_test.py PROGRAM"""
import array
import json
import pathlib
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    environment = {"HOME": name, "ALPHAKERNEL_CACHE": name + "/cache", "ALPHAKERNEL_CONFIG": name + "/none.json",
                   "PATH": "/usr/bin:/bin"}
    command = [sys.argv[1], "problem", "dump", "--algorithm", "vector_add", "--dtype", "float32", "--device", "emulator",
               "--seed", "7", "--output", str(folder / "data")]
    subprocess.run(command, env=environment, check=True)
    index = json.loads((folder / "data/index.json").read_text())
    assert index["problem"] == "vector_add" and index["params"]["dtype"] == "float32" and index["seed"] == 7
    assert len(index["data_sets"]) >= 2

    def read(entry):
        values = array.array({"float32": "f", "float64": "d"}[entry["dtype"]])
        values.frombytes((folder / "data" / entry["file"]).read_bytes())
        assert len(values) == entry["shape"][0]
        return values

    different = set()
    for data in index["data_sets"]:
        a, b = (read(entry) for entry in data["inputs"])
        (output,) = data["outputs"]
        assert [entry["name"] for entry in data["inputs"]] == ["a", "b"] and output["declared_dtype"] == "float32"
        c = read(output)
        assert all(x + y == z for x, y, z in zip(a, b, c)), data["workload"]  # exact in fp64
        different.update(a)
    assert len(different) > 10, "the inputs hold values"
print("the dumped sums are right")
