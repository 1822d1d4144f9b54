#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a page of docs/tutorials as a newcomer would: every ```sh block, in order, in one shell and one new folder.

    tutorial_test.py PAGE PROGRAMS_FOLDER [--cache FOLDER] [--python-with MODULES]
    tutorial_test.py --selftest

A block may print anything and must succeed. Of a ```text block behind it every line must be in what the ```sh block printed, in
this order. Numbers and units of time may be others, since they are the machine's or change with a better kernel; `...` in a
line stands for anything, alone in a line for any lines. --python-with: python3 is an interpreter that has these modules; where
there is none the page is skipped (exit code 77).
"""
import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

MARK = "--- end of block %d ---"
SKIPPED = 77  # what CTest is told that it means
PATIENCE_S = 1800  # for a page that hangs; how long it takes is up to the machine


@dataclasses.dataclass
class Block:
    line: int
    commands: str
    shown: list[str] = dataclasses.field(default_factory=list)


def blocks_of(text):
    """The command blocks of a page, each with the output that the page shows of it."""
    blocks, fence, kind, start, lines = [], None, None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        ticks = re.match(r"`{3,}", line)
        if fence is None and ticks:
            fence, kind, start, lines = ticks[0], line[len(ticks[0]):].strip(), number, []
        elif fence and line == fence:
            if kind == "sh":
                blocks.append(Block(start, "\n".join(lines)))
            elif kind == "text" and blocks:
                blocks[-1].shown += lines
            fence = None
        else:
            lines.append(line)
    return blocks


def script_of(blocks):
    """One shell for the page, so that variables and jobs in the background last from block to block."""
    parts = ["set -e", "exec 2>&1"]
    for number, block in enumerate(blocks):
        parts += [block.commands, f"echo; echo '{MARK % number}'"]
    return "\n".join(parts) + "\n"


def stable(line):
    """A line without what may differ from run to run."""
    line = re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?", "0", line)
    line = re.sub(r"\b0 (ns|us|ms|s|min)\b", "0 TIME", line)
    return re.sub(r" {2,}", " ", line).strip()  # columns are as wide as their longest value


def matches(shown, printed):
    pattern = ".*".join(re.escape(part.strip()) for part in stable(shown).split("..."))
    return re.fullmatch(pattern, stable(printed)) is not None


def missing_line(shown, printed):
    """The first shown line that was not printed behind those before it; None where all were."""
    rest = iter(printed)
    for line in shown:
        if line.strip() in ("", "..."):
            continue
        if not any(matches(line, other) for other in rest):
            return line
    return None


def python_with(modules):
    """The first interpreter that has them, or None."""
    for name in (sys.executable, shutil.which("python3"), "/usr/bin/python3"):
        if name and os.path.exists(name) and subprocess.run([name, "-c", f"import {modules}"], stderr=subprocess.DEVNULL,
                                                            check=False).returncode == 0:
            return name
    return None


def run_page(page, programs, cache, python=None):
    """What is wrong with the page, or None."""
    blocks = blocks_of(page.read_text())
    if not blocks:
        return f"{page}: no ```sh block"
    with tempfile.TemporaryDirectory(prefix="ak_tutorial_") as folder:
        home = pathlib.Path(folder) / "home"
        work = pathlib.Path(folder) / "work"
        home.mkdir()
        work.mkdir()
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("ALPHAKERNEL_", "XDG_"))}
        environment |= {"HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}"}
        if python:
            link = home / "bin" / "python3"
            link.parent.mkdir()
            link.write_text(f'#!/bin/sh\nexec "{python}" "$@"\n')
            link.chmod(0o755)
            environment["PATH"] = f"{link.parent}:{environment['PATH']}"
        environment["PYTHONPATH"] = str(pathlib.Path(__file__).resolve().parents[2] / "python")
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        environment["ALPHAKERNEL_CACHE"] = str(cache or home / "cache")
        shell = subprocess.Popen(["bash", "-c", script_of(blocks)], cwd=work, env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        try:
            output = output_of(shell, blocks)
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)  # what the page left in the background
            except ProcessLookupError:
                pass
            shell.wait()
    return first_fault(page, blocks, output)


def output_of(shell, blocks):
    """What the shell prints until its last block has ended; jobs in the background may hold the pipe longer."""
    def give_up(*_):
        os.killpg(shell.pid, signal.SIGKILL)
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    lines = []
    for line in shell.stdout:
        lines.append(line.rstrip("\n"))
        if lines[-1] == MARK % (len(blocks) - 1):
            break
    signal.alarm(0)
    return lines


def first_fault(page, blocks, output):
    for number, block in enumerate(blocks):
        if MARK % number not in output:
            return f"{page}:{block.line}: the block failed:\n{block.commands}\nIt printed:\n" + "\n".join(output)
        end = output.index(MARK % number)
        printed, output = output[:end], output[end + 1:]
        line = missing_line(block.shown, printed)
        if line is not None:
            return "\n".join((f"{page}:{block.line}: the page shows a line that is not printed (any more):", f"  {line}",
                              "The block printed:", *printed))
    return None


def selftest():
    page = ("x\n```sh\necho a 1.5 us\n```\n```text\na 2 ns\n```\n```json\n{}\n```\n"
            "```sh\necho b; echo c\n```\n```text\n...\nc\n```\n")
    blocks = blocks_of(page)
    assert [block.commands for block in blocks] == ["echo a 1.5 us", "echo b; echo c"], blocks
    assert [block.shown for block in blocks] == [["a 2 ns"], ["...", "c"]], blocks
    nested = blocks_of("````sh\ncat <<E\n```cuda\n```\nE\n````\n")
    assert [block.commands for block in nested] == ["cat <<E\n```cuda\n```\nE"], nested
    assert missing_line(["a 2 ns"], ["a 1.5 us"]) is None
    assert missing_line(["x ... y ..."], ["x    y"]) is None
    assert missing_line(["wrote ..., b.md"], ["wrote /x/a.cu, b.md"]) is None
    assert missing_line(["a", "b"], ["b", "a"]) == "b"
    assert missing_line(["passed"], ["failed"]) == "passed"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.md"
        for text, wrong in ((page, None), (page.replace("\nc\n", "\nd\n"), "shows a line"),
                            (page.replace("echo b", "false"), "the block failed"), ("nothing", "no ```sh block"),
                            ("```sh\nsleep 1000 &\necho $PWD\n```\n```text\n.../work\n```\n", None)):
            path.write_text(text)
            fault = run_page(path, folder, None)
            assert (fault is None) if wrong is None else (wrong in (fault or "")), (text, fault)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # so that nothing stays in the background
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("page", type=pathlib.Path, nargs="?")
    arguments.add_argument("programs", type=pathlib.Path, nargs="?", help="folder of alphakernel and generate_kernel")
    arguments.add_argument("--cache", type=pathlib.Path, help="build cache; a new one where not given")
    arguments.add_argument("--python-with", metavar="MODULES", help="such as torch,pip")
    arguments.add_argument("--selftest", action="store_true")
    options = arguments.parse_args()
    if options.selftest:
        return selftest()
    if not options.programs:
        arguments.error("expected PAGE and PROGRAMS_FOLDER")
    python = python_with(options.python_with) if options.python_with else None
    if options.python_with and python is None:
        print(f"no python3 has {options.python_with}")
        return SKIPPED
    return run_page(options.page.resolve(), options.programs.resolve(), options.cache, python)


if __name__ == "__main__":
    sys.exit(main())
