"""The workloads of a FlashInfer-Bench definition: a line of JSON each, with axes and how inputs are made."""

import json

from .problems import TaskError


class Workloads:
    """rows: list of (uuid or None, axis -> size). scalars: input -> its values. foreign: inputs from files."""

    def __init__(self):
        self.rows = []
        self.scalars = {}
        self.foreign = set()


def read(path):
    found = Workloads()
    if path is None:
        return found
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                _add(found, path, number, line)
    return found


def _add(found, path, number, line):
    try:
        trace = json.loads(line)
        row = trace["workload"] or {}
        axes = {str(name): int(size) for name, size in row["axes"].items()}
        inputs = {name: (one["type"], one.get("value")) for name, one in row.get("inputs", {}).items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TaskError("%s: line %d is no workload with axes and inputs: %r" % (path, number, error))
    uuid = row.get("uuid")
    found.rows.append((uuid if isinstance(uuid, str) else None, axes))
    for name, (kind, value) in inputs.items():
        if kind == "scalar" and value not in found.scalars.setdefault(name, []):
            found.scalars[name].append(value)
        elif kind == "safetensors":
            found.foreign.add(name)
