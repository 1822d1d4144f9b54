"""GPU MODE's task.yml: the shapes that a task is tested and timed with."""

import ast
import os
import re

SECTIONS = ("tests", "benchmarks")


def read(folder):
    """The sections with shapes: dict of `tests` and `benchmarks` -> list of dicts; None without a task.yml."""
    path = next((path for path in (os.path.join(folder, name) for name in ("task.yml", "task.yaml"))
                 if os.path.isfile(path)), None)
    if path is None:
        return None
    with open(path, encoding="utf-8") as file:
        return parsed(file.read())


def parsed(text):
    """Reads `- {...}` lines and `- key: value` blocks of the sections; the rest of YAML is not needed."""
    cases, section = {name: [] for name in SECTIONS}, None
    for line in text.splitlines():
        line = _without_comment(line)
        heading = re.match(r"^(\w+):\s*$", line)
        if re.match(r"^\w", line):
            section = heading.group(1) if heading else None
            continue
        if section in cases:
            _case(cases[section], line.strip())
    return cases


def _without_comment(line):
    return re.sub(r"(^|\s)#.*$", "", line).rstrip()


def _case(cases, line):
    starts = line.startswith("- ")
    if starts:
        cases.append({})
        line = line[2:].strip()
    if not cases or not line:
        return
    for key, value in re.findall(r"[\"']?(\w+)[\"']?\s*:\s*(\[[^\]]*\]|\"[^\"]*\"|'[^']*'|[^,{}]+)", line):
        if key != "seed":
            cases[-1][key] = _value(value.strip())


def _value(text):
    words = {"true": True, "false": False, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
